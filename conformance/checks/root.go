package checks

import (
	"context"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// usersAndGroup is a fixture of two users and a group whose displayNames have the same prefix, for queries over all types.
var usersAndGroup = &conformance.Fixture{
	Name:     "mixture",
	Requests: 6,
	Build: func(ctx context.Context, t *T) map[string]*conformance.Created {
		return buildUsersAndGroup(ctx, t, "a-kim", "c-lee", "b-all")
	},
	Equal: &conformance.Fixture{
		Name:     "blend",
		Requests: 6,
		Build: func(ctx context.Context, t *T) map[string]*conformance.Created {
			return buildUsersAndGroup(ctx, t, "same", "same", "same")
		},
	},
}

// buildUsersAndGroup builds the fixture usersAndGroup. The displayNames of the users kim and lee and of the group all end with the given
// strings.
func buildUsersAndGroup(ctx context.Context, t *T, kim, lee, all string) map[string]*conformance.Created {
	named := func(name string) doc { return doc{"displayName": t.Prefix() + name} }
	return map[string]*conformance.Created{
		"kim": t.CreateUser(ctx, "kim", named(kim)),
		"lee": t.CreateUser(ctx, "lee", named(lee)),
		"all": t.CreateGroup(ctx, all, nil),
	}
}

var roots = needs(conformance.NeedUser, conformance.NeedGroup, conformance.NeedWrite, conformance.NeedFilter, conformance.NeedIndex)

const rootFix = "Apply a query on the base URL to every resource type; treat an attribute that a type does not define as absent."

// rootFilter returns a check that a filter on the base URL finds exactly the expected resources of usersAndGroup.
func rootFilter(id, title, requirement, why string, table ...row) check {
	return check{
		ID:           "root." + id,
		Title:        title,
		Requirements: reqs(requirement, "RFC7644-3.4.2.1-04"),
		Level:        must,
		Needs:        roots,
		Fixture:      usersAndGroup,
		Requests:     len(table),
		Why:          why,
		Fix:          rootFix,
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(!fixtureStored(t, "displayName"), "the target does not store displayName as sent")
			answered := false
			for _, r := range table {
				if t.RejectsPrefixes() && r.filter != usersAndGroupFilter && !singleEq.MatchString(r.filter) {
					t.Note("not sent, because the target rejects the operator sw: %s", r.filter)
					continue
				}
				answered = true
				res := rootQuery(ctx, t, r.filter)
				t.Expect("resources found by "+r.filter, sorted(strings.Fields(r.want)...), labels(t.Fixture, res.IDs()))
			}
			t.SkipIf(!answered, skipUnsupported)
		},
	}
}

// usersAndGroupFilter matches all objects of the fixture usersAndGroup.
const usersAndGroupFilter = `displayName sw "«P»"`

const (
	mixed        = `displayName sw "«P»" and `
	allTypes     = "RFC7644-3.4.2.1-01"
	byType       = "RFC7644-3.4.2.1-02"
	withoutValue = "RFC7644-3.4.2.1-05"
)

var rootQueries = []check{
	rootFilter("types", "A query on the base URL finds users and groups", allTypes,
		"Clients that read all resources in one query miss users or groups if one type is omitted.",
		row{`displayName sw "«P»"`, "all kim lee"}),
	rootFilter("ids", "A query on the base URL finds resources of any type by id", allTypes,
		"Members of a group can be users or groups; a client that does not find a member by its id treats the member as deleted.",
		row{`id eq "«kim»" or id eq "«all»"`, "all kim"}, row{`id eq "«all»"`, "all"}),
	rootFilter("user-type", "A filter on meta.resourceType restricts a query on the base URL to users", byType,
		"If the server ignores this condition, clients that request users get groups too, and parse them as users.",
		row{mixed + `meta.resourceType eq "User"`, "kim lee"}),
	rootFilter("group-type", "A filter on meta.resourceType restricts a query on the base URL to groups", byType,
		"If the server ignores this condition, clients that request groups get users too, and parse them as groups.",
		row{mixed + `meta.resourceType eq "Group"`, "all"}),
	rootFilter("either-type", "A filter on meta.resourceType can restrict a query on the base URL to several types", byType,
		"If the server applies only one of the conditions on meta.resourceType, clients miss users or groups.",
		row{mixed + `(meta.resourceType eq "User" or meta.resourceType eq "Group")`, "all kim lee"},
		row{mixed + `meta.resourceType eq "User" and meta.resourceType eq "Group"`, ""}),
	rootFilter("present", "In a query on the base URL, the operator pr matches no resource of a type that does not define the "+
		"attribute", withoutValue,
		"If groups match too, a client that selects users by userName parses groups as users.",
		row{mixed + `userName pr`, "kim lee"}),
	rootFilter("equal", "In a query on the base URL, the operator eq matches no resource of a type that does not define the "+
		"attribute", withoutValue,
		"If groups cause an error or match, a client does not find its user and creates a duplicate.",
		row{`userName eq "«P»kim@example.com"`, "kim"}, row{mixed + `(userName eq "«P»lee@example.com" or id eq "«all»")`, "all lee"}),
	rootFilter("urn", "In a query on the base URL, a condition on an attribute with the URN of the User schema matches only "+
		"users", withoutValue,
		"Users and groups both have displayName; without the URN, a client that selects users by their displayName gets groups too.",
		row{mixed + `urn:ietf:params:scim:schemas:core:2.0:User:displayName pr`, "kim lee"},
		row{`urn:ietf:params:scim:schemas:core:2.0:User:displayName sw "«P»"`, "kim lee"}),
	rootFilter("absent", "In a query on the base URL, not (userName pr) matches all resources of the types that do not define "+
		"userName", withoutValue,
		"Groups have no userName; if not (userName pr) does not match them, clients that search for resources without a userName do not "+
			"find groups.",
		row{mixed + `not (userName pr)`, "all"}),
	rootFilter("no-match", "A query on the base URL without a match returns no resource", allTypes,
		"If the server ignores a filter that no resource satisfies, the client gets all resources.",
		row{`displayName eq "«P»nobody"`, ""}, row{mixed + `scimconfNoSuchAttribute eq "x"`, ""}),
	{
		ID:           "root.items",
		Title:        "Each item of a query on the base URL has the schemas and meta.resourceType of its type",
		Requirements: reqs("RFC7644-3.4.2-09", "RFC7643-3.3-01", "RFC7643-3.1-20"),
		Level:        must,
		Needs:        roots,
		Fixture:      usersAndGroup,
		Requests:     1,
		Why:          "Clients distinguish users from groups only by these attributes; without them, they parse an item as the wrong type.",
		Fix:          "Set schemas and meta.resourceType of each item as in the response to a GET of the item.",
		Run:          rootItems,
	},
	{
		ID:           "root.pages",
		Title:        "A query on the base URL can be paged, and totalResults counts all types",
		Requirements: reqs("RFC7644-3.4.2.4-10", allTypes),
		Level:        must,
		Needs:        roots,
		Fixture:      usersAndGroup,
		Requests:     3,
		Why:          "If each type is paged separately, clients miss users or groups, or get them twice.",
		Fix:          "Count and page over all types together.",
		Run:          rootPages,
	},
	{
		ID:           "root.attributes",
		Title:        "attributes= applies to a query on the base URL",
		Requirements: reqs("RFC7644-3.9-01", "RFC7644-3.9-02"),
		Level:        must,
		Needs:        roots,
		Fixture:      usersAndGroup,
		Requests:     1,
		Why:          "Queries over all types have large results; if attributes= is ignored, clients get slow or too large responses.",
		Fix:          "Apply attributes and excludedAttributes to every item.",
		Run:          rootAttributes,
	},
	{
		ID:           "root.invalid-filter",
		Title:        "An invalid filter on the base URL is rejected with 400 invalidFilter",
		Requirements: reqs("RFC7644-3.4.2.2-40", "RFC7644-3.4.2.1-04"),
		Level:        must,
		Needs:        roots,
		Fixture:      usersAndGroup,
		Requests:     2,
		Why:          "A server that ignores an invalid filter returns all resources.",
		Fix:          "Parse filters on the base URL in the same way as all others.",
		Run: func(ctx context.Context, t *T) {
			rootQuery(ctx, t, usersAndGroupFilter)
			expectError(t, t.Get(ctx, "/", "filter", `displayName eq`), 400, "invalidFilter")
		},
	},
	{
		ID:           "root.sort",
		Title:        "A query on the base URL can be sorted over all types",
		Requirements: reqs("RFC7644-3.4.2.3-02", allTypes),
		Level:        must,
		Needs:        append(slices.Clone(roots), conformance.NeedSort),
		Fixture:      usersAndGroup,
		Requests:     1,
		Why:          "If each type is sorted separately, a client that reads the first pages gets the wrong resources.",
		Fix:          "Sort the resources of all types together, before paging.",
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(!fixtureStored(t, "displayName"), "the target does not store displayName as sent")
			t.SkipIf(t.RejectsPrefixes(), "the target rejects the operator sw, which selects resources with different names")
			res := rootQuery(ctx, t, usersAndGroupFilter, "sortBy", "displayName")
			t.SkipIf(len(res.IDs()) < 3, "the target returns smaller pages")
			t.Expect("order by displayName", []string{"kim", "all", "lee"}, inOrder(t, res.IDs()))
		},
	},
	{
		ID:           "root.search",
		Title:        "POST on /.search returns the same resources as GET on the base URL",
		Requirements: reqs("RFC7644-3.4.3-08", "RFC7644-3.4.3-07"),
		Level:        must,
		Needs:        roots,
		Fixture:      usersAndGroup,
		Requests:     2,
		Why:          "Clients that must keep personal data out of URLs search by POST; a different result gives them wrong resources.",
		Fix:          "Serve POST on /.search below the base URL, over all types.",
		Run: func(ctx context.Context, t *T) {
			get := rootQuery(ctx, t, usersAndGroupFilter)
			res := searched(ctx, t, "", doc{"filter": rootFilterText(t, usersAndGroupFilter)})
			sameItems(t, "found by POST /.search, compared with GET /", get.IDs(), res.IDs())
			t.Expect("totalResults of POST /.search, compared with GET /", value(get.Object(), "totalResults"), value(res.Object(), "totalResults"))
		},
	},
	{
		ID:           "root.search-type",
		Title:        "POST on /.search applies a filter on meta.resourceType, and count limits a page over all types",
		Requirements: reqs("RFC7644-3.4.3-08", byType),
		Level:        must,
		Needs:        roots,
		Fixture:      usersAndGroup,
		Requests:     2,
		Why:          "If the server ignores parameters of a search, clients get resources of the wrong type or miss some.",
		Fix:          rootFix,
		Run:          rootSearchType,
	},
}

func rootItems(ctx context.Context, t *T) {
	filter := `id eq "«kim»" or id eq "«all»"`
	if t.RejectsPrefixes() { // without sw, the target may also reject a filter with the operator or
		filter = usersAndGroupFilter
	}
	res := rootQuery(ctx, t, filter)
	t.SkipIf(len(res.Resources()) < 2, "blocked: the query does not find the two resources")
	for _, o := range res.Resources() {
		kind, schema := "User", scim.UserSchema
		if o.Text("id") == t.Fixture["all"].ID {
			kind, schema = "Group", scim.GroupSchema
		}
		t.Holds(slices.Contains(texts(o, "schemas"), schema), "schemas of the "+kind, schema, value(o, "schemas"))
		if name := t.Capabilities.ResourceType(schema).Text("name"); name == kind && has(o, "meta") {
			t.Expect("meta.resourceType of the "+kind, kind, value(o, "meta.resourceType"))
		}
	}
}

func rootPages(ctx context.Context, t *T) {
	var ids []string
	for _, index := range []string{"1", "2", "3"} {
		res := rootQuery(ctx, t, usersAndGroupFilter, "startIndex", index, "count", "1")
		t.Expect("totalResults with count=1", 3, value(res.Object(), "totalResults"))
		t.Holds(len(res.IDs()) <= 1, "number of items with count=1", "at most 1", len(res.IDs()))
		ids = append(ids, res.IDs()...)
	}
	skipUnstable(t)
	t.Expect("resources on three pages of one", []string{"all", "kim", "lee"}, labels(t.Fixture, ids))
}

func rootAttributes(ctx context.Context, t *T) {
	res := rootQuery(ctx, t, usersAndGroupFilter, "attributes", "displayName")
	t.SkipIf(len(res.Resources()) == 0, "blocked: the query finds nothing")
	for _, o := range res.Resources() {
		t.Holds(has(o, "displayName") && has(o, "id"), "an item with attributes=displayName", "id and displayName", o)
		t.Holds(!has(o, "userName") && !has(o, "emails") && !has(o, "name"), "an item with attributes=displayName",
			"neither userName nor emails nor name", o)
	}
}

func rootSearchType(ctx context.Context, t *T) {
	filter := rootFilterText(t, usersAndGroupFilter)
	if !t.RejectsPrefixes() { // without sw, the target may also reject a filter with the operator and
		res := searched(ctx, t, "", doc{"filter": filter + ` and meta.resourceType eq "Group"`})
		t.Expect("resources found", []string{"all"}, labels(t.Fixture, res.IDs()))
	}
	res := searched(ctx, t, "", doc{"filter": filter, "count": 1})
	t.Holds(len(res.IDs()) <= 1, "number of items with count 1", "at most 1", len(res.IDs()))
	t.Expect("totalResults with count 1", 3, value(res.Object(), "totalResults"))
}

// rootQuery sends a filter and other parameters to the root of the target. It skips the check if the response is not a list, because
// the support of queries on the base URL is optional.
func rootQuery(ctx context.Context, t *T, filter string, query ...string) *conformance.Response {
	filter = rootFilterText(t, filter)
	res := t.Get(ctx, "/", append([]string{"filter", filter}, query...)...)
	if res.Status == 400 && supportsOnUsers(ctx, t, filter) {
		t.About(res)
		t.Must(false, "status of a query on the base URL with the filter "+filter, "200, as for the same filter on /Users", res.Status)
	}
	t.SkipIf(res.Status != 200 || res.Total() < 0, "the target does not support queries on its base URL")
	return res
}

// rootFilterText replaces the placeholders in a filter on the base URL. If all objects of the fixture have the same displayName, the filter
// usersAndGroupFilter selects them by eq.
func rootFilterText(t *T, filter string) string {
	kim := t.Fixture["kim"]
	name, _ := kim.Sent["displayName"].(string)
	if filter == usersAndGroupFilter && name == t.Fixture["lee"].Sent["displayName"] {
		return "displayName eq " + quote(name)
	}
	userName, _ := kim.Sent["userName"].(string)
	return strings.NewReplacer("«P»", strings.TrimSuffix(userName, inDomain(t, "kim")), "@"+tableDomain, inDomain(t, ""),
		"«kim»", kim.ID, "«all»", t.Fixture["all"].ID).Replace(filter)
}

// supportsOnUsers reports whether the target supports queries on its base URL, and returns 200 for the filter on /Users. If the base URL
// rejects such a filter, it violates RFC 7644 section 3.4.2.1.
func supportsOnUsers(ctx context.Context, t *T, filter string) bool {
	if res := t.Get(ctx, "/", "filter", "id eq "+quote(t.Fixture["all"].ID)); res.Status != 200 || len(res.IDs()) != 1 {
		return false
	}
	return t.Get(ctx, "/Users", "filter", filter).Status == 200
}
