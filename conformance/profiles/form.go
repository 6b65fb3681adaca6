package profiles

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// Sends reports whether a step of the profile has the form of a request: the method, the path except for ids, the names of the query
// parameters, the attribute and operator of the filter, and for a PATCH the form of each operation. The path is relative to the base URL.
// The body is nil if the request has none; only the body of a PATCH is compared.
func Sends(p conformance.Profile, method, path string, query url.Values, body *scim.Object) bool {
	var alike []step
	for _, flow := range p.ClientFlows {
		for _, s := range flow.Steps {
			if s.Method == method && samePath(s.Path, path) && sameQuery(s.Query, query) {
				alike = append(alike, s)
			}
		}
	}
	if method != "PATCH" || len(alike) == 0 {
		return len(alike) > 0
	}
	known := map[string]bool{}
	for _, s := range alike {
		for _, o := range operations(s) {
			kind, _ := o["op"].(string)
			at, _ := o["path"].(string)
			value, _ := o["value"].(doc)
			known[operationForm(kind, at, slices.Collect(maps.Keys(value)))] = true
		}
	}
	sent := body.Array("Operations")
	for _, item := range sent {
		o, ok := item.(*scim.Object)
		if !ok {
			return false
		}
		var members []string
		if value, _ := o.Get("value"); value != nil {
			if value, ok := value.(*scim.Object); ok {
				for name := range value.All() {
					members = append(members, name)
				}
			}
		}
		if !known[operationForm(o.Text("op"), o.Text("path"), members)] {
			return false
		}
	}
	return len(sent) > 0
}

// samePath compares a path with that of a step, whose segments with a placeholder match any segment.
func samePath(of, path string) bool {
	want, got := strings.Split(of, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(w, g string) bool { return w == g || strings.HasPrefix(w, "${") && g != "" })
}

func sameQuery(of []string, query url.Values) bool {
	names := 0
	for i := 0; i+1 < len(of); i += 2 {
		name, value := of[i], of[i+1]
		if !query.Has(name) || name == "filter" && withoutValues(value) != withoutValues(query.Get(name)) {
			return false
		}
		names++
	}
	return len(query) == names
}

// literal matches a string of a filter or a path.
var literal = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

func withoutValues(text string) string { return literal.ReplaceAllString(text, `""`) }

// operationForm returns what distinguishes operations of a PATCH: the operation, the path without values, and, without a path, the members
// of the value.
func operationForm(kind, path string, members []string) string {
	if path != "" {
		members = nil
	}
	slices.Sort(members)
	return strings.ToLower(kind) + " " + withoutValues(path) + " " + strings.Join(members, ",")
}
