package mutants

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// Limited returns the servers that lack optional features, or reject objects that other servers accept. A test bounds the number of checks
// that they skip. [Variants] contains all of these servers except the last one: a check of the area groups complains about a server that
// creates no group with members.
func Limited() []Variant {
	return append(slices.Clone(limitedVariants), Variant{"members-create-rejected",
		"a create of a group with members is rejected, a PUT and a PATCH are accepted",
		refuse(createGroup, func(o *scim.Object) bool { return len(o.Array("members")) > 0 }, invalidValue)})
}

// limitedVariants are servers that lack optional features (RFC 7644 sections 3.4.2.2 and 3.5.2, RFC 7643 section 6), or reject some new
// users and groups.
var limitedVariants = []Variant{
	{"filter-eq-only", "every filter except attribute eq \"value\" is rejected with 400 invalidFilter",
		onlyFilters(equality.MatchString, invalidFilter)},
	{"no-filter", "filters are not supported: every filter is rejected with 501", layered(
		onlyFilters(func(string) bool { return false }, notImplemented), featureOff("filter"))},
	{"no-groups", "groups are not supported: /Groups returns 404, and discovery does not list them", servingNoGroups},
	{"no-patch", "PATCH is not supported: every PATCH is rejected with 501", layered(
		instead(func(r *http.Request) bool { return r.Method == http.MethodPatch },
			func(http.Handler, *http.Request) *reply { return notImplemented() }),
		featureOff("patch"))},
	{"inactive-create-rejected", "a create of a user with active false is rejected, a PUT and a PATCH are accepted",
		refuse(createUser, func(o *scim.Object) bool { active, known := o.Bool("active"); return known && !active }, invalidValue)},
	{"second-email-rejected", "a create of a user with several email addresses is rejected",
		refuse(createUser, func(o *scim.Object) bool { return len(o.Array("emails")) > 1 }, invalidValue)},
	{"emails-create-rejected", "a create of a user with emails is rejected",
		refuse(createUser, func(o *scim.Object) bool { return sets(o, "emails") }, invalidValue)},
	{"nested-groups-rejected", "a group as a member of a group is rejected", withoutNestedGroups},
}

// equality matches a filter that compares one attribute with a string.
var equality = regexp.MustCompile(`(?i)^\s*[A-Za-z][\w.:$-]*\s+eq\s+"(\\.|[^"\\])*"\s*$`)

func notImplemented() *reply { return failure(http.StatusNotImplemented, "") }

func invalidValue() *reply { return failure(http.StatusBadRequest, scim.InvalidValue) }

// onlyFilters returns a wrapper that rejects filters in queries and searches, except those that satisfy cond.
func onlyFilters(cond func(filter string) bool, rejection func() *reply) wrap {
	resources := func(r *http.Request) bool {
		_, collection, _ := place(r)
		return slices.Contains([]string{"Users", "Groups", "Devices", "Me", ""}, collection)
	}
	isQuery := func(r *http.Request) bool { return r.Method == http.MethodGet && resources(r) }
	isSearch := func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/.search")
	}
	return layered(
		instead(with(isQuery, "filter"), func(next http.Handler, r *http.Request) *reply {
			if !cond(r.URL.Query().Get("filter")) {
				return rejection()
			}
			return serve(next, r)
		}),
		refuse(isSearch, func(o *scim.Object) bool { f := o.Text("filter"); return f != "" && !cond(f) }, rejection))
}

// featureOff returns a wrapper that declares a feature as not supported.
func featureOff(feature string) wrap {
	return afterBody(config, func(o *scim.Object) { complexOf(o, feature).Set("supported", false) })
}

// servingNoGroups returns next without groups. A bulk request with an operation on a group is rejected as a whole.
func servingNoGroups(next http.Handler) http.Handler {
	isGroup := func(o *scim.Object) bool {
		return scim.EqualName(o.Text("id"), scim.GroupSchema) || o.Text("id") == "Group"
	}
	without := func(_ *http.Request, o *scim.Object) bool { return !isGroup(o) }
	absent := func(http.Handler, *http.Request) *reply { return failure(http.StatusNotFound, "") }
	return layered(
		keep(either(listTypes, listSchemas), without),
		afterBody(either(listTypes, listSchemas), func(o *scim.Object) { o.Set("itemsPerPage", len(o.Array("Resources"))) }),
		instead(func(r *http.Request) bool {
			_, collection, id := place(r)
			return collection == "Groups" || collection == "ResourceTypes" && id == "Group" || collection == "Schemas" && id == scim.GroupSchema
		}, absent),
		refuse(on("POST", "Bulk", false), anyOp(func(op *scim.Object) bool { return strings.HasPrefix(op.Text("path"), "/Groups") }),
			func() *reply { return failure(http.StatusBadRequest, scim.InvalidPath) }))(next)
}

// withoutNestedGroups returns next with a rejection of groups as members.
func withoutNestedGroups(next http.Handler) http.Handler {
	isGroup := func(r *http.Request, item any) bool {
		member, ok := item.(*scim.Object)
		if !ok || member.Text("value") == "" {
			return false
		}
		base, _, _ := place(r)
		return serve(next, derivedRequest(r, http.MethodGet, base+"/Groups/"+member.Text("value"), "", nil)).ok()
	}
	return instead(either(createGroup, putGroup, patchGroup), func(next http.Handler, r *http.Request) *reply {
		o, err := scim.Decode(readBody(r))
		if err != nil {
			return serve(next, r)
		}
		members := o.Array("members")
		for _, item := range o.Array("Operations") {
			operation, _ := item.(*scim.Object)
			members = append(append(members, operation.Array("value")...), operation.Complex("value").Array("members")...)
		}
		if slices.ContainsFunc(members, func(item any) bool { return isGroup(r, item) }) {
			return invalidValue()
		}
		return serve(next, r)
	})(next)
}
