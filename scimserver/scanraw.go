package scimserver

import (
	"context"
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
)

// raw returns the store, if the scan can read stored text, and the members of the text that it needs: those that the filter and the order
// read. It returns nil if the scan needs data that the server derives.
func (sc *scan) raw() (raw RawReader, members []member) {
	if sc.server.raw == nil || sc.needs != needsNothing || sc.sortNeeds != needsNothing || sc.filter == nil && sc.inOrder {
		return nil, nil
	}
	at := func(name string) *member {
		for i := range members {
			if scim.EqualName(members[i].name, name) {
				return &members[i]
			}
		}
		members = append(members, member{name: name})
		return &members[len(members)-1]
	}
	add := func(path scim.AttrPath) {
		if r, ok := sc.t.Resolve(path); ok {
			if r.Extension {
				at(r.Schema.ID)
			} else {
				at(r.Attribute.Name)
			}
		}
	}
	filter.Walk(sc.filter, func(e filter.Expr) bool {
		switch e := e.(type) {
		case filter.Compare:
			add(e.Path)
		case filter.Present:
			add(e.Path)
		case filter.ValuePath:
			add(e.Path)
			return false
		}
		return true
	})
	if path, ok := sc.ordering.path(sc.t); ok {
		add(path)
	}
	eachJoined(sc.filter, func(e filter.Compare) {
		if name, test, ok := textTestOf(e, sc.t); ok {
			m := at(name)
			m.tests = append(m.tests, test)
		}
	})
	return sc.server.raw, members
}

// A scan of stored text reads a part of the resources by one call of the store. Between the calls, other scans have a turn.
const (
	scanPart     = 500     // number of resources in a part
	scanSize     = 1 << 20 // bytes of the examined texts after which a part ends
	pauseDecoded = 48      // number of decoded resources after which other threads run
)

// errPartEnds ends a part of a scan before its last resource.
var errPartEnds = errors.New("the part ends")

// scanRaw does the same as server.scan, and decodes only some members of the resources that may match.
func (sc *scan) scanRaw(ctx context.Context, raw RawReader, members []member, after int64, turn *turn) ([]hit, int, error) {
	text := make([]byte, 0, firstRead)
	part := RawScan{Type: sc.t.Name, Filter: sc.filter, After: after, Limit: scanPart, Contains: containedText(sc.filter, sc.t)}
	for {
		passed, size, decoded := 0, 0, 0
		n, last, err := raw.ScanRaw(ctx, part, func(order int64, id string, resource []byte) error {
			passed++
			part.After = order
			if sc.done() {
				return nil // the rest of the part
			}
			var possible bool
			if text, possible = appendMembers(text[:0], resource, members); possible {
				if decoded++; decoded%pauseDecoded == 0 {
					turn.pause()
				}
				o, err := scim.Decode(text)
				if err != nil {
					return fmt.Errorf("stored resource %q: %w", id, err)
				}
				if err := sc.testOne(&scim.Resource{Object: *o}, order, id); err != nil {
					return err
				}
			} else if err := sc.spend(1); err != nil {
				return err
			}
			if size += len(resource); size >= scanSize {
				return errPartEnds
			}
			return nil
		})
		ended := errors.Is(err, errPartEnds)
		if !ended {
			if err == nil {
				err = sc.spend(n - passed)
			}
			if err != nil {
				return nil, 0, fmt.Errorf("scan resources: %w", err)
			}
			part.After = last
		}
		if err := sc.server.tooMany(sc.total); err != nil {
			return nil, 0, err // the matches beyond MaxResults need not be counted
		}
		if !ended && n < part.Limit || sc.done() {
			return sc.result(), sc.total, nil
		}
		if ended || decoded > 0 {
			turn.decodes()
			turn.moves(size)
		}
		if err := turn.yield(ctx); err != nil {
			return nil, 0, err
		}
	}
}

// testOne evaluates the filter on a resource and adds its place if it matches.
func (sc *scan) testOne(r *scim.Resource, order int64, id string) error {
	if sc.matcher != nil {
		matches, work := sc.matcher.Match(r)
		if err := sc.spend(work); err != nil || !matches {
			return err
		}
	}
	sc.total++
	h := hit{place: place{typ: sc.typ, order: order}, t: sc.t, id: id}
	if sc.inOrder {
		if sc.total > sc.offset && len(sc.page) < sc.limit {
			sc.page = append(sc.page, h)
		}
		return nil
	}
	if _, ok := sc.ordering.path(sc.t); ok {
		h.key = sc.ordering.key(sc.t, r)
	}
	if sc.after == nil || sc.compareHits(hit{place: *sc.after}, h) < 0 {
		sc.window.add(h)
	}
	return nil
}
