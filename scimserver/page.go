package scimserver

import (
	"context"
	"net/http"
	"slices"

	"github.com/scimwright/scimwright/internal/processor"
	"github.com/scimwright/scimwright/internal/rawjson"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scimserver/internal/splice"
)

// page appends the resources of a list to a buffer, part by part.
type page struct {
	server *server
	ctx    context.Context
	query  *query
	origin *origin
	*buffers

	// What to read: one of these two.
	raw  *rawSource
	hits []hit

	queue    []item      // was read and not appended yet
	resource rawResource // the last one that was appended
	count    int         // resources that were appended
	bytes    int64       // their length
	more     bool        // further resources follow
	// limit is the number of bytes that the resources of the page must not exceed, unless it has only one. Zero means no limit.
	limit int64
	large large // the large resource in the buffer; see readLarge
	turn  turn  // while fill runs

	// The places of the first and the last resource, for cursors.
	marked      bool // places are needed
	backward    bool // the resources are read from the end of the page to its start
	first, last *hit
	unmarked    *item // the last resource, if its place is not computed yet
	begins      []int // of the resources in the buffer
}

// rawSource is a query for resources that are not decoded.
type rawSource struct {
	t    *resourceType
	plan *splice.Plan
	next RawQuery
	end  bool
}

// item is a resource to append.
type item struct {
	hit
	raw    *Raw // nil for a decoded resource
	groups []group
	full   *scim.Resource
}

func (s *server) newPage(r *request, q *query) *page {
	b := s.takeBuffers()
	return &page{server: s, ctx: r.Context(), query: q, origin: s.originIn(b, r.base), buffers: b}
}

// release returns the memory of the page to the server.
func (p *page) release() {
	p.unload()
	p.server.giveBuffers(p.buffers)
}

// unload returns the memory of a large resource to the server, after the part with the resource was sent.
func (p *page) unload() {
	p.server.releaseLarge(&p.large)
}

// next empties the buffer for the next part.
func (p *page) next() {
	p.unload()
	clear(p.cuts)
	p.out, p.begins, p.cuts = p.out[:0], p.begins[:0], p.cuts[:0]
}

// find starts to read the resources of a search. It returns the number of all matches, unless the search has a start position.
func (p *page) find(q *search, types []*resourceType) (total int, err error) {
	if p.server.raw != nil && len(types) == 1 && q.limit > 0 {
		t := types[0]
		if ask, empty := indexQuery(q, t, 0); !empty {
			plan := t.plan(p.query.projection)
			o := RawOptions{Groups: ask.Groups, Longest: largeResource}
			p.raw = &rawSource{t: t, plan: plan, next: RawQuery{Query: ask, RawOptions: o, Room: partRoom}}
			total, exact, err := p.selectFirst()
			if err != nil || exact {
				return total, err
			}
			p.raw = nil
		}
	}
	wide := *q
	if q.after != nil || p.marked {
		wide.limit++ // one hit more than the page, to detect whether another page follows
	}
	if p.hits, total, err = p.server.findPage(p.ctx, p.origin.base, &wide, types); err != nil {
		return 0, err
	}
	p.more = len(p.hits) > q.limit
	p.hits = p.hits[:min(q.limit, len(p.hits))]
	return total, nil
}

// again returns a page with the same resources that starts again.
func (p *page) again(ask RawQuery, hits []hit) *page {
	b := p.server.takeBuffers()
	out := &page{server: p.server, ctx: p.ctx, query: p.query, origin: p.server.originIn(b, p.origin.base), buffers: b, hits: hits}
	if p.raw != nil {
		out.raw = &rawSource{t: p.raw.t, plan: p.raw.plan, next: ask}
	}
	return out
}

// yieldResources is the number of resources after which fill lets other threads run.
const yieldResources = 128

// fill appends resources until the buffer has the size or a large resource, or the page is complete. A page has at most one large resource
// in memory, and releases it before it waits for the memory of the next one, so that pages do not wait for each other. fill reports whether
// the page is complete.
func (p *page) fill(size int) (complete bool, err error) {
	if p.turn, err = p.server.turns.enterShared(p.ctx); err != nil {
		return false, err
	}
	defer func() {
		p.turn.moves(len(p.out))
		p.turn.leave()
	}()
	for len(p.out) < size && p.large.weight == 0 {
		if len(p.queue) == 0 {
			if err := p.refill(); err != nil {
				return false, err
			}
			if len(p.queue) == 0 {
				return true, p.mark()
			}
		}
		next := &p.queue[0]
		begin := len(p.out)
		cuts := len(p.cuts)
		kept, err := p.append(next)
		switch {
		case err != nil:
			return false, err
		case !kept:
			p.out, p.cuts = p.out[:begin], p.cuts[:cuts]
			p.more = true
			return true, p.mark()
		}
		if p.count%yieldResources == 0 {
			processor.Yield()
		}
		p.queue = p.queue[1:]
		p.bytes += int64(len(p.out)-begin) + cutSize(p.cuts[cuts:])
		p.begins = append(p.begins, begin)
		p.count++
		p.unmarked = next
		if p.first == nil {
			if err := p.mark(); err != nil {
				return false, err
			}
		}
	}
	return len(p.queue) == 0 && len(p.hits) == 0 && (p.raw == nil || p.raw.end), p.mark()
}

// mark computes the place of the last resource, if it is needed. The text of the resource must still be in memory.
func (p *page) mark() error {
	if !p.marked || p.unmarked == nil {
		return nil
	}
	at, err := p.place(p.unmarked)
	if err != nil {
		return err
	}
	p.last, p.unmarked = &at, nil
	if p.first == nil {
		p.first = p.last
	}
	return nil
}

// place returns the place of a resource. It decodes the attribute to sort by, and no other one.
func (p *page) place(of *item) (hit, error) {
	path, sorted := p.query.ordering.path(of.t)
	if of.raw == nil || !sorted {
		return hit{place: of.place, t: of.t, id: of.id}, nil
	}
	res := &rawResource{t: of.t, raw: *of.raw}
	if res.raw.JSON == nil {
		whole, err := p.server.raw.GetRaw(p.ctx, of.t.Name, of.id, RawOptions{}, nil)
		if err != nil {
			return hit{}, err
		}
		res.raw.JSON = whole.JSON
	}
	res.raw.JSON = only(res.raw.JSON, path)
	rec, err := res.record()
	if err != nil {
		return hit{}, err
	}
	hits, err := p.server.hits(p.ctx, p.origin.base, &p.query.search, of.t, 0, []*Record{rec})
	if err != nil {
		return hit{}, err
	}
	hits[0].rec = nil
	return hits[0], nil
}

// only returns an object with only the member that contains the attribute.
func only(text []byte, path scim.AttrPath) []byte {
	name := path.Name
	if path.URN != "" {
		name = path.URN
	}
	for m := rawjson.Object(text); m.Next(); {
		if scim.EqualName(string(m.Name), name) {
			return slices.Concat([]byte{'{'}, text[m.Begin:m.End], []byte{'}'})
		}
	}
	return []byte("{}")
}

// append appends a resource, preceded by a comma. It returns false if the resource would exceed the limit of the page.
func (p *page) append(next *item) (kept bool, err error) {
	fits := func(size int64) bool { return p.limit == 0 || p.count == 0 || p.bytes+size <= p.limit }
	begin, cuts := len(p.out), len(p.cuts)
	p.out = append(p.out, ',')
	if next.raw == nil {
		p.out = next.full.AppendJSON(p.out)
		return fits(int64(len(p.out) - begin)), nil
	}
	res := &p.resource
	*res = rawResource{
		origin: p.origin, t: next.t, plan: p.raw.plan, projection: p.query.projection, raw: *next.raw, groups: next.groups,
	}
	if !p.backward {
		res.cuts = &p.cuts
	}
	if res.raw.JSON == nil {
		if p.raw.plan.Whole() && !fits(res.raw.Size) {
			return false, nil
		}
		if err := p.readLarge(next.t, &res.raw); err != nil {
			return false, err
		}
	}
	_, out, err := p.server.appendRaw(p.ctx, p.out, res)
	if err != nil {
		return false, err
	}
	p.out = out
	return fits(int64(len(p.out)-begin) + cutSize(p.cuts[cuts:])), nil
}

// readLarge reads a large resource. It ends the turn meanwhile: the memory may belong to a request that waits for a turn.
func (p *page) readLarge(t *resourceType, raw *Raw) (err error) {
	p.turn.leave()
	if p.large, err = p.server.readLarge(p.ctx, t, raw, false); err != nil {
		return err
	}
	p.turn, err = p.server.turns.enterShared(p.ctx)
	return err
}

// refill reads the next resources of the page.
func (p *page) refill() error {
	if err := p.mark(); err != nil {
		return err
	}
	if p.raw != nil {
		if p.raw.end {
			return nil
		}
		_, _, err := p.selectRaw()
		return err
	}
	for len(p.queue) == 0 && len(p.hits) > 0 {
		n := min(scanBatch, len(p.hits))
		part, err := p.server.load(p.ctx, slices.Clone(p.hits[:n]))
		p.hits = p.hits[n:]
		if err != nil {
			return err
		}
		resources, err := p.server.representHits(p.ctx, p.origin.base, part, p.query.projection)
		if err != nil {
			return err
		}
		p.queue = make([]item, len(part))
		for i, h := range part {
			p.queue[i] = item{hit: h, full: resources[i]}
		}
	}
	return nil
}

// selectFirst is selectRaw in a turn.
func (p *page) selectFirst() (total int, exact bool, err error) {
	turn, err := p.server.turns.enterShared(p.ctx)
	if err != nil {
		return 0, false, err
	}
	defer turn.leave()
	return p.selectRaw()
}

// selectRaw reads the next part of the page by the store's index. exact is false if the store has no index for the query.
func (p *page) selectRaw() (total int, exact bool, err error) {
	ask := &p.raw.next
	found, exact, err := p.server.raw.SelectRaw(p.ctx, *ask, p.in[:0])
	if err != nil || !exact {
		return 0, exact, err
	}
	p.in, p.more = found.Buffer, found.More
	ask.Resume, ask.Limit = found.Resume, ask.Limit-len(found.Resources)
	p.raw.end = found.Resume == ""
	var groups map[string][]group
	if ask.RawOptions.Groups {
		if groups, err = p.groupsOf(found.Resources); err != nil {
			return 0, false, err
		}
	}
	p.queue = make([]item, len(found.Resources))
	for i := range found.Resources {
		raw := &found.Resources[i]
		p.queue[i] = item{hit: hit{place: place{order: raw.Order}, t: p.raw.t, id: raw.ID}, raw: raw, groups: groups[raw.ID]}
	}
	return found.Total, true, nil
}

// groupsOf returns the groups of users by their ids.
func (p *page) groupsOf(users []Raw) (map[string][]group, error) {
	var recs []*Record
	for i := range users {
		if u := &users[i]; u.Groups == nil || len(u.Groups) > 0 {
			recs = append(recs, &Record{ID: u.ID, Groups: u.Groups})
		}
	}
	if recs == nil {
		return nil, nil
	}
	return p.server.groupsOf(p.ctx, recs)
}

// hasLarge reports whether one of the next resources is large.
func (p *page) hasLarge() bool {
	return slices.ContainsFunc(p.queue, func(next item) bool { return next.raw != nil && next.raw.JSON == nil })
}

// refuseLarge returns the error of tooLarge if a page would be larger than the limit of the server.
func (p *page) refuseLarge(ask RawQuery, hits []hit) error {
	large, err := p.exceeds(ask, hits)
	if err == nil && large {
		err = p.server.tooLarge()
	}
	return err
}

// exceeds reports whether a page would be larger than the limit of the server, before a byte of it is sent.
func (p *page) exceeds(ask RawQuery, hits []hit) (bool, error) {
	most := p.server.limits.MaxResponse
	if p.raw != nil && (!p.raw.t.isGroup || !p.raw.plan.ShowsDerived()) {
		turn, err := p.server.turns.enterShared(p.ctx)
		if err != nil {
			return false, err
		}
		size, err := p.server.raw.SizeRaw(p.ctx, ask.Query)
		turn.leave()
		if err != nil {
			return false, err
		}
		const added = 1 << 10 // id, meta and a few groups
		switch {
		case size+added*int64(ask.Limit) <= most:
			return false, nil
		case size > most && p.raw.plan.Whole():
			return true, nil
		}
	}
	// The size is known only when the JSON of all resources is complete. A copy of the page produces it, without sending it.
	test := p.again(ask, hits)
	defer test.release()
	for {
		complete, err := test.fill(partRoom)
		if err != nil || complete || test.bytes > most {
			return test.bytes > most, err
		}
		test.next()
	}
}

// reverse reverses the resources in the buffer, which starts with space for the head of the list.
func (p *page) reverse() {
	out := make([]byte, listHead, len(p.out))
	end := len(p.out)
	for _, begin := range slices.Backward(p.begins) {
		out = append(out, p.out[begin:end]...)
		end = begin
	}
	p.out = out
	p.first, p.last = p.last, p.first
}

// places returns the first and the last place of the page.
func (p *page) places() []hit {
	if p.first == nil {
		return nil
	}
	return []hit{*p.first, *p.last}
}

// tooLarge rejects a page that is larger than the limit.
func (s *server) tooLarge() error {
	return scim.Errorf(http.StatusBadRequest, scim.TooMany,
		"the page is larger than %d bytes (Limits.MaxResponse); use a smaller count, a cursor, or excludedAttributes", s.limits.MaxResponse)
}
