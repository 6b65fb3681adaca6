package scimserver

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/filter"
	"github.com/scimwright/scimwright/scim/schema"
)

// ordering is the order of a query (RFC 7644 section 3.4.2.3). The zero value is the order of creation, type by type.
type ordering struct {
	by      scim.AttrPath                     // in the client's spelling; zero for the order of creation
	keys    map[*resourceType]schema.Resolved // the sort attribute of each type; types without the attribute are absent
	numeric bool
	reverse bool // the whole order is reversed
}

// The values of sortOrder.
const (
	ascending  = "ascending"
	descending = "descending"
)

// newOrdering checks sortBy and sortOrder. sortOrder has no effect without sortBy. If a type does not define the attribute, its resources
// have no value for it, as in filters.
func newOrdering(sortBy, sortOrder string, types []*resourceType) (ordering, error) {
	if sortBy == "" {
		return ordering{}, nil
	}
	o := ordering{keys: map[*resourceType]schema.Resolved{}, numeric: true}
	switch {
	case sortOrder == "", scim.EqualName(sortOrder, ascending):
	case scim.EqualName(sortOrder, descending):
		o.reverse = true
	default:
		return ordering{}, scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "sortOrder is neither %s nor %s", ascending, descending)
	}
	var err error
	if o.by, err = scim.ParseAttrPath(sortBy); err != nil {
		return ordering{}, scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "sortBy: %v", err)
	}
	for _, t := range types {
		r, ok := t.Resolve(o.by)
		if !ok {
			continue
		}
		if r, err = sortable(r); err != nil {
			return ordering{}, err
		}
		o.keys[t] = r
		o.numeric = o.numeric && isNumber(valueOf(r))
	}
	return o, nil
}

// sortable completes and checks the attribute that sortBy names.
func sortable(r schema.Resolved) (schema.Resolved, error) {
	refuse := func(why string) (schema.Resolved, error) {
		return r, scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "sortBy: %s %s", r.Path, why)
	}
	if r.Attribute == nil {
		return refuse("is a schema, not an attribute")
	}
	if r.Sub == nil && r.Attribute.Type == schema.Complex {
		// As in filters, the bare name of a multi-valued attribute means its "value".
		if r.Sub = r.Attribute.SubAttribute("value"); r.Sub == nil || !r.Attribute.MultiValued {
			return refuse("is complex; name one of its sub-attributes")
		}
		r.Path.Sub = r.Sub.Name
	}
	if r.Attribute.Secret() || valueOf(r).Secret() {
		return refuse("is never returned, and sorting by it would disclose its values")
	}
	return r, nil
}

// valueOf returns the definition of the values that a path selects.
func valueOf(r schema.Resolved) *schema.Attribute {
	if r.Sub != nil {
		return r.Sub
	}
	return r.Attribute
}

func isNumber(a *schema.Attribute) bool { return a.Type == schema.Integer || a.Type == schema.Decimal }

// sorted reports whether the order differs from the order of creation.
func (o *ordering) sorted() bool { return !o.by.IsZero() }

// path returns the attribute to sort a type by, in canonical spelling. It returns false if the type does not define it.
func (o *ordering) path(t *resourceType) (scim.AttrPath, bool) {
	r, ok := o.keys[t]
	return r.Path, ok
}

// place is the position of a resource in the order of a query.
type place struct {
	key   *string // as in Position
	typ   int     // index of the resource type in the types of the query
	order int64   // Record.Order
}

// compare compares two places, ignoring reverse.
func (o *ordering) compare(a, b place) int {
	switch {
	case a.key == nil && b.key != nil:
		return 1
	case a.key != nil && b.key == nil:
		return -1
	case a.key != nil:
		if c := o.compareKeys(*a.key, *b.key); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(a.typ, b.typ), cmp.Compare(a.order, b.order))
}

func (o *ordering) compareKeys(a, b string) int {
	if o.numeric {
		return scim.CompareNumbers(json.Number(a), json.Number(b))
	}
	return strings.Compare(a, b)
}

// maxNumberKey is the maximum length of a number that is used as sort key. A longer number counts as missing, so that it does not enlarge
// cursors. No attribute needs such a number.
const maxNumberKey = 100

// key returns the sort key of a resource (see Position). For a multi-valued attribute, it uses the primary value, or the first one if none
// is primary.
func (o *ordering) key(t *resourceType, resource *scim.Resource) *string {
	r, ok := o.keys[t]
	if !ok {
		return nil
	}
	v, _ := r.Lookup(resource)
	if list, ok := v.([]any); ok {
		v = primary(list)
	}
	if element, ok := v.(*scim.Object); ok {
		if r.Sub == nil {
			return nil
		}
		v, _ = element.Get(r.Sub.Name)
	}
	if list, ok := v.([]any); ok { // a sub-attribute with several values
		v = primary(list)
	}
	return keyOf(valueOf(r), v)
}

// primary returns the element of a multi-valued attribute that is used for sorting.
func primary(list []any) any {
	for _, v := range list {
		element, _ := v.(*scim.Object)
		if yes, _ := element.Bool("primary"); yes {
			return v
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

func keyOf(a *schema.Attribute, v any) *string {
	var key string
	switch v := v.(type) {
	case bool:
		key = "0"
		if v {
			key = "1"
		}
	case json.Number:
		if key = string(v); len(key) > maxNumberKey {
			return nil
		}
	case string:
		switch {
		case a.Type == schema.DateTime:
			t, err := schema.ParseDateTime(v)
			if err != nil {
				return nil
			}
			key = t.UTC().Format(SortTime)
		case a.CaseExact || a.Type == schema.Binary:
			key = shorten(filter.Exact(v))
		default:
			key = shorten(filter.Fold(v))
		}
	default:
		return nil
	}
	return &key
}

// shorten returns a string shorter than MaxSortKey unchanged, and truncates any other string to MaxSortKey bytes. The truncated string ends
// with a digest of the whole string.
func shorten(s string) string {
	if len(s) < MaxSortKey {
		return strings.Clone(s) // s may share memory with a longer string; without a copy, that string stays in memory
	}
	sum := sha256.Sum256([]byte(s))
	digest := base64.RawURLEncoding.EncodeToString(sum[:])
	room := MaxSortKey - len(digest)
	head := strings.ToValidUTF8(s[:room], "") // removes half a character at the end
	return head + strings.Repeat(" ", room-len(head)) + digest
}
