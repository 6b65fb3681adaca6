package checks

import (
	"context"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// mixture is two users and a group whose displayNames begin alike, for queries over all types.
var mixture = &conformance.Fixture{
	Name:     "mixture",
	Requests: 6,
	Build: func(ctx context.Context, t *T) map[string]*conformance.Created {
		named := func(name string) doc { return doc{"displayName": t.Prefix() + name} }
		return map[string]*conformance.Created{
			"kim": t.CreateUser(ctx, "kim", named("a-kim")),
			"lee": t.CreateUser(ctx, "lee", named("c-lee")),
			"all": t.CreateGroup(ctx, "b-all", nil),
		}
	},
}

var roots = needs(conformance.NeedUser, conformance.NeedGroup, conformance.NeedWrite, conformance.NeedFilter, conformance.NeedIndex)

const rootFix = "Run a query on the root over every resource type; an attribute that a type does not have counts as having no value."

// overall makes a check that a filter on the root finds exactly some of the mixture.
func overall(id, title, requirement, why string, table ...row) check {
	return check{
		ID:           "root." + id,
		Title:        title,
		Requirements: reqs(requirement, "RFC7644-3.4.2.1-04"),
		Level:        must,
		Needs:        roots,
		Fixture:      mixture,
		Requests:     len(table),
		Why:          why,
		Fix:          rootFix,
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(!kept(t, "displayName"), "the target does not keep displayName as it was sent")
			for _, r := range table {
				res := rootQuery(ctx, t, r.filter)
				t.Expect("resources found by "+r.filter, sorted(strings.Fields(r.want)...), labels(t.Fixture, res.IDs()))
			}
		},
	}
}

const (
	mixed        = `displayName sw "«P»" and `
	covers       = "RFC7644-3.4.2.1-01"
	byType       = "RFC7644-3.4.2.1-02"
	withoutValue = "RFC7644-3.4.2.1-05"
)

var rootQueries = []check{
	overall("types", "A query on the root finds users and groups", covers, "It is how a client reads everything at once.",
		row{`displayName sw "«P»"`, "all kim lee"}),
	overall("ids", "A query on the root finds resources of any type by id", covers, "Ids are unique over all types; members may be either.",
		row{`id eq "«kim»" or id eq "«all»"`, "all kim"}, row{`id eq "«all»"`, "all"}),
	overall("user-type", "A filter on meta.resourceType narrows a query on the root to users", byType,
		"The filter is what makes such a query manageable.",
		row{mixed + `meta.resourceType eq "User"`, "kim lee"}),
	overall("group-type", "A filter on meta.resourceType narrows a query on the root to groups", byType,
		"The filter is what makes such a query manageable.",
		row{mixed + `meta.resourceType eq "Group"`, "all"}),
	overall("either-type", "Several types may be named in a query on the root", byType, "The example of RFC 7644 asks for users and groups.",
		row{mixed + `(meta.resourceType eq "User" or meta.resourceType eq "Group")`, "all kim lee"},
		row{mixed + `meta.resourceType eq "User" and meta.resourceType eq "Group"`, ""}),
	overall("present", "pr on an attribute that one type does not have finds none of that type", withoutValue,
		"A group has no userName, and is no match for it.",
		row{mixed + `userName pr`, "kim lee"}),
	overall("equal", "eq on an attribute that one type does not have finds none of that type", withoutValue,
		"A query for a user must not fail because groups have no userName.",
		row{`userName eq "«P»kim@example.com"`, "kim"}, row{mixed + `(userName eq "«P»lee@example.com" or id eq "«all»")`, "all lee"}),
	overall("absent", "not pr on an attribute that one type does not have finds all of that type", withoutValue,
		"No value is no value, for whichever reason.",
		row{mixed + `not (userName pr)`, "all"}),
	overall("no-match", "A query on the root that nothing matches finds nothing", covers,
		"A filter that no type understands must not be dropped.",
		row{`displayName eq "«P»nobody"`, ""}, row{mixed + `scimconfNoSuchAttribute eq "x"`, ""}),
	{
		ID:           "root.items",
		Title:        "Each item of a query on the root says what it is",
		Requirements: reqs("RFC7644-3.4.2-09", "RFC7643-3.3-01", "RFC7643-3.1-20"),
		Level:        must,
		Needs:        roots,
		Fixture:      mixture,
		Requests:     1,
		Why:          "A client can tell a user from a group only by schemas and meta.resourceType.",
		Fix:          "Represent each item as a resource of its own type.",
		Run:          rootItems,
	},
	{
		ID:           "root.pages",
		Title:        "A query on the root can be paged, and its totalResults counts all types",
		Requirements: reqs("RFC7644-3.4.2.4-10", covers),
		Level:        must,
		Needs:        roots,
		Fixture:      mixture,
		Requests:     3,
		Why:          "Paging each type for itself shows every client half of the result.",
		Fix:          "Count and cut out pages over all types together.",
		Run:          rootPages,
	},
	{
		ID:           "root.attributes",
		Title:        "attributes= works on a query on the root",
		Requirements: reqs("RFC7644-3.9-01", "RFC7644-3.9-02"),
		Level:        must,
		Needs:        roots,
		Fixture:      mixture,
		Requests:     1,
		Why:          "A query over everything is where clients ask for less.",
		Fix:          "Project every item by the parameters.",
		Run:          rootAttributes,
	},
	{
		ID:           "root.invalid-filter",
		Title:        "A broken filter on the root is refused with 400 invalidFilter",
		Requirements: reqs("RFC7644-3.4.2.2-40", "RFC7644-3.4.2.1-04"),
		Level:        must,
		Needs:        roots,
		Fixture:      mixture,
		Requests:     2,
		Why:          "A broken filter that is ignored answers with everything there is.",
		Fix:          "Parse filters on the root like all others.",
		Run: func(ctx context.Context, t *T) {
			rootQuery(ctx, t, `displayName sw "«P»"`)
			refused(t, t.Get(ctx, "/", "filter", `displayName eq`), 400, "invalidFilter")
		},
	},
	{
		ID:           "root.sort",
		Title:        "A query on the root can be sorted over all types",
		Requirements: reqs("RFC7644-3.4.2.3-02", covers),
		Level:        must,
		Needs:        append(slices.Clone(roots), conformance.NeedSort),
		Fixture:      mixture,
		Requests:     1,
		Why:          "Sorting each type for itself gives no order at all.",
		Fix:          "Merge the types before cutting out the page.",
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(!kept(t, "displayName"), "the target does not keep displayName as it was sent")
			res := rootQuery(ctx, t, `displayName sw "«P»"`, "sortBy", "displayName")
			t.SkipIf(len(res.IDs()) < 3, "the target returns smaller pages")
			t.Expect("order by displayName", []string{"kim", "all", "lee"}, inOrder(t, res.IDs()))
		},
	},
	{
		ID:           "root.search",
		Title:        "POST on /.search finds what the GET on the root finds",
		Requirements: reqs("RFC7644-3.4.3-08", "RFC7644-3.4.3-07"),
		Level:        must,
		Needs:        roots,
		Fixture:      mixture,
		Requests:     2,
		Why:          "Filters with personal data belong into a body.",
		Fix:          "Serve POST on /.search below the base URL, over all types.",
		Run: func(ctx context.Context, t *T) {
			get := rootQuery(ctx, t, `displayName sw "«P»"`)
			res := searched(ctx, t, "",
				doc{"filter": `displayName sw ` + quote(strings.TrimSuffix(t.Fixture["kim"].Sent["displayName"].(string), "a-kim"))})
			t.Expect("ids found by POST /.search, compared with GET /", get.IDs(), res.IDs())
			t.Expect("totalResults of POST /.search, compared with GET /", value(get.Object(), "totalResults"), value(res.Object(), "totalResults"))
		},
	},
	{
		ID:           "root.search-type",
		Title:        "POST on /.search narrows by meta.resourceType and pages over all types",
		Requirements: reqs("RFC7644-3.4.3-08", byType),
		Level:        must,
		Needs:        roots,
		Fixture:      mixture,
		Requests:     2,
		Why:          "The search at the root takes what the query at the root takes.",
		Fix:          rootFix,
		Run:          rootSearchType,
	},
}

func rootItems(ctx context.Context, t *T) {
	res := rootQuery(ctx, t, `id eq "«kim»" or id eq "«all»"`)
	t.SkipIf(len(res.Resources()) != 2, "blocked: the query does not find the two resources")
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
		res := rootQuery(ctx, t, `displayName sw "«P»"`, "startIndex", index, "count", "1")
		t.Expect("totalResults with count=1", 3, value(res.Object(), "totalResults"))
		t.Holds(len(res.IDs()) <= 1, "number of items with count=1", "at most 1", len(res.IDs()))
		ids = append(ids, res.IDs()...)
	}
	t.Expect("resources on three pages of one", []string{"all", "kim", "lee"}, labels(t.Fixture, ids))
}

func rootAttributes(ctx context.Context, t *T) {
	res := rootQuery(ctx, t, `displayName sw "«P»"`, "attributes", "displayName")
	t.SkipIf(len(res.Resources()) == 0, "blocked: the query finds nothing")
	for _, o := range res.Resources() {
		t.Holds(has(o, "displayName") && has(o, "id"), "an item with attributes=displayName", "id and displayName", o)
		t.Holds(!has(o, "userName") && !has(o, "emails") && !has(o, "name"), "an item with attributes=displayName",
			"neither userName nor emails nor name", o)
	}
}

func rootSearchType(ctx context.Context, t *T) {
	prefix := strings.TrimSuffix(t.Fixture["kim"].Sent["displayName"].(string), "a-kim")
	filter := `displayName sw ` + quote(prefix)
	res := searched(ctx, t, "", doc{"filter": filter + ` and meta.resourceType eq "Group"`})
	t.Expect("resources found", []string{"all"}, labels(t.Fixture, res.IDs()))
	res = searched(ctx, t, "", doc{"filter": filter, "count": 1})
	t.Holds(len(res.IDs()) <= 1, "number of items with count 1", "at most 1", len(res.IDs()))
	t.Expect("totalResults with count 1", 3, value(res.Object(), "totalResults"))
}

// rootQuery puts a filter to the root of the target, with whatever else is asked for. It skips the check where the target
// does not answer queries there with a list, which it need not.
func rootQuery(ctx context.Context, t *T, filter string, query ...string) *conformance.Response {
	filter = strings.NewReplacer("«P»", strings.TrimSuffix(t.Fixture["kim"].Sent["userName"].(string), "kim@example.com"), "«kim»",
		t.Fixture["kim"].ID, "«all»", t.Fixture["all"].ID).Replace(filter)
	res := t.Get(ctx, "/", append([]string{"filter", filter}, query...)...)
	t.SkipIf(res.Status != 200 || res.Total() < 0, "the target does not answer queries on its root")
	return res
}
