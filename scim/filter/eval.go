package filter

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/internal/fold"
	"github.com/scimwright/scimwright/scim/schema"
)

// Eval reports whether the resource matches (RFC 7644 section 3.4.2.2).
//
//   - Strings are compared by the attribute's caseExact, dateTimes as points in time, numbers by value.
//   - A multi-valued attribute matches if any element does. Different elements may satisfy conditions joined by "and". One element must
//     satisfy all conditions of one value filter. A bare multi-valued complex attribute means its "value".
//   - pr is true for a value that is not null, "", [] or {}. In complex attributes any sub-attribute counts, in multi-valued attributes
//     any element.
//   - ne is "not eq": on multi-valued attributes no element may be equal, and unassigned attributes match. "eq null" is "not
//     pr", "ne null" is pr. (The RFC leaves these open.)
//   - Every comparison with an attribute that the type does not define, or that is never returned, is false, including pr, ne and "eq
//     null". "not" inverts it like any other comparison, so that "not (misspelled pr)" matches every resource.
//
// Call [Check] first: the result of a comparison that Check rejects is undefined.
func Eval(e Expr, r *scim.Resource, rt *schema.ResourceType) bool {
	matches, _ := NewMatcher(e, rt).Match(r)
	return matches
}

// EvalElement reports whether one element of the attribute (or the value of a single-valued attribute) matches a value filter. The paths of
// the filter name sub-attributes.
func EvalElement(e Expr, element any, a *schema.Attribute) bool {
	matches, _ := NewElementMatcher(e, a).Match(element)
	return matches
}

// elementAttribute returns the definition of a name in a value filter.
func elementAttribute(a *schema.Attribute, name string) *schema.Attribute {
	if a.Type != schema.Complex && scim.EqualName(name, "value") {
		return a
	}
	return a.SubAttribute(name)
}

// evalValues applies the operator to v, a stored value of the attribute a. If v is an object or an array of objects, sub is the
// sub-attribute to compare.
func evalValues(a, sub *schema.Attribute, op Op, operand, v any, work *int) bool {
	if a.Secret() {
		return false
	}
	switch {
	case op == Pr:
		return presentPart(v, sub, work)
	case operand == nil:
		return op == Eq && !presentPart(v, sub, work) || op == Ne && presentPart(v, sub, work)
	case op == Ne:
		// An operand of the wrong type must not select everything.
		return comparable(a, operand) && !anyElement(a, sub, Eq, operand, v, work)
	}
	return anyElement(a, sub, op, operand, v, work)
}

// assumed returns the value to compare for an attribute: false for an absent "primary" (RFC 7643 section 2.4), and v in all other cases.
func assumed(a *schema.Attribute, v any) any {
	if v == nil && a.Type == schema.Boolean && scim.EqualName(a.Name, "primary") {
		return false
	}
	return v
}

func anyElement(a, sub *schema.Attribute, op Op, operand, v any, work *int) bool {
	if list, ok := v.([]any); ok {
		for _, e := range list {
			e = assumed(a, part(e, sub))
			*work += cost(e)
			if compare(a, op, e, operand) {
				return true
			}
		}
		return false
	}
	v = part(v, sub)
	*work += cost(v)
	return compare(a, op, v, operand)
}

// costlyText is the length in bytes from which a string counts as several values.
const costlyText = 256

// cost returns the work of one comparison with a value: 1, or more for a long string.
func cost(v any) int {
	s, _ := v.(string)
	return 1 + len(s)/costlyText
}

func part(v any, sub *schema.Attribute) any {
	if o, ok := v.(*scim.Object); ok && sub != nil {
		v, _ = o.Get(sub.Name)
	}
	return v
}

func presentPart(v any, sub *schema.Attribute, work *int) bool {
	if list, ok := v.([]any); ok {
		for _, e := range list {
			*work++
			if present(part(e, sub)) {
				return true
			}
		}
		return false
	}
	*work++
	return present(part(v, sub))
}

func present(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case string:
		return v != ""
	case []any:
		for _, e := range v {
			if present(e) {
				return true
			}
		}
		return false
	case *scim.Object:
		for _, e := range v.All() {
			if present(e) {
				return true
			}
		}
		return false
	}
	return true
}

// compare applies an operator other than pr and ne to one stored value.
func compare(a *schema.Attribute, op Op, v, operand any) bool {
	switch op {
	case Eq:
		return equal(a, v, operand)
	case Co, Sw, Ew:
		s, ok := v.(string)
		t, alsoOK := operand.(string)
		if !ok || !alsoOK || a.Type != schema.String && a.Type != schema.Reference && a.Type != "" {
			return false
		}
		return op.Finds(prepared(a, s), prepared(a, t))
	}
	if a.Type == schema.Boolean || a.Type == schema.Binary {
		return false
	}
	order, ok := Order(a, v, operand)
	return ok && op.Holds(order)
}

func equal(a *schema.Attribute, v, operand any) bool {
	s, ok := v.(string)
	t, alsoOK := operand.(string)
	if ok && alsoOK && a.Type != schema.DateTime && a.Type != schema.Boolean {
		switch {
		case a.Type == schema.Binary:
			return strings.TrimRight(s, "=") == strings.TrimRight(t, "=")
		case a.Type == schema.Reference && !slices.Contains(a.ReferenceTypes, "external"):
			return sameResource(fold.Exact(withoutVersion(s)), fold.Exact(withoutVersion(t)))
		case a.CaseExact:
			return fold.Exact(s) == fold.Exact(t)
		}
		return fold.Equal(s, t)
	}
	order, ok := Order(a, v, operand)
	return ok && order == 0
}

// Order compares two values of an attribute: -1, 0 or +1. Strings are sorted by code points, folded unless the attribute is caseExact;
// dateTimes by time; numbers by value; false before true. ok is false if one of the values does not have the attribute's type.
func Order(a *schema.Attribute, x, y any) (order int, ok bool) {
	switch a.Type {
	case schema.Boolean:
		p, ok := boolean(x)
		q, alsoOK := boolean(y)
		switch {
		case p == q:
			order = 0
		case q:
			order = -1
		default:
			order = 1
		}
		return order, ok && alsoOK
	case schema.Integer, schema.Decimal:
		p, ok := x.(json.Number)
		q, alsoOK := y.(json.Number)
		if !ok || !alsoOK {
			return 0, false
		}
		return scim.CompareNumbers(p, q), true
	case schema.Complex:
		return 0, false
	}
	s, ok := x.(string)
	t, alsoOK := y.(string)
	if !ok || !alsoOK {
		return 0, false
	}
	if a.Type == schema.DateTime {
		p, err := schema.ParseDateTime(s)
		q, alsoErr := schema.ParseDateTime(t)
		return p.Compare(q), err == nil && alsoErr == nil
	}
	s, t = prepared(a, s), prepared(a, t)
	return cmp.Compare(s, t), true
}

// boolean reads true and false, also as strings, ignoring case: clients send primary eq "True".
func boolean(v any) (value, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case string:
		if scim.EqualName(v, "true") {
			return true, true
		}
		return false, scim.EqualName(v, "false")
	}
	return false, false
}

// sameResource reports whether two URIs name the same resource. A relative URI is relative to the base of the service (RFC 7643 section
// 2.3.7), so it is the end of an absolute one.
func sameResource(s, t string) bool {
	switch relative := [2]bool{!strings.Contains(s, "://"), !strings.Contains(t, "://")}; {
	case relative[0] && !relative[1]:
		return s != "" && strings.HasSuffix(t, "/"+strings.TrimPrefix(s, "/"))
	case relative[1] && !relative[0]:
		return sameResource(t, s)
	}
	return strings.TrimPrefix(s, "/") == strings.TrimPrefix(t, "/")
}

// withoutVersion removes the protocol version before the endpoint from the URI of a resource. URIs with different versions or without a
// version name the same resource (RFC 7643 section 2.4).
func withoutVersion(uri string) string {
	segments := strings.Split(uri, "/")
	i := len(segments) - 3
	if i < 0 || len(segments[i]) < 2 || segments[i][0] != 'v' || strings.Trim(segments[i][1:], "0123456789") != "" {
		return uri
	}
	return strings.Join(slices.Delete(segments, i, i+1), "/")
}

// prepared returns the form of a string that comparisons of the attribute use (RFC 7644 section 7.8).
func prepared(a *schema.Attribute, s string) string {
	if a.CaseExact {
		return fold.Exact(s)
	}
	return fold.String(s)
}

// FoldVersion increases whenever [Fold] or [Exact] returns a different result for any string. A caller that stores their results, such as
// the values of an index, stores this number with them and computes them again when it changes.
const FoldVersion = fold.Version

// Fold maps equivalent strings to the same string: strings that differ only in case, in the width of letters or in the composition of
// accents. All comparisons of attributes that are not caseExact use it. It follows the rules of RFC 8265 for user names, to which RFC 7644
// section 5 refers.
func Fold(s string) string { return fold.String(s) }

// Exact maps strings that differ only in the composition of accents to the same string (Unicode normalization form C). All comparisons of
// caseExact attributes use it.
func Exact(s string) string { return fold.Exact(s) }
