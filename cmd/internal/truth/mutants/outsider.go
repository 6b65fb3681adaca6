package mutants

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// The mutants of the files outsider_*.go were written from the requirements, without knowledge of the checks. The comment above a row names
// the broken requirement of conformance/requirements.

// outsider returns the mutants of the files outsider_*.go.
func outsider() []Mutant {
	return slices.Concat(
		outsiderConfig,
		outsiderTypes,
		outsiderSchemas,
		outsiderCursor,
		outsiderMessages,
		outsiderMedia,
		outsiderFilter,
		outsiderValuePaths,
		outsiderNames,
		outsiderPatch,
		outsiderDerived,
		outsiderValues,
		outsiderDelayed,
	)
}

var (
	readSchemas = either(listSchemas, readDiscovery("Schemas"))
	readTypes   = either(listTypes, readDiscovery("ResourceTypes"))
	anySearch   = either(searchUsers, searchGroups, searchAt("Devices"), searchRoot)
	// anyList matches GET requests that return lists of resources.
	anyList = either(listUsers, listGroups, listDevices, queryRoot)
)

// everyFilter returns a wrapper that changes the filter of every query, in the URL and in search messages.
func everyFilter(fn func(filter string) string) wrap {
	inURL := filtering(anyList, fn)
	inBody := before(anySearch, func(o *scim.Object) {
		if f := o.Text("filter"); f != "" {
			o.Set("filter", fn(f))
		}
	})
	return func(next http.Handler) http.Handler { return inURL(inBody(next)) }
}

// expressions returns a wrapper that applies fn to every expression of the filters of queries, but not to those in value filters.
func expressions(fn func(expr) expr) wrap {
	return everyFilter(func(f string) string { return rebuilt(f, fn) })
}

// valuePaths returns a wrapper that replaces the value paths in the filters of queries by the result of fn.
func valuePaths(fn func(bracketed) expr) wrap {
	return expressions(func(e expr) expr {
		if v, ok := e.(bracketed); ok {
			return fn(v)
		}
		return e
	})
}

// valueFilters returns a wrapper that applies fn to every expression in the value filters of queries.
func valueFilters(fn func(expr) expr) wrap {
	return valuePaths(func(v bracketed) expr {
		v.filter = rebuild(v.filter, fn)
		return v
	})
}

// rejectFilters returns a wrapper that rejects the queries with a filter that satisfies when.
func rejectFilters(when func(filter string) bool) wrap {
	rejected := either(
		func(r *http.Request) bool { return with(anyList, "filter")(r) && when(r.URL.Query().Get("filter")) },
		withJSON(anySearch, func(o *scim.Object) bool { return o.Text("filter") != "" && when(o.Text("filter")) }),
	)
	return instead(rejected, func(http.Handler, *http.Request) *reply { return invalidFilter() })
}

// unquoted returns the parts of a filter outside strings, joined by a space.
func unquoted(filter string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(filter); i++ {
		switch c := filter[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
			b.WriteByte(' ')
		case !quoted:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// insideBrackets returns the filter with the result of fn for the contents of each pair of brackets outside strings.
func insideBrackets(filter string, fn func(inner string) string) string {
	quoted, start := false, -1
	for i := 0; i < len(filter); i++ {
		switch c := filter[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[':
			start = i + 1
		case c == ']' && start >= 0:
			return filter[:start] + fn(filter[start:i]) + "]" + insideBrackets(filter[i+1:], fn)
		}
	}
	return filter
}

// words returns the words of a filter outside strings.
func words(filter string) []string {
	return strings.FieldsFunc(unquoted(filter), func(c rune) bool { return strings.ContainsRune(" ()[]", c) })
}

// isKeyword reports whether a word is an operator in any case.
func isKeyword(word string) bool {
	return slices.Contains([]string{"eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le", "pr", "and", "or", "not"}, strings.ToLower(word))
}

// withURN reports whether a word starts with a URN.
func withURN(word string) bool { return len(word) > 4 && strings.EqualFold(word[:4], "urn:") }

// exactURN reports whether a name has no URN of RFC 7643, or has it in the case of the RFC.
func exactURN(name string) bool {
	for _, urn := range []string{scim.UserSchema, scim.GroupSchema, scim.EnterpriseUserSchema} {
		if len(name) >= len(urn) && strings.EqualFold(name[:len(urn)], urn) {
			return strings.HasPrefix(name, urn)
		}
	}
	return true
}

// orFirst reads a filter without parentheses as if or had higher precedence than and.
func orFirst(filter string) string {
	left, right, ok := sides(filter, "and")
	if !ok || strings.ContainsAny(unquoted(filter), "()") {
		return filter
	}
	parts := "(" + right + ")"
	for ok {
		filter = left
		if left, right, ok = sides(filter, "and"); ok {
			parts = "(" + right + ") and " + parts
		}
	}
	return "(" + filter + ") and " + parts
}

// withoutGroups removes the parentheses of a filter that do not follow not.
func withoutGroups(filter string) string {
	e, ok := parseFilter(filter)
	if !ok || !strings.Contains(unquoted(filter), "(") {
		return filter
	}
	var flat func(e expr) string
	flat = func(e expr) string {
		switch t := e.(type) {
		case conjunction:
			return flat(t.x) + " and " + flat(t.y)
		case disjunction:
			return flat(t.x) + " or " + flat(t.y)
		}
		return e.String()
	}
	return flat(e)
}

// eachResource calls fn for a response: for the resource, or for every item of a list.
func eachResource(o *scim.Object, fn func(o *scim.Object)) {
	if _, isList := o.Get("Resources"); !isList {
		fn(o)
	}
	for _, item := range o.Array("Resources") {
		if resource, ok := item.(*scim.Object); ok {
			fn(resource)
		}
	}
}

// rewrite returns a wrapper that changes the JSON body of matching responses of any status.
func rewrite(m match, fn func(r *http.Request, rep *reply, o *scim.Object)) wrap {
	return after(m, func(r *http.Request, rep *reply) {
		if o := rep.object(); o != nil {
			fn(r, rep, o)
			rep.body = o.AppendJSON(nil)
		}
	})
}

// renameMember replaces a member of an object by one with another name, at the end.
func renameMember(o *scim.Object, from, to string) {
	if v, ok := o.Get(from); ok {
		o.Delete(from)
		o.Set(to, v)
	}
}

// mediaType returns a wrapper that sets the Content-Type of matching responses with a body.
func mediaType(m match, name string) wrap {
	return after(m, func(_ *http.Request, rep *reply) {
		if len(rep.body) > 0 {
			rep.header.Set("Content-Type", name)
		}
	})
}

// chain returns a wrapper that applies several wrappers.
func chain(wraps ...wrap) wrap {
	return func(next http.Handler) http.Handler {
		for _, w := range wraps {
			next = w(next)
		}
		return next
	}
}

// at returns the response to a GET of a path below the base of r.
func at(next http.Handler, r *http.Request, path string, q url.Values) *reply {
	base, _, _ := place(r)
	return serve(next, derivedRequest(r, http.MethodGet, base+path, q.Encode(), nil))
}
