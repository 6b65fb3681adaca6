// Package splice makes the JSON text of a resource as clients receive it from the text that a store has. It copies what the projection
// leaves unchanged, and decodes only attributes of which a response contains a part.
package splice

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/internal/rawjson"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

// Plan is a projection of a resource type, with a decision for each name.
type Plan struct {
	view    schema.View
	typ     string // the JSON text of the name of the type
	top     *names
	meta    []metaPart
	element []elementField // of the derived attribute; nil if the response does not contain it
	open    []byte         // the text before the elements of the derived attribute
	whole   bool           // no attribute is omitted at the request of the client
}

// decision is what happens to a member of a stored object.
type decision struct {
	kind decisionKind
	of   *names // for an extension: the decisions for its attributes
}

type decisionKind int

const (
	omit decisionKind = iota
	pass
	part      // decoded and projected
	extension // decision.of has the decisions for its attributes
	reserved  // stored resources do not contain it
)

// names are the decisions for the members of an object.
type names struct {
	exact   map[string]*decision
	list    []named
	unknown decision
}

type named struct {
	name     string
	decision *decision
}

func (n *names) add(name string, d *decision) {
	if _, taken := n.exact[name]; taken {
		return
	}
	n.exact[name] = d
	n.list = append(n.list, named{name, d})
}

// after returns the decision for a name, given the position of the previous name in the list, and the position of the name. Resources have
// most of their attributes in the order of the list; a few comparisons cost less than the hash of the name.
func (n *names) after(position int, name []byte) (*decision, int) {
	for i := position; i < min(position+aheadNames, len(n.list)); i++ {
		if n.list[i].name == string(name) {
			return n.list[i].decision, i + 1
		}
	}
	return n.of(name), position
}

// aheadNames is the maximum number of names that names.after compares before it calls names.of.
const aheadNames = 16

// of returns the decision for a name. Most names are spelled as in the schema.
func (n *names) of(name []byte) *decision {
	if d, ok := n.exact[string(name)]; ok {
		return d
	}
	for _, known := range n.list {
		if len(known.name) == len(name) && scim.EqualName(known.name, string(name)) {
			return known.decision
		}
	}
	if bytes.IndexByte(name, '\\') >= 0 {
		return &decision{kind: reserved} // the name must be decoded before it is compared
	}
	return &n.unknown
}

func newNames(unknown decisionKind) *names {
	return &names{exact: map[string]*decision{}, unknown: decision{kind: unknown}}
}

// Names of the attributes with special treatment.
const (
	schemas = "schemas"
	id      = "id"
	meta    = "meta"
)

// Compile returns the plan of a projection. derived is the name of the attribute that is not stored with the resource, or "": the members
// of a group, with the fields MemberFields, or the groups of a user, with the fields GroupFields.
func Compile(rt *schema.ResourceType, derived string, fields []Field, p schema.Projection) *Plan {
	plan := &Plan{view: rt.View(p), typ: string(scim.AppendString(nil, rt.Name)), top: newNames(omit)}
	plan.whole = len(p.Attributes) == 0 && len(p.ExcludedAttributes) == 0
	if plan.view.Undefined() {
		plan.top.unknown.kind = pass
	}
	extensions := map[string]*decision{}
	for _, e := range rt.Extensions { // the first of two extensions with one URN, as schema.ResourceType.Extension
		d := &decision{kind: extension, of: newNames(omit)}
		extensions[e.Schema.ID] = d
		plan.top.add(e.Schema.ID, d)
	}
	for _, a := range plan.view.Attributes() {
		if a.URN == "" {
			plan.addCommon(a, derived, fields)
			continue
		}
		extensions[a.URN].of.add(a.Name, &decision{kind: kindOf(a.Shown)})
	}
	if _, defined := plan.top.exact[derived]; derived != "" && !defined && plan.view.Undefined() {
		plan.addCommon(schema.Visibility{Name: derived, Shown: schema.Wholly}, derived, fields)
	}
	return plan
}

func kindOf(s schema.Shown) decisionKind {
	switch s {
	case schema.Hidden:
		return omit
	case schema.Partly:
		return part
	}
	return pass
}

// addCommon adds the decision for an attribute that is not part of an extension.
func (p *Plan) addCommon(a schema.Visibility, derived string, fields []Field) {
	switch {
	case a.Name == schemas: // always wholly shown
		p.top.add(a.Name, &decision{kind: pass})
	case a.Name == id:
		p.top.add(a.Name, &decision{kind: reserved})
	case a.Name == meta:
		p.top.add(a.Name, &decision{kind: reserved})
		p.meta = metaParts(a)
	case derived != "" && scim.EqualName(a.Name, derived):
		p.top.add(a.Name, &decision{kind: reserved})
		p.element = elementFields(a, fields)
		p.open = append(scim.AppendString([]byte{','}, derived), ':')
	default:
		p.top.add(a.Name, &decision{kind: kindOf(a.Shown)})
	}
}

// ShowsDerived reports whether the response contains the derived attribute or a part of it.
func (p *Plan) ShowsDerived() bool { return len(p.element) > 0 }

// Whole reports whether the response contains all attributes that are returned by default.
func (p *Plan) Whole() bool { return p.whole }

// Resource is what a response is made of.
type Resource struct {
	ID                    string
	JSON                  []byte // the stored attributes, "schemas" first
	Created, LastModified time.Time
	Version               int64
	// Location is the prefix of the location, as [Prefix] returns it.
	Location []byte
	// Cuts, if set, receives long parts of the stored text, which are then not copied.
	Cuts *[]Cut
}

// Cut is a text to insert before the byte at an offset of the appended text.
type Cut struct {
	At   int
	Text []byte
}

// longRun is a length in bytes: a part of the stored text that is at least this long becomes a Cut, so that it is not copied.
const longRun = 64 << 10

// Append appends the JSON text of a resource to dst. The function elements appends the elements of the derived attribute, by AppendElement;
// it is nil if the resource has none. Append returns false, and dst with an undefined end, if the stored text has another form than the
// server writes: the caller then decodes it. The function elements was not called then.
func (p *Plan) Append(dst []byte, r *Resource, elements func(dst []byte) []byte) ([]byte, bool) {
	m := rawjson.Object(r.JSON)
	if !m.Next() || string(m.Name) != schemas || m.Value[0] != '[' {
		return dst, false
	}
	dst = append(dst, '{')
	dst = append(dst, r.JSON[m.Begin:m.End]...)
	dst = append(dst, `,"`+id+`":`...)
	dst = scim.AppendString(dst, r.ID)
	dst, ok := p.appendMembers(dst, r, &m, p.top)
	if !ok || !m.Complete() {
		return dst, false
	}
	if elements != nil && p.ShowsDerived() {
		start := len(dst)
		dst = append(dst, p.open...)
		open := len(dst)
		if dst = elements(dst); len(dst) == open {
			dst = dst[:start]
		} else {
			dst[open] = '[' // instead of the comma before the first element
			dst = append(dst, ']')
		}
	}
	dst = p.appendMeta(dst, r)
	return append(dst, '}'), true
}

// appendMembers appends the remaining members of an object, each preceded by a comma. Consecutive members without changes are copied
// together.
func (p *Plan) appendMembers(dst []byte, r *Resource, m *rawjson.Members, decisions *names) ([]byte, bool) {
	text := r.JSON
	begin, end := -1, 0 // the members to copy
	position := 0
	for m.Next() {
		var d *decision
		d, position = decisions.after(position, m.Name)
		if d.kind == pass {
			if begin < 0 {
				begin = m.Begin
			}
			end = m.End
			continue
		}
		dst, begin = r.appendRun(dst, begin, end), -1
		var ok bool
		switch d.kind {
		case part:
			dst, ok = p.appendPart(dst, text[m.Begin:m.End])
		case extension:
			dst, ok = p.appendExtension(dst, m, d)
		default:
			ok = d.kind == omit
		}
		if !ok {
			return dst, false
		}
	}
	return r.appendRun(dst, begin, end), true
}

// appendRun appends a part of the stored text. If r.Cuts is set, a long part becomes a Cut instead, and appendRun appends only a comma.
func (r *Resource) appendRun(dst []byte, begin, end int) []byte {
	if r.Cuts == nil || begin < 0 || end-begin < longRun {
		return appendRun(dst, r.JSON, begin, end)
	}
	dst = append(dst, ',')
	*r.Cuts = append(*r.Cuts, Cut{At: len(dst), Text: r.JSON[begin:end]})
	return dst
}

func appendRun(dst, text []byte, begin, end int) []byte {
	if begin < 0 {
		return dst
	}
	return append(append(dst, ','), text[begin:end]...)
}

// appendPart decodes one member of the resource, projects it and appends the result.
func (p *Plan) appendPart(dst, member []byte) ([]byte, bool) {
	whole, err := scim.DecodeResource(append(append([]byte{'{'}, member...), '}'))
	if err != nil {
		return dst, false
	}
	return appendObject(dst, &p.view, whole), true
}

// appendObject appends the members of a projected object, each preceded by a comma.
func appendObject(dst []byte, view *schema.View, r *scim.Resource) []byte {
	shown := view.Project(r)
	for name, value := range shown.All() {
		dst = append(scim.AppendString(append(dst, ','), name), ':')
		dst = scim.AppendValue(dst, value)
	}
	return dst
}

// appendExtension appends the value of an extension. If a part of one of its attributes is shown, the whole value is decoded.
func (p *Plan) appendExtension(dst []byte, m *rawjson.Members, d *decision) ([]byte, bool) {
	start := len(dst)
	dst = append(append(append(dst, ',', '"'), m.Name...), '"', ':', '{')
	open := len(dst)
	inner := rawjson.Object(m.Value)
	begin, end := -1, 0
	for inner.Next() {
		switch d.of.of(inner.Name).kind {
		case pass:
			if begin < 0 {
				begin = inner.Begin
			}
			end = inner.End
			continue
		case part, reserved:
			return p.appendPart(dst[:start], append(append(append([]byte{'"'}, m.Name...), '"', ':'), m.Value...))
		}
		dst, begin = appendRun(dst, m.Value, begin, end), -1
	}
	dst = appendRun(dst, m.Value, begin, end)
	if !inner.Complete() {
		return p.appendPart(dst[:start], append(append(append([]byte{'"'}, m.Name...), '"', ':'), m.Value...))
	}
	if len(dst) == open {
		return dst[:start], true
	}
	dst = append(dst[:open], dst[open+1:]...) // the comma of the first member
	return append(dst, '}'), true
}

// metaField is a sub-attribute of meta.
type metaField int

const (
	metaType metaField = iota
	metaCreated
	metaModified
	metaLocation
	metaVersion
)

var metaNames = []string{"resourceType", "created", "lastModified", "location", "version"}

// metaPart is a sub-attribute of meta with the text before its value, which starts with a comma.
type metaPart struct {
	field metaField
	name  string
}

func metaParts(a schema.Visibility) (out []metaPart) {
	subs := a.Subs
	switch a.Shown {
	case schema.Hidden:
		return nil
	case schema.Wholly:
		subs = metaNames
	}
	for _, sub := range subs {
		if i := slices.Index(metaNames, sub); i >= 0 {
			out = append(out, metaPart{metaField(i), `,"` + sub + `":`})
		}
	}
	return out
}

// appendMeta appends the attribute meta, preceded by a comma.
func (p *Plan) appendMeta(dst []byte, r *Resource) []byte {
	start := len(dst)
	dst = append(dst, `,"`+meta+`":`...)
	open := len(dst)
	created := 0 // the offset of a time of the usual length
	for i := range p.meta {
		part := &p.meta[i]
		switch part.field {
		case metaType:
			dst = append(append(dst, part.name...), p.typ...)
		case metaCreated:
			if r.Created.IsZero() {
				continue
			}
			dst = append(dst, part.name...)
			begin := len(dst)
			if dst = appendTime(dst, r.Created); len(dst) == begin+timeLength {
				created = begin
			}
		case metaModified:
			if r.LastModified.IsZero() {
				continue
			}
			dst = append(dst, part.name...)
			if created > 0 && r.LastModified.Equal(r.Created) {
				dst = append(dst, dst[created:created+timeLength]...)
			} else {
				dst = appendTime(dst, r.LastModified)
			}
		case metaLocation:
			dst = AppendReference(append(dst, part.name...), r.Location, r.ID)
		case metaVersion:
			dst = append(append(dst, part.name...), `"W/\"`...)
			dst = strconv.AppendInt(dst, r.Version, 10)
			dst = append(dst, `\""`...)
		}
	}
	if len(dst) == open {
		return dst[:start]
	}
	dst[open] = '{' // instead of the comma before the first part
	return append(dst, '}')
}

// appendTime appends a time as scim.TimeFormat, in quotes.
func appendTime(dst []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return append(t.AppendFormat(append(dst, '"'), scim.TimeFormat), '"')
	}
	hour, minute, second := t.Clock()
	begin := len(dst)
	dst = append(dst, timeForm...)
	b := dst[begin:]
	setPair(b[1:], year/100)
	setPair(b[3:], year%100)
	setPair(b[6:], int(month))
	setPair(b[9:], day)
	setPair(b[12:], hour)
	setPair(b[15:], minute)
	setPair(b[18:], second)
	milliseconds := t.Nanosecond() / int(time.Millisecond)
	setPair(b[21:], milliseconds/10)
	b[23] = '0' + byte(milliseconds%10)
	return dst
}

// timeForm is a time in the form of a response, in which the digits are replaced.
const (
	timeForm   = `"0000-00-00T00:00:00.000Z"`
	timeLength = len(timeForm)
)

// setPair sets two digits to a number from 0 to 99.
func setPair(b []byte, n int) {
	_ = b[1]
	b[0], b[1] = '0'+byte(n/10), '0'+byte(n%10)
}

// Prefix returns the JSON text of a location up to the id, with its quote.
func Prefix(location string) []byte {
	text := scim.AppendString(nil, location)
	return text[:len(text)-1]
}

// AppendReference appends the JSON text of a location.
func AppendReference(dst, prefix []byte, id string) []byte {
	dst = append(append(dst, prefix...), Escape(id)...) // contains no character that JSON escapes
	return append(dst, '"')
}

// Escape is url.PathEscape, which looks at each character twice.
func Escape(id string) string {
	if unreserved(id) {
		return id
	}
	return url.PathEscape(id)
}

// unreserved reports whether a string contains only characters that a URL does not escape.
func unreserved(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}
