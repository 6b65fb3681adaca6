package checks

import (
	"iter"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// Short names for identifiers that nearly every check uses.
type (
	check = conformance.Check
	doc   = conformance.Doc

	// T sends the requests of a check and records its findings.
	T = conformance.T
)

const (
	must    = conformance.Must
	should  = conformance.Should
	interop = conformance.Interop
	may     = conformance.May
)

// omit removes a default member of a user or group.
var omit = conformance.Omit

// needs returns the needs of a check as a slice.
func needs(n ...conformance.Need) []conformance.Need { return n }

var writesUsers = needs(conformance.NeedWrite, conformance.NeedUser)

func reqs(ids ...string) []string { return ids }

// dateTime matches an xsd:dateTime, which has a date and a time (RFC 7643 section 2.3.5).
var dateTime = regexp.MustCompile(`^-?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?$`)

// expectError expects that a response has the given error status, and reports whether it has. If the response has a scimType that is not
// among fitting, expectError records a warning. An absent scimType is permitted, and without fitting, any scimType is.
func expectError(t *T, res *conformance.Response, status int, fitting ...string) bool {
	ok := t.Expect("status of "+res.Name, status, res.Status)
	if kind := res.ScimType(); ok && kind != "" && len(fitting) > 0 {
		t.Warn(slices.Contains(fitting, kind), "scimType of the rejection of "+res.Name, strings.Join(fitting, " or "), kind)
	}
	return ok
}

// afterRejection returns the end of a statement about the state after requests that the target has to reject: "after the rejected PATCH".
// If the target did not reject one of them, it returns the status of that request: "after the PATCH that returned 200".
func afterRejection(method string, responses ...*conformance.Response) string {
	for _, res := range responses {
		if res.Status < 400 || res.Status >= 500 {
			return "after the " + method + " that returned " + strconv.Itoa(res.Status)
		}
	}
	return "after the rejected " + method
}

// succeeded requires that the response has one of the wanted statuses.
func succeeded(t *T, res *conformance.Response, wants ...int) {
	t.Must(slices.Contains(wants, res.Status), "status of "+res.Name, wording(wants), res.Status)
}

func wording(statuses []int) string {
	words := make([]string, len(statuses))
	for i, s := range statuses {
		words[i] = strconv.Itoa(s)
	}
	return strings.Join(words, " or ")
}

// value returns the value at a dotted path of member names, such as "name.givenName". An array element is addressed by its index, as in
// "emails.0.value". If a member or an element of the path is absent, value returns nil.
func value(o *scim.Object, path string) any {
	var at any = o
	for step := range strings.SplitSeq(path, ".") {
		switch v := at.(type) {
		case *scim.Object:
			at, _ = v.Get(step)
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}

// has reports whether a member is present with a value: null and [] count as absent (RFC 7643 section 2.5).
func has(o *scim.Object, name string) bool {
	v, ok := o.Get(name)
	if list, isList := v.([]any); isList {
		return len(list) > 0
	}
	return ok && v != nil
}

// values returns one sub-attribute of all elements of a multi-valued attribute, sorted; elements without the sub-attribute
// are omitted.
func values(o *scim.Object, attribute, sub string) []string {
	out := []string{}
	for _, item := range o.Array(attribute) {
		if element, ok := item.(*scim.Object); ok && has(element, sub) {
			out = append(out, element.Text(sub))
		}
	}
	slices.Sort(out)
	return out
}

// element returns the element of a multi-valued attribute whose sub-attribute has the given value, or nil.
func element(o *scim.Object, attribute, sub, text string) *scim.Object {
	for _, item := range o.Array(attribute) {
		if e, ok := item.(*scim.Object); ok && e.Text(sub) == text {
			return e
		}
	}
	return nil
}

// texts returns the strings in an array, and nil if the member is absent or not an array.
func texts(o *scim.Object, name string) []string {
	v, _ := o.Get(name)
	list, isArray := v.([]any)
	if !isArray {
		return nil
	}
	out := []string{}
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// sorted returns the words in order, never nil, for comparing sets.
func sorted(words ...string) []string {
	out := append([]string{}, words...)
	slices.Sort(out)
	return out
}

// byName returns the entries of a map in the order of their keys, so that the requests and the findings of all runs have the same order.
func byName[M ~map[string]V, V any](m M) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}

// labels returns the labels of the objects that have the given ids, sorted. Ids of other objects are omitted; an id that occurs twice
// yields its label twice.
func labels(objects map[string]*conformance.Created, ids []string) []string {
	out := []string{}
	for label, o := range objects {
		for _, id := range ids {
			if id == o.ID {
				out = append(out, label)
			}
		}
	}
	slices.Sort(out)
	return out
}

// supportsPatch reports whether the target does not declare PATCH as not supported.
func supportsPatch(t *T) bool {
	supported, known := t.Capabilities.Supports("patch")
	return supported || !known
}

// quote returns a filter operand: a JSON string. It escapes only backslashes and quotation marks.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
