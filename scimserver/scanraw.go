package scimserver

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/internal/rawjson"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
)

// raw returns the store, if the scan can read stored text, and the members of the text that it needs: those that the filter and the order
// read. It returns nil if the scan needs data that the server derives.
func (sc *scan) raw() (raw RawReader, names []string) {
	if sc.server.raw == nil || sc.needs != needsNothing || sc.sortNeeds != needsNothing || sc.filter == nil && sc.inOrder {
		return nil, nil
	}
	add := func(path scim.AttrPath) {
		if r, ok := sc.t.Resolve(path); ok {
			name := ""
			if r.Extension {
				name = r.Schema.ID
			} else {
				name = r.Attribute.Name
			}
			names = append(names, name)
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
	return sc.server.raw, names
}

// scanPart is the number of resources that a scan of stored text reads by one call of the store. Between the calls, other scans have a turn.
const scanPart = 500

// scanRaw does the same as server.scan, and decodes only the named members of each resource.
func (sc *scan) scanRaw(ctx context.Context, raw RawReader, names []string, after int64, leave *func()) ([]hit, int, error) {
	text := make([]byte, 0, firstRead)
	for {
		n, err := raw.ScanRaw(ctx, sc.t.Name, sc.filter, after, scanPart, func(order int64, id string, resource []byte) error {
			after = order
			if sc.done() {
				return nil // the rest of the part
			}
			text = appendMembers(text[:0], resource, names)
			o, err := scim.Decode(text)
			if err != nil {
				return fmt.Errorf("stored resource %q: %w", id, err)
			}
			return sc.testOne(&scim.Resource{Object: *o}, order, id)
		})
		if err != nil {
			return nil, 0, fmt.Errorf("scan resources: %w", err)
		}
		if err := sc.server.tooMany(sc.total); err != nil {
			return nil, 0, err // the matches beyond MaxResults need not be counted
		}
		if n < scanPart || sc.done() {
			return sc.result(), sc.total, nil
		}
		if *leave, err = sc.server.turns.yield(ctx, *leave); err != nil {
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

// appendMembers appends an object with the named members of an object.
func appendMembers(dst, object []byte, names []string) []byte {
	dst = append(dst, '{')
	for m := rawjson.Object(object); m.Next(); {
		for _, name := range names {
			if len(name) == len(m.Name) && scim.EqualName(string(m.Name), name) {
				if len(dst) > 1 {
					dst = append(dst, ',')
				}
				dst = append(dst, object[m.Begin:m.End]...)
				break
			}
		}
	}
	return append(dst, '}')
}
