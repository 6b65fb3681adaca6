package profiles

import (
	"slices"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// A dependence lists checks that test the result of one kind of request. sent reports whether a step of a client flow sends such a request.
type dependence struct {
	checks string // ids, separated by spaces
	sent   func(step) bool
}

// dependences determine which clients depend on a check: those with a step that sends the request of its row. To add a check, append its id
// to the row of its request; for a request without a row, add one.
var dependences = []dependence{
	{"auth.tls auth.wrong-token traffic.no-server-errors traffic.json traffic.no-redirects",
		func(step) bool { return true }},

	{"create.status create.keeps-attributes create.core-attributes create.multi-valued-attributes create.null-and-empty " +
		"create.member-order create.odd-user-name traffic.id",
		sends("POST", "/Users")},
	{"create.duplicate-user-name create.duplicate-other-case create.failed-creates-nothing",
		both(sends("POST", "/Users"), accepts(409))},
	{"create.external-id", both(sends("POST", "/Users"), carries("externalId"))},
	{"create.groups-ignored", both(sends("POST", "/Users"), carries("groups"))},
	{"create.ignores-meta", both(sends("POST", "/Users"), carries("meta"))},
	{"create.password-never-returned traffic.no-password traffic.no-secrets", either(carries("password"), patches("", "password"))},
	{"create.accepts-json-media-type",
		func(s step) bool { return strings.HasPrefix(s.Header.Get("Content-Type"), "application/json") }},

	{"read.by-id traffic.id-asked", sends("GET", "/Users/${")},
	{"discovery.schemas discovery.attribute-definitions discovery.user-schema", sends("GET", "/Schemas")},
	{"discovery.service-provider-config patch.advertised", sends("GET", "/ServiceProviderConfig")},

	{"filter.eq filter.no-match filter.total filter.sees-changes list.envelope list.empty traffic.counters",
		both(sends("GET", "/Users"), queries("filter", ""))},
	{"filter.case-insensitive-values", queries("filter", "${upper:")},
	{"filter.value-path-sub-attribute", queries("filter", "[")},
	{"groups.filter-display-name filter.group-name groups.find-ignores-case", both(sends("GET", "/Groups"), queries("filter", "displayName"))},

	{"list.envelope list.total list.count list.start-index list.start-index-beyond list.walk list.stable-order list.known-total " +
		"list.known-pages list.last-page list.items-whole list.items-typed list.distinct list.new-one traffic.counters",
		both(sends("GET", "/Users"), both(queries("startIndex", ""), unfiltered))},
	{"list.envelope list.items-typed traffic.counters", both(exactly("GET", "/Users"), unfiltered)},
	{"list.groups list.groups-envelope", both(exactly("GET", "/Groups"), unfiltered)},

	{"groups.exclude-members projection.excluded projection.list-excluded", queries("excludedAttributes", "")},

	{"put.replaces put.multi-valued put.ignores-read-only put.twice put.round-trip put.active put.omitted", sends("PUT", "/Users/")},
	{"put.external-id", both(sends("PUT", "/Users/"), carries("externalId"))},
	{"put.keeps-password", both(sends("PUT", "/Users/"), func(s step) bool { return s.Body["password"] == nil })},
	{"groups.put-members groups.put-rename", sends("PUT", "/Groups/")},

	{"patch.response patch.last-modified", sends("PATCH", "/Users/")},
	{"patch.deactivate patch.inactive-stays", patches("replace", "active")},
	{"patch.replace-no-path", both(sends("PATCH", "/Users/"), operation("replace", func(path string, _ any) bool { return path == "" }))},
	{"patch.password", patches("replace", "password")},
	{"patch.op-ignores-case", func(s step) bool {
		return slices.ContainsFunc(operations(s), func(o doc) bool { kind, _ := o["op"].(string); return kind != strings.ToLower(kind) })
	}},
	{"patch.order patch.again-and-again patch.many-attributes",
		both(sends("PATCH", "/Users/"), func(s step) bool { return len(operations(s)) > 1 })},
	{"patch.replace-simple patch.replace-unicode", patches("replace", "displayName")},
	{"patch.replace-sub-attribute", patches("replace", "name.")},
	{"patch.dotted-keys", inValue("name.")},
	{"patch.extension-keys create.enterprise-extension create.enterprise-attributes traffic.extensions-named",
		inValue(scim.EnterpriseUserSchema + ":")},
	{"patch.add-extension create.enterprise-extension create.enterprise-attributes traffic.extensions-named",
		patches("add", scim.EnterpriseUserSchema+":")},
	{"create.manager filter.manager", patches("add", scim.EnterpriseUserSchema+":manager")},
	{"patch.replace-value-path", patches("replace", "emails[")},
	{"patch.add-value-path-no-match", patches("add", "emails[")},

	{"groups.create", both(sends("POST", "/Groups"), carries("members"))},
	{"groups.create-empty", both(sends("POST", "/Groups"), func(s step) bool { return s.Body["members"] == nil })},
	{"groups.patch-add-member", both(sends("PATCH", "/Groups/"), patches("add", "members"))},
	{"groups.patch-remove-member", patches("remove", "members[")},
	{"groups.patch-add-remove", both(patches("remove", "members["), patches("add", "members"))},
	{"groups.patch-replace-members groups.patch-replace-empty groups.patch-same-members groups.patch-repeated-members",
		patches("replace", "members")},
	{"groups.patch-rename groups.patch-other-attribute",
		both(sends("PATCH", "/Groups/"), either(patches("replace", "displayName"), inValue("displayName")))},

	{"delete.status delete.gone delete.not-listed delete.not-searched delete.others-stay", sends("DELETE", "/Users/")},
	{"delete.unknown", both(sends("DELETE", "/Users/"), accepts(404))},
	{"delete.group-status groups.delete groups.gone", sends("DELETE", "/Groups/")},
}

// Dependents returns the profiles of the clients that depend on the requirement of a check: those that send the requests that it tests. The
// check of a step has one dependent, its own profile. The result is empty if no client is known to depend on the check.
func Dependents(c conformance.Check) []conformance.Profile {
	var out []conformance.Profile
	for _, p := range All() {
		if p.ID == c.Area() || Depends(p, c) {
			out = append(out, p)
		}
	}
	return out
}

// dependencesOf returns the rows of dependences that list a check, by its id. It splits the lists once, because a report needs the rows of
// every check.
var dependencesOf = sync.OnceValue(func() map[string][]dependence {
	rows := map[string][]dependence{}
	for _, d := range dependences {
		for _, id := range strings.Fields(d.checks) {
			rows[id] = append(rows[id], d)
		}
	}
	return rows
})

// Depends reports whether a client flow of the profile sends the requests that a check tests.
func Depends(p conformance.Profile, c conformance.Check) bool {
	for _, d := range dependencesOf()[c.ID] {
		for _, flow := range p.ClientFlows {
			if slices.ContainsFunc(flow.Steps, d.sent) {
				return true
			}
		}
	}
	return false
}

// Checks returns the checks on which at least one of the profiles depends, in their order. Their Watch ignores the endpoints to which no
// client of the profiles sends requests, such as the discovery endpoints that the run reads.
func Checks(all []conformance.Check, selected ...conformance.Profile) []conformance.Check {
	var out []conformance.Check
	endpoints := endpointsOf(selected)
	for _, c := range all {
		if !slices.ContainsFunc(selected, func(p conformance.Profile) bool { return Depends(p, c) }) {
			continue
		}
		if watch := c.Watch; watch != nil {
			c.Watch = func(x *conformance.ObservedExchange) {
				if endpoints[x.Collection()] {
					watch(x)
				}
			}
		}
		out = append(out, c)
	}
	return out
}

// endpointsOf returns the first segments of the paths to which the clients of the profiles send requests, such as "Users".
func endpointsOf(selected []conformance.Profile) map[string]bool {
	out := map[string]bool{}
	for _, p := range selected {
		for _, flow := range p.ClientFlows {
			for _, s := range flow.Steps {
				endpoint, _, _ := strings.Cut(strings.TrimPrefix(s.Path, "/"), "/")
				out[endpoint] = true
			}
		}
	}
	return out
}

func both(a, b func(step) bool) func(step) bool { return func(s step) bool { return a(s) && b(s) } }

func either(a, b func(step) bool) func(step) bool { return func(s step) bool { return a(s) || b(s) } }

// sends returns a condition: the step has the method, and its path starts with the prefix.
func sends(method, prefix string) func(step) bool {
	return func(s step) bool { return s.Method == method && strings.HasPrefix(s.Path, prefix) }
}

func exactly(method, path string) func(step) bool {
	return func(s step) bool { return s.Method == method && s.Path == path }
}

func accepts(status int) func(step) bool {
	return func(s step) bool { return slices.Contains(s.Status, status) }
}

// carries returns a condition: the step sends the attribute in the body of a POST or PUT. If the body is a stored resource (Step.Base),
// only the members that the client replaces count.
func carries(attribute string) func(step) bool {
	return func(s step) bool { _, has := s.Body[attribute]; return has }
}

// queries returns a condition: the step has a query parameter with the name whose value contains the text.
func queries(name, text string) func(step) bool {
	return func(s step) bool {
		for i := 0; i+1 < len(s.Query); i += 2 {
			if s.Query[i] == name && strings.Contains(s.Query[i+1], text) {
				return true
			}
		}
		return false
	}
}

func unfiltered(s step) bool { return !queries("filter", "")(s) }

// operations returns the operations of a PATCH.
func operations(s step) []doc {
	list, _ := s.Body["Operations"].([]doc)
	return list
}

// operation returns a condition: the step sends a PATCH in which one operation satisfies `is`. The op of this operation must be kind,
// unless kind is empty.
func operation(kind string, is func(path string, value any) bool) func(step) bool {
	return func(s step) bool {
		return slices.ContainsFunc(operations(s), func(o doc) bool {
			op, _ := o["op"].(string)
			path, _ := o["path"].(string)
			return (kind == "" || strings.EqualFold(op, kind)) && is(path, o["value"])
		})
	}
}

// patches returns a condition: the step sends a PATCH with an operation on the attribute, which is in the path of the operation or, without
// a path, in its value. An attribute that ends with ".", "[" or ":" is a prefix of the name, any other attribute is the whole name.
func patches(kind, attribute string) func(step) bool {
	return operation(kind, func(path string, value any) bool {
		return names(path, attribute) || path == "" && valueHas(value, attribute)
	})
}

// inValue returns a condition: the step sends a PATCH without a path whose value has the attribute as a member. See patches for attributes
// that are prefixes.
func inValue(attribute string) func(step) bool {
	return operation("", func(path string, value any) bool { return path == "" && valueHas(value, attribute) })
}

func valueHas(value any, attribute string) bool {
	members, _ := value.(doc)
	for name := range members {
		if names(name, attribute) {
			return true
		}
	}
	return false
}

func names(path, attribute string) bool {
	if strings.ContainsAny(attribute[len(attribute)-1:], ".[:") {
		return strings.HasPrefix(path, attribute)
	}
	return path == attribute
}
