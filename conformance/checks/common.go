package checks

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// Short names for what nearly every check uses.
type (
	check = conformance.Check
	doc   = conformance.Doc

	// T is what a check works with.
	T = conformance.T
)

const (
	must    = conformance.Must
	should  = conformance.Should
	interop = conformance.Interop
	may     = conformance.May
)

// omit leaves a default member of a user or group out.
var omit = conformance.Omit

// needs lists the needs of a check; writing to users comes with most of them.
func needs(n ...conformance.Need) []conformance.Need { return n }

var writesUsers = needs(conformance.NeedWrite, conformance.NeedUser)

func reqs(ids ...string) []string { return ids }

// dateTime is xsd:dateTime with date and time (RFC 7643 section 2.3.5).
var dateTime = regexp.MustCompile(`^-?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?$`)

// refused expects an error status and says whether it came. When the answer names a scimType it must be one of those that
// fit; leaving it out is permitted.
func refused(t *T, res *conformance.Response, status int, fitting ...string) bool {
	ok := t.Expect("status of "+res.Name, status, res.Status)
	if kind := res.ScimType(); ok && kind != "" && len(fitting) > 0 {
		t.Warn(slices.Contains(fitting, kind), "scimType of "+res.Name, strings.Join(fitting, " or "), kind)
	}
	return ok
}

// succeeded requires a 2xx answer to something that the check is about.
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

// value returns what a dotted path of member names leads to, nil when something on the way is absent. A step into an array
// is its index.
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

// has tells whether a member is there with a value that counts: null and [] are as good as absent (RFC 7643 section 2.5).
func has(o *scim.Object, name string) bool {
	v, ok := o.Get(name)
	if list, isList := v.([]any); isList {
		return len(list) > 0
	}
	return ok && v != nil
}

// values collects one sub-attribute of a multi-valued attribute, sorted; elements without it are left out.
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

// element returns the element of a multi-valued attribute whose sub-attribute has the given text, or nil.
func element(o *scim.Object, attribute, sub, text string) *scim.Object {
	for _, item := range o.Array(attribute) {
		if e, ok := item.(*scim.Object); ok && e.Text(sub) == text {
			return e
		}
	}
	return nil
}

// texts returns the texts of an array of texts.
func texts(o *scim.Object, name string) []string {
	list := o.Array(name)
	if list == nil {
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

// labels translates ids into the labels of the check's own objects, sorted; strangers are left out.
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

// quote writes a filter operand: a JSON text without characters that need more than a backslash.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
