package scimstore

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/schema"
)

// Layout is the set of tables of one service provider. Several layouts with different names can use one database.
type Layout struct {
	types   []*kind
	owners  []*kind // the same types, groups first: only groups should have members
	members docstore.Collection[membership]
	texts   docstore.Texts // of members
	groups  *docstore.Link // reads the groups of a resource with the resource
}

// kind is one resource type with its table.
type kind struct {
	*schema.ResourceType
	docs    docstore.Collection[document]
	texts   docstore.Texts // of docs
	indexes []index
	groups  *docstore.Link // for users Layout.groups, otherwise nil
	// guarded is true if a write of a resource can fail after its first change: at a unique attribute with several values.
	guarded bool
}

// membership is one direct member of one group. Its id is docstore.JoinID(group, member).
type membership struct {
	Group   string `json:"group"`
	Member  string `json:"member"`
	Type    string `json:"type"`
	Display string `json:"display,omitempty"`
}

// Indexes of the membership table.
const (
	byGroup  = "group"
	byMember = "member"
)

// NewLayout returns a layout for the resource types. The name is the prefix of the table names; it consists of lowercase letters, digits
// and underscores. Default: "scim" for name, schema.UserType() and schema.GroupType() for types.
func NewLayout(name string, types ...*schema.ResourceType) *Layout {
	name = cmp.Or(name, "scim")
	if len(types) == 0 {
		types = []*schema.ResourceType{schema.UserType(), schema.GroupType()}
	}
	l := &Layout{members: docstore.NewCollection(name+"_member",
		docstore.Index[membership]{Name: byGroup, Values: func(m *membership) []any { return []any{m.Group} }},
		docstore.Index[membership]{Name: byMember, Values: func(m *membership) []any { return []any{m.Member} }},
	)}
	l.texts, l.groups = docstore.TextsOf(l.members), docstore.NewLink(l.members, byMember)
	for _, rt := range types {
		k := &kind{ResourceType: rt, indexes: indexesOf(rt)}
		var declared []docstore.Index[document]
		for _, ix := range k.indexes {
			k.guarded = k.guarded || ix.unique && ix.multi
			declared = append(declared,
				docstore.Index[document]{
					Name: ix.name, Unique: ix.unique, Multi: ix.multi, Values: ix.values, Same: ix.same, Version: ix.version(),
				})
		}
		k.docs = docstore.NewCollection(name+"_type_"+alphanumeric(strings.ToLower(rt.Name)), declared...).Numbered().CachedReads()
		k.texts = docstore.TextsOf(k.docs)
		if rt.Schema.ID == scim.UserSchema {
			k.groups = l.groups
		}
		l.types = append(l.types, k)
		if rt.Schema.ID == scim.GroupSchema {
			l.owners = append([]*kind{k}, l.owners...)
		} else {
			l.owners = append(l.owners, k)
		}
	}
	return l
}

// Tables returns the tables for docstore.Open.
func (l *Layout) Tables() []docstore.Table {
	tables := []docstore.Table{l.members}
	for _, k := range l.types {
		tables = append(tables, k.docs)
	}
	return tables
}

// kind returns the type with the name.
func (l *Layout) kind(name string) (*kind, error) {
	for _, k := range l.types {
		if k.Name == name {
			return k, nil
		}
	}
	return nil, fmt.Errorf("scimstore: resource type %q has no table", name)
}

// index is a database index on an attribute.
type index struct {
	name   string
	path   scim.AttrPath // canonical, as in schema.Resolved
	exact  bool          // case-sensitive
	unique bool
	multi  bool
	text   bool // the attribute is a string or a reference; only these indexes evaluate filters
}

// searched are the attributes that clients search for, in addition to the unique ones.
var searched = []scim.AttrPath{{Name: "externalId"}, {Name: "displayName"}, {Name: "emails", Sub: "value"}}

// indexesOf returns the indexes of a type: one per unique attribute and per attribute in searched.
func indexesOf(rt *schema.ResourceType) []index {
	var out []index
	add := func(path scim.AttrPath, unique bool) {
		r, ok := rt.Resolve(path)
		if !ok || r.Attribute == nil {
			return
		}
		last := r.Attribute
		if r.Sub != nil {
			last = r.Sub
		}
		ix := index{
			name:   indexName(r.Path),
			path:   r.Path,
			exact:  last.CaseExact,
			unique: unique,
			multi:  r.Attribute.MultiValued || last.MultiValued,
			text:   last.Type == "" || last.Type == schema.String || last.Type == schema.Reference,
		}
		out = append(out, ix)
	}
	addUnique := func(s *schema.Schema, urn string) {
		for _, a := range s.Attributes {
			if isUnique(a) {
				add(scim.AttrPath{URN: urn, Name: a.Name}, true)
			}
			for _, sub := range a.SubAttributes {
				if isUnique(sub) {
					add(scim.AttrPath{URN: urn, Name: a.Name, Sub: sub.Name}, true)
				}
			}
		}
	}
	addUnique(rt.Schema, "")
	for _, e := range rt.Extensions {
		addUnique(e.Schema, e.Schema.ID)
	}
	for _, path := range searched {
		taken := false
		for _, ix := range out {
			taken = taken || ix.path.Equal(path)
		}
		if !taken {
			add(path, false)
		}
	}
	return out
}

func isUnique(a *schema.Attribute) bool {
	return a.Type != schema.Complex && a.Mutability != schema.ReadOnly && (a.Uniqueness == schema.Server || a.Uniqueness == schema.Global)
}

// indexName returns the attribute's name. For extensions a digest of the URN precedes it, because URNs exceed the maximum length of names.
func indexName(p scim.AttrPath) string {
	name := alphanumeric(p.Name)
	if p.Sub != "" {
		name += "_" + alphanumeric(p.Sub)
	}
	if p.URN == "" {
		return name
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.ToLower(p.URN)))
	return fmt.Sprintf("x%08x_%s", h.Sum32(), name)
}

// alphanumeric removes the characters that names in a database cannot contain.
func alphanumeric(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, s)
}

// valuesVersion must be increased when index.values computes other values for the same document than before. For a change of the case
// folding, filter.FoldVersion is increased instead.
const valuesVersion = 0

// version returns the Version of the index. It changes whenever index.values computes other values for the same document; docstore.Open
// then fills the index again.
func (ix index) version() int {
	v := 2 * (valuesVersion + filter.FoldVersion)
	if ix.exact {
		v++
	}
	return v
}

// attribute returns the value of the attribute of the index.
func (ix index) attribute(d *document) any {
	o := &d.Resource.Object
	if ix.path.URN != "" {
		o = o.Complex(ix.path.URN)
	}
	value, _ := o.Get(ix.path.Name)
	return value
}

// same reports whether two documents have the same strings as values of the index.
func (ix index) same(a, b *document) bool {
	x, y := ix.attribute(a), ix.attribute(b)
	listX, severalX := x.([]any)
	listY, severalY := y.([]any)
	switch {
	case severalX && severalY:
		return slices.EqualFunc(listX, listY, ix.sameElement)
	case severalX || severalY:
		return false
	}
	return ix.sameElement(x, y)
}

// sameElement is same for an element of the attribute.
func (ix index) sameElement(x, y any) bool {
	if ix.path.Sub != "" {
		a, okA := x.(*scim.Object)
		b, okB := y.(*scim.Object)
		if !okA || !okB {
			return x == nil && y == nil
		}
		x, _ = a.Get(ix.path.Sub)
		y, _ = b.Get(ix.path.Sub)
	}
	if x == nil || y == nil {
		return x == nil && y == nil
	}
	a, okA := x.(string)
	b, okB := y.(string)
	return okA && okB && a == b
}

// values computes the values of the index for a document.
func (ix index) values(d *document) []any {
	value := ix.attribute(d)
	list, several := value.([]any)
	if !several {
		return ix.appendKeys(nil, value)
	}
	out := make([]any, 0, len(list))
	for _, v := range list {
		out = ix.appendKeys(out, v)
	}
	return out
}

// appendKeys appends the keys of an element of the attribute.
func (ix index) appendKeys(out []any, element any) []any {
	if ix.path.Sub == "" {
		return append(out, ix.key(element))
	}
	o, _ := element.(*scim.Object)
	for _, v := range o.Array(ix.path.Sub) {
		out = append(out, ix.key(v))
	}
	return out
}

// fold returns the form of a string by which the attribute is compared.
func (ix index) fold(text string) string {
	if ix.exact {
		return filter.Exact(text)
	}
	return filter.Fold(text)
}

func (ix index) key(v any) any {
	text, ok := v.(string)
	switch {
	case v == nil:
		return nil
	case !ok:
		return string(scim.AppendValue(nil, v))
	}
	if key := ix.fold(text); key != text {
		return key
	}
	return v // without another allocation
}
