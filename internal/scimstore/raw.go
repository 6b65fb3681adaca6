package scimstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rawjson"
	"github.com/scimwright/scimwright/scimserver"
)

// split returns the texts of the resource and of the display in the text of a document.
func split(doc []byte) (resource, display []byte, err error) {
	const prefix = `{"` + keyResource + `":`
	if body, ok := bytes.CutSuffix(doc, []byte{'}'}); ok && bytes.HasPrefix(doc, []byte(prefix)) {
		if before, _, ok := rawjson.CutLast(body, keyPassword); ok {
			body = before
		}
		if before, display, ok := rawjson.CutLast(body, keyDisplay); ok {
			return before[len(prefix):], display, nil
		}
	}
	m := rawjson.Object(doc)
	for m.Next() {
		switch string(m.Name) {
		case keyResource:
			resource = m.Value
		case keyDisplay:
			display = m.Value
		}
	}
	if resource == nil || !m.Complete() {
		return nil, nil, fmt.Errorf("stored document of %d bytes has no %q", len(doc), keyResource)
	}
	return resource, display, nil
}

// text returns the string in a JSON text.
func text(value []byte) (string, error) {
	if plain, ok := rawjson.Plain(value); ok {
		return string(plain), nil
	}
	if value == nil {
		return "", nil
	}
	var s string
	err := json.Unmarshal(value, &s)
	return s, err
}

// readMember sets m to the member in the text of a membership.
func readMember(doc string, m *scimserver.Member) (err error) {
	if readPlainMember(doc, m) {
		return nil
	}
	*m = scimserver.Member{}
	for o := rawjson.Object([]byte(doc)); o.Next(); {
		switch string(o.Name) {
		case "member":
			m.ID, err = text(o.Value)
		case "type":
			m.Type, err = text(o.Value)
		case "display":
			m.Display, err = text(o.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readPlainMember is readMember for the usual text of a membership, without escapes and space. The strings of the member are then parts of
// the text. It returns false and an undefined member for any other text.
func readPlainMember(doc string, m *scimserver.Member) (ok bool) {
	if strings.IndexByte(doc, '\\') >= 0 {
		return false // without escapes, a quote ends a string
	}
	rest, ok := strings.CutPrefix(doc, `{"group":"`)
	if !ok {
		return false
	}
	_, rest, _ = strings.Cut(rest, `"`)
	if rest, ok = strings.CutPrefix(rest, `,"member":"`); !ok {
		return false
	}
	m.ID, rest, _ = strings.Cut(rest, `"`)
	if rest, ok = strings.CutPrefix(rest, `,"type":"`); !ok {
		return false
	}
	m.Type, rest, _ = strings.Cut(rest, `"`)
	if m.Display = ""; rest == "}" {
		return true
	}
	if rest, ok = strings.CutPrefix(rest, `,"display":"`); !ok {
		return false
	}
	m.Display, rest, _ = strings.Cut(rest, `"`)
	return rest == "}"
}

// rawOf returns the resource of a document without its text and its groups.
func rawOf(d *docstore.Raw) scimserver.Raw {
	return scimserver.Raw{ID: d.ID, Version: d.Rev, Order: d.Seq, Created: d.Created, LastModified: d.Updated, Size: d.Length}
}

// GetRaw implements scimserver.RawReader.
func (s *Store) GetRaw(ctx context.Context, typ, id string, o scimserver.RawOptions, buf []byte) (scimserver.Raw, error) {
	k, err := s.layout.kind(typ)
	if err != nil {
		return scimserver.Raw{}, err
	}
	var link *docstore.Link
	if o.Groups {
		link = k.groups
	}
	read := reads.Get().(*rawRead)
	defer read.release()
	read.buf = buf
	err = k.texts.Get(ctx, s.docs.Reader(), id, link, o.Longest, read.use)
	switch {
	case err != nil:
		return scimserver.Raw{}, translate(k, err)
	case read.linked && len(read.groups) == 0:
		read.Groups = []scimserver.Membership{}
	case read.linked:
		err = s.nameGroups(ctx, []*scimserver.Raw{&read.Raw}, [][]string{read.groups})
	}
	return read.Raw, err
}

// rawRead is the state of GetRaw. It is used again, because GetRaw is called for most requests.
type rawRead struct {
	scimserver.Raw
	buf    []byte
	groups []string
	linked bool
	use    func(*docstore.Raw) error // sets the other fields
}

var reads = sync.Pool{New: func() any {
	r := &rawRead{}
	r.use = r.set
	return r
}}

func (r *rawRead) release() {
	*r = rawRead{use: r.use}
	reads.Put(r)
}

func (r *rawRead) set(d *docstore.Raw) error {
	r.Raw = rawOf(d)
	r.groups, r.linked = d.Linked()
	if d.JSON == nil {
		return nil
	}
	resource, _, err := split(d.JSON)
	if d.Owned && r.buf == nil {
		r.JSON = resource
	} else {
		r.JSON, r.Reusable = append(r.buf, resource...), true
	}
	return err
}

// nameGroups sets the groups of resources, given the ids of these groups. At least one resource has groups.
func (s *Store) nameGroups(ctx context.Context, all []*scimserver.Raw, groups [][]string) error {
	display, err := s.displays(ctx, slices.Concat(groups...))
	if err != nil {
		return err
	}
	for i, r := range all {
		r.Groups = memberships(groups[i], display)
	}
	return nil
}

// SelectRaw implements scimserver.RawReader.
func (s *Store) SelectRaw(ctx context.Context, q scimserver.RawQuery, buf []byte) (scimserver.RawSelection, bool, error) {
	k, query, exact, err := s.rawQuery(ctx, q.Query, q.RawOptions)
	if err != nil || !exact {
		return scimserver.RawSelection{}, false, err
	}
	if q.Resume != "" {
		query.After, query.From, query.Offset = q.Resume, nil, 0
	}
	out := scimserver.RawSelection{Buffer: buf}
	if q.Limit > 0 {
		if err := s.readPage(ctx, k, query, q.Room, &out); err != nil {
			return scimserver.RawSelection{}, false, err
		}
		if !out.More && (len(out.Resources) > 0 || query.Offset == 0) { // this is the last page: no count query needed
			out.Total = query.Offset + len(out.Resources)
			return out, true, nil
		}
	}
	if q.After == nil && q.Resume == "" {
		out.Total, err = k.docs.Count(ctx, s.docs.Reader(), query.Where)
	}
	return out, true, err
}

// usualPage is the number of resources for which readPage allocates memory before it reads the first one.
const usualPage = 128

// pageReader reads the resources of a page until their texts exceed the room.
type pageReader struct {
	out   *scimserver.RawSelection
	room  int // 0 means any
	begin int // of the texts in the buffer
	rows  []pageRow

	// The memory of the first resource, which many results do not exceed.
	row      [1]pageRow
	resource [1]scimserver.Raw
}

// pageRow is what is known of a resource of a page when it is read.
type pageRow struct {
	end    int // of its text in the buffer
	groups []string
	linked bool // its groups were read
}

func (p *pageReader) take(d *docstore.Raw) (bool, error) {
	out := p.out
	if p.room > 0 && len(out.Resources) > 0 && len(out.Buffer)-p.begin+len(d.JSON) > p.room {
		return false, nil
	}
	if d.JSON != nil {
		resource, _, err := split(d.JSON)
		if err != nil {
			return false, err
		}
		out.Buffer = append(out.Buffer, resource...)
	}
	of, linked := d.Linked()
	p.rows = append(p.rows, pageRow{end: len(out.Buffer), groups: of, linked: linked})
	out.Resources = append(out.Resources, rawOf(d))
	return true, nil
}

// readPage reads the resources of a page until their texts exceed the room.
func (s *Store) readPage(ctx context.Context, k *kind, query docstore.RawQuery, room int, out *scimserver.RawSelection) error {
	p := &pageReader{out: out, room: room, begin: len(out.Buffer)}
	p.rows, out.Resources = p.row[:0], p.resource[:0]
	if query.Where == nil {
		usual := min(query.Limit, usualPage)
		p.rows, out.Resources = make([]pageRow, 0, usual), make([]scimserver.Raw, 0, usual)
	}
	page, err := k.texts.Query(ctx, s.docs.Reader(), query, p.take)
	if err != nil {
		return err
	}
	out.More, out.Resume = page.More, page.Next
	var named []*scimserver.Raw
	var groups [][]string
	begin := p.begin
	for i, row := range p.rows { // from here on, the buffer does not grow, so it is not copied
		r := &out.Resources[i]
		if row.end > begin {
			r.JSON = out.Buffer[begin:row.end:row.end]
		}
		begin = row.end
		switch {
		case len(row.groups) > 0:
			named, groups = append(named, r), append(groups, row.groups)
		case row.linked:
			r.Groups = []scimserver.Membership{}
		}
	}
	if len(named) == 0 {
		return nil
	}
	return s.nameGroups(ctx, named, groups)
}

// SizeRaw implements scimserver.RawReader.
func (s *Store) SizeRaw(ctx context.Context, q scimserver.Query) (int64, error) {
	k, query, exact, err := s.rawQuery(ctx, q, scimserver.RawOptions{})
	if err != nil || !exact || q.Limit == 0 {
		return 0, err
	}
	return k.texts.Size(ctx, s.docs.Reader(), query)
}

// rawQuery translates a query. It returns false if no index evaluates the query.
func (s *Store) rawQuery(ctx context.Context, q scimserver.Query, o scimserver.RawOptions) (*kind, docstore.RawQuery, bool, error) {
	k, err := s.layout.kind(q.Type)
	if err != nil {
		return nil, docstore.RawQuery{}, false, err
	}
	where, exact, err := s.condition(ctx, k, q.Filter)
	if err != nil || !exact {
		return nil, docstore.RawQuery{}, false, err
	}
	ordered := docstore.Query[document]{}
	if !k.order(&ordered, q) {
		return nil, docstore.RawQuery{}, false, nil
	}
	query := docstore.RawQuery{
		Where: where, OrderBy: ordered.OrderBy, Desc: q.Reverse, From: ordered.From, Offset: q.Offset, Limit: q.Limit, Longest: o.Longest,
	}
	if o.Groups {
		query.Link = k.groups
	}
	return k, query, true, nil
}

// EachMember implements scimserver.RawReader.
func (s *Store) EachMember(ctx context.Context, group string, use func(*scimserver.Member) error) error {
	var m scimserver.Member
	return s.layout.texts.Each(ctx, s.docs.Reader(), docstore.Eq(byGroup, group), func(doc string) error {
		if err := readMember(doc, &m); err != nil {
			return fmt.Errorf("stored membership in %q: %w", group, err)
		}
		return use(&m)
	})
}

// ScanRaw implements scimserver.RawReader.
func (s *Store) ScanRaw(ctx context.Context, scan scimserver.RawScan,
	use func(order int64, id string, text []byte) error) (n int, last int64, err error) {
	k, err := s.layout.kind(scan.Type)
	if err != nil {
		return 0, 0, err
	}
	where, _, err := s.condition(ctx, k, scan.Filter)
	if err != nil {
		return 0, 0, err
	}
	return k.texts.Scan(ctx, s.docs.Reader(), where, scan.After, scan.Limit, scan.Contains, func(seq int64, id string, doc []byte) error {
		resource, _, err := split(doc)
		if err != nil {
			return err
		}
		return use(seq, id, resource)
	})
}
