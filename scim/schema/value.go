package schema

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/internal/fold"
	"github.com/scimwright/scimwright/scim/lenient"
)

// Clean converts a client's value for the whole attribute into the form to store. A multi-valued attribute becomes an array without
// repeated elements; names are canonical; null and read-only sub-attributes are removed. Clean returns nil if the value leaves the
// attribute unassigned: null, an empty array, an object without values (RFC 7643 section 2.5). The parameter path names the attribute in
// errors, which are *scim.Error 400 invalidValue. The caller checks whether the attribute itself is read-only, immutable or required.
func (a *Attribute) Clean(v any, path scim.AttrPath, opts CleanOptions) (any, error) {
	if !a.MultiValued || v == nil {
		return a.CleanElement(v, path, opts)
	}
	list, ok := v.([]any)
	if !ok {
		if !opts.Accept.Has(lenient.SingleValues) {
			return nil, invalid(path, "must be an array")
		}
		list = []any{v}
	}
	out := make([]any, 0, len(list))
	for _, e := range list {
		c, err := a.CleanElement(e, path, opts)
		if err != nil {
			return nil, err
		}
		if c != nil {
			out = append(out, c)
		}
	}
	if len(out) > 1 {
		out, _ = a.Union(nil, out)
		if countPrimary(out) > 1 {
			return nil, invalid(path, "has more than one primary value")
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

// CleanElement does the same as [Attribute.Clean], for a single-valued attribute or one element of a multi-valued attribute.
func (a *Attribute) CleanElement(v any, path scim.AttrPath, opts CleanOptions) (any, error) {
	if v == nil {
		return nil, nil
	}
	if a.Type == Complex {
		return a.cleanComplex(v, path, opts)
	}
	s, isString := v.(string)
	switch a.Type {
	case Boolean:
		if isString && opts.Accept.Has(lenient.SpelledBooleans) {
			if b, ok := spelledBool(s); ok {
				return b, nil
			}
		}
		if _, ok := v.(bool); !ok {
			return nil, invalid(path, "must be true or false")
		}
	case Integer:
		n, ok := v.(json.Number)
		if !ok || strings.ContainsAny(string(n), ".eE") {
			return nil, invalid(path, "must be a whole number without fraction and exponent")
		}
		if _, err := n.Int64(); err != nil {
			return nil, invalid(path, "must be a whole number of 64 bits")
		}
	case Decimal:
		n, ok := v.(json.Number)
		if !ok {
			return nil, invalid(path, "must be a number")
		}
		if _, err := n.Float64(); err != nil {
			return nil, invalid(path, "must be a number within the range of a 64-bit float")
		}
	default:
		if !isString {
			return nil, invalid(path, "must be a string")
		}
		if msg := a.checkText(s); msg != "" {
			return nil, invalid(path, msg)
		}
		if syntax, ok := syntaxes[a.Syntax]; ok && !opts.Accept.Has(lenient.LooseValues) && !syntax.valid(s) {
			return nil, invalid(path, syntax.must)
		}
	}
	return v, nil
}

func (a *Attribute) checkText(s string) string {
	switch a.Type {
	case DateTime:
		if _, err := ParseDateTime(s); err != nil {
			return "must be a dateTime with date and time, such as 2011-05-13T04:42:34Z"
		}
	case Binary:
		if !isBase64(s) {
			return "must be base64"
		}
	case Reference:
		if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7F || strings.ContainsRune("<>\"{}|\\^`", r) }) {
			return "must be a URI"
		}
	default:
		switch {
		case strings.IndexByte(s, 0) >= 0:
			return "must not contain U+0000"
		case s == "" && a.Required:
			return "must not be empty"
		}
	}
	return ""
}

func (a *Attribute) cleanComplex(v any, path scim.AttrPath, opts CleanOptions) (any, error) {
	if opts.Accept.Has(lenient.EmptyReferences) && a.EmptyReference(v) {
		return nil, nil
	}
	in, ok := v.(*scim.Object)
	if !ok {
		if value := a.SubAttribute("value"); value != nil && opts.Accept.Has(lenient.PlainValues) {
			in = scim.NewObject(scim.Member{Name: "value", Value: v})
		} else {
			return nil, invalid(path, "must be an object of sub-attributes")
		}
	}
	if opts.Accept.Has(lenient.JSONValues) && a.MultiValued {
		in = a.unpackJSONValue(in)
	}
	out := &scim.Object{}
	out.Grow(in.Len())
	given := false
	for name, v := range in.All() {
		sub := a.SubAttribute(name)
		if sub == nil {
			if opts.RefuseUnknown {
				path.Sub = name
				return nil, invalid(path, "is not defined by the schema")
			}
			continue
		}
		given = given || v != nil
		if sub.Mutability == ReadOnly {
			continue
		}
		path.Sub = sub.Name
		c, err := sub.Clean(v, path, opts)
		if err != nil {
			return nil, err
		}
		if c != nil {
			out.Set(sub.Name, c)
		}
	}
	if out.Len() == 0 && !given {
		return nil, nil
	}
	for _, sub := range a.SubAttributes {
		if _, ok := out.Get(sub.Name); !ok && sub.Required && sub.Mutability != ReadOnly {
			path.Sub = sub.Name
			return nil, invalid(path, "is required")
		}
	}
	if out.Len() == 0 {
		return nil, nil
	}
	return out, nil
}

// unpackJSONValue returns a copy of the element with "value" and "display" from the JSON object that its "value" contains as a string; see
// lenient.JSONValues. It returns an element without such a string unchanged.
func (a *Attribute) unpackJSONValue(element *scim.Object) *scim.Object {
	text := element.Text("value")
	if len(text) == 0 || text[0] != '{' || a.SubAttribute("display") == nil {
		return element
	}
	said, err := scim.Decode([]byte(text))
	if err != nil || said.Text("value") == "" {
		return element
	}
	out := element.Clone()
	out.Set("value", said.Text("value"))
	if name := said.Text("displayName"); name != "" {
		out.Set("display", name)
	}
	return out
}

// EmptyReference reports whether a refers to a resource (it has "$ref") and v is an empty string or an object with an empty "value". Some
// clients unassign the manager this way; see lenient.EmptyReferences.
func (a *Attribute) EmptyReference(v any) bool {
	if a.SubAttribute("$ref") == nil || a.SubAttribute("value") == nil {
		return false
	}
	if o, ok := v.(*scim.Object); ok {
		v, _ = o.Get("value")
	}
	return v == ""
}

// Key identifies an element within a multi-valued attribute: two elements are equal if their keys are equal. For elements that refer to
// resources (they have "$ref"), the key depends only on "value". For other elements, it depends on all sub-attributes except "primary" and
// "display", which describe the value and are not part of it. A value may therefore occur with several types (RFC 7643 section 2.4).
// Strings are compared by the attribute's caseExact, dateTimes as points in time.
func (a *Attribute) Key(element any) string {
	o, ok := element.(*scim.Object)
	if !ok {
		return string(a.appendKey(nil, element))
	}
	if v, ok := o.Get("value"); ok && a.SubAttribute("$ref") != nil {
		if sub := a.SubAttribute("value"); sub != nil {
			return string(sub.appendKey(nil, v))
		}
	}
	var key []byte
	for _, sub := range a.SubAttributes {
		v, ok := o.Get(sub.Name)
		if !ok || sub.isPrimary() || scim.EqualName(sub.Name, "display") {
			continue
		}
		key = append(key, sub.Name...)
		key = append(key, 0)
		key = sub.appendKey(key, v)
		key = append(key, 0)
	}
	return string(key)
}

func (a *Attribute) appendKey(key []byte, v any) []byte {
	s, ok := v.(string)
	switch {
	case !ok:
		return scim.AppendValue(key, v)
	case a.Type == DateTime:
		if t, err := ParseDateTime(s); err == nil {
			key = strconv.AppendInt(key, t.Unix(), 10)
			return strconv.AppendInt(append(key, '.'), int64(t.Nanosecond()), 10)
		}
	case !a.CaseExact:
		s = fold.String(s)
	default:
		s = fold.Exact(s)
	}
	return append(key, s...)
}

// Union returns the elements of the slice have, followed by those elements of the slice more that the slice have does not contain. changed
// reports whether the result differs from have. Elements are compared by [Attribute.Key]. If both slices contain an element, the result has
// "primary" and, unless it is immutable, "display" from the slice more. Neither slice is modified.
func (a *Attribute) Union(have, more []any) (out []any, changed bool) {
	seen := make(map[string]int, len(have)+len(more))
	for i, e := range have {
		seen[a.Key(e)] = i
	}
	out = append(make([]any, 0, len(have)+len(more)), have...)
	for _, e := range more {
		key := a.Key(e)
		i, there := seen[key]
		if !there {
			seen[key] = len(out)
			out = append(out, e)
			changed = true
			continue
		}
		if merged := a.mergeLabels(out[i], e); merged != nil {
			out[i] = merged
			changed = true
		}
	}
	return out, changed
}

// mergeLabels returns old with "primary" and "display" of given, or nil if the result equals old.
func (a *Attribute) mergeLabels(old, given any) any {
	o, isObject := old.(*scim.Object)
	g, _ := given.(*scim.Object)
	if !isObject {
		return nil
	}
	var merged *scim.Object
	for _, sub := range a.SubAttributes {
		if !sub.isPrimary() && !scim.EqualName(sub.Name, "display") || sub.Mutability == Immutable {
			continue
		}
		v, ok := g.Get(sub.Name)
		if was, _ := o.Get(sub.Name); !ok || scim.Equal(was, v) {
			continue
		}
		if merged == nil {
			merged = o.Clone()
		}
		merged.Set(sub.Name, v)
	}
	if merged == nil {
		return nil
	}
	return merged
}

func (a *Attribute) isPrimary() bool {
	return a.Type == Boolean && scim.EqualName(a.Name, "primary")
}

func countPrimary(elements []any) int {
	n := 0
	for _, e := range elements {
		if o, ok := e.(*scim.Object); ok {
			if p, _ := o.Bool("primary"); p {
				n++
			}
		}
	}
	return n
}

func invalid(path scim.AttrPath, msg string) *scim.Error {
	return scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "%s %s", path, msg)
}

func spelledBool(s string) (value, ok bool) {
	switch {
	case scim.EqualName(s, "true"):
		return true, true
	case scim.EqualName(s, "false"):
		return false, true
	}
	return false, false
}

var errDateTime = errors.New("not an xsd:dateTime")

// ParseDateTime parses an xsd:dateTime (RFC 7643 section 2.3.5): date and time, a fraction of any length, and a time zone. A missing time
// zone, which XML Schema allows, means UTC.
func ParseDateTime(s string) (time.Time, error) {
	// time.Parse alone would accept a comma as decimal point and an hour of one digit.
	const shape = "0000-00-00T00:00:00"
	if len(s) < len(shape) || strings.IndexByte(s, ',') >= 0 {
		return time.Time{}, errDateTime
	}
	for i := range len(shape) {
		if digit := s[i] >= '0' && s[i] <= '9'; digit != (shape[i] == '0') || !digit && s[i] != shape[i] {
			return time.Time{}, errDateTime
		}
	}
	layout := time.RFC3339
	if !strings.ContainsAny(s[len(shape):], "Z+-") {
		layout = "2006-01-02T15:04:05"
	}
	t, err := time.Parse(layout, s)
	if err != nil {
		return time.Time{}, errDateTime
	}
	return t, nil
}

// isBase64 reports whether s is base64 as defined by RFC 4648 section 4; the padding may be missing (RFC 7643 section 2.3.6).
func isBase64(s string) bool {
	body := strings.TrimRight(s, "=")
	padding := len(s) - len(body)
	if padding > 0 && len(s)%4 != 0 || padding > 2 || len(body)%4 == 1 {
		return false
	}
	for i := range len(body) {
		c := body[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '+' && c != '/' {
			return false
		}
	}
	return true
}
