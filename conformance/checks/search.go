package checks

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var searches = slices.Concat(filters, needs(conformance.NeedIndex))

const searchFix = "Read the message of POST /.search into the same query that GET makes of its parameters, and answer it in the same way."

var searching = []check{
	{
		ID:           "search.served",
		Title:        "POST /Users/.search is served",
		Requirements: reqs("RFC7644-3.4.3-01"),
		Level:        may,
		Needs:        asksUsers,
		Requests:     1,
		Why:          "Filters with personal data do not belong into URLs, which everything on the way logs.",
		Fix:          "Serve POST on /.search below each endpoint.",
		Run: func(ctx context.Context, t *T) {
			res := t.Post(ctx, "/Users/.search", doc{"schemas": []string{scim.SearchRequestMessage}, "filter": `userName eq "scimconf-nobody"`})
			t.Expect("status of "+res.Name, 200, res.Status)
		},
	},
	{
		ID:           "search.envelope",
		Title:        "A search is answered with 200 and a ListResponse, like a GET",
		Requirements: reqs("RFC7644-3.4.3-07", "RFC7644-3.4.3-02"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients read both answers with the same code.",
		Fix:          "Answer 200, not 201, with a ListResponse.",
		Run: func(ctx context.Context, t *T) {
			res := search(ctx, t, "/Users", doc{"filter": bounded(t)})
			t.SkipIf(res.Status == 400, unanswered)
			t.Require("status of "+res.Name, 200, res.Status)
			t.Holds(slices.Contains(texts(res.Object(), "schemas"), scim.ListResponseMessage), "schemas of the answer", scim.ListResponseMessage,
				value(res.Object(), "schemas"))
			isInteger(t, "totalResults", value(res.Object(), "totalResults"))
		},
	},
	{
		ID:           "search.filter",
		Title:        "The filter of a search is applied",
		Requirements: reqs("RFC7644-3.4.3-04"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     2,
		Why:          "A search that ignores its filter answers with the whole directory.",
		Fix:          searchFix,
		Run:          searchFilter,
	},
	{
		ID:           "search.like-get",
		Title:        "A search finds what the GET with the same filter finds",
		Requirements: reqs("RFC7644-3.4.3-04", "RFC7644-3.4.3-07"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     4,
		Why:          "Clients change to POST when a filter becomes too long for a URL, and expect the same.",
		Fix:          searchFix,
		Run:          searchLikeGet,
	},
	{
		ID:           "search.no-match",
		Title:        "A search that finds nothing answers 200 with totalResults 0",
		Requirements: reqs("RFC7644-3.4.2-08", "RFC7644-3.4.3-07"),
		Level:        must,
		Needs:        asksUsers,
		Requests:     1,
		Why:          "Creations begin with a lookup that finds nothing.",
		Fix:          "Return an empty ListResponse; an empty result is no 404.",
		Run:          searchNoMatch,
	},
	{
		ID:           "search.everything",
		Title:        "A search without a filter covers all users",
		Requirements: reqs("RFC7644-3.4.3-04"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     1,
		Why:          "The filter is optional, as it is on GET.",
		Fix:          searchFix,
		Run: func(ctx context.Context, t *T) {
			res := searched(ctx, t, "/Users", doc{"count": 1})
			t.Holds(res.Total() >= 5, "totalResults of a search without a filter, while five users of this run exist", "at least 5",
				value(res.Object(), "totalResults"))
		},
	},
	{
		ID:           "search.attributes",
		Title:        "attributes of a search is an array of names, and projects the items",
		Requirements: reqs("RFC7644-3.4.3-05", "RFC7644-3.4.3-04", "RFC7644-3.9-01"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients that ask for two attributes of many users do not expect all of them.",
		Fix:          searchFix,
		Run: func(ctx context.Context, t *T) {
			res := searched(ctx, t, "/Users",
				doc{"filter": `userName eq ` + quote(peoplePrefix(t)+"bob@example.com"), "attributes": []string{"userName", "active"}})
			t.SkipIf(len(res.Resources()) != 1, "blocked: the search does not find the user")
			o := res.Resources()[0]
			t.Holds(has(o, "userName") && has(o, "active") && has(o, "id"), "an item of a search with attributes [userName, active]",
				"id, userName and active", o)
			t.Holds(!has(o, "name") && !has(o, "emails") && !has(o, "displayName"), "an item of a search with attributes [userName, active]",
				"neither name nor emails nor displayName", o)
		},
	},
	{
		ID:           "search.excluded-attributes",
		Title:        "excludedAttributes of a search is an array of names, and takes them out of the items",
		Requirements: reqs("RFC7644-3.4.3-05", "RFC7644-3.4.3-04", "RFC7644-3.9-01"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients leave out what is large.",
		Fix:          searchFix,
		Run: func(ctx context.Context, t *T) {
			res := searched(ctx, t, "/Users",
				doc{"filter": `userName eq ` + quote(peoplePrefix(t)+"bob@example.com"), "excludedAttributes": []string{"emails", "name"}})
			t.SkipIf(len(res.Resources()) != 1, "blocked: the search does not find the user")
			o := res.Resources()[0]
			t.Holds(has(o, "userName") && has(o, "id"), "an item of a search without emails and name", "id and userName", o)
			t.Holds(!has(o, "name") && !has(o, "emails"), "an item of a search without emails and name", "neither emails nor name", o)
		},
	},
	{
		ID:           "search.password",
		Title:        "A search never shows a password, also when asked for it by name",
		Requirements: reqs("RFC7643-7-21", "RFC7643-4.1.1-13"),
		Level:        must,
		Needs:        searches,
		Requests:     3,
		Why:          "A second way to the data needs the same guard.",
		Fix:          "Project the items of searches with the code that projects all others.",
		Run: func(ctx context.Context, t *T) {
			t.CreateUser(ctx, "guarded", doc{"password": "Scimconf-Secret-1!"})
			res := searched(ctx, t, "/Users",
				doc{"filter": `userName eq ` + quote(t.UserName("guarded")), "attributes": []string{"userName", "password"}})
			for _, o := range res.Resources() {
				t.Holds(!has(o, "password"), "password in an item of a search", "absent", "a value")
			}
		},
	},
	{
		ID:           "search.count",
		Title:        "count of a search limits the page, not totalResults",
		Requirements: reqs("RFC7644-3.4.3-06", "RFC7644-3.4.2.4-04"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients size their pages by it.",
		Fix:          searchFix,
		Run: func(ctx context.Context, t *T) {
			res := searched(ctx, t, "/Users", doc{"filter": bounded(t), "count": 2})
			t.Holds(len(res.Resources()) <= 2, "items of a search with count 2", "at most 2", len(res.Resources()))
			t.Expect("totalResults of a search with count 2", 5, value(res.Object(), "totalResults"))
		},
	},
	{
		ID:           "search.count-zero",
		Title:        "count 0 in a search returns no items but the right totalResults",
		Requirements: reqs("RFC7644-3.4.3-06", "RFC7644-3.4.2.4-07"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     1,
		Why:          "It is how clients ask for a number.",
		Fix:          "Tell 0 from an absent count in the message.",
		Run: func(ctx context.Context, t *T) {
			res := searched(ctx, t, "/Users", doc{"filter": bounded(t), "count": 0})
			t.Expect("items of a search with count 0", 0, len(res.Resources()))
			t.Expect("totalResults of a search with count 0", 5, value(res.Object(), "totalResults"))
		},
	},
	{
		ID:           "search.pages",
		Title:        "startIndex of a search moves the page, and the pages together hold everybody once",
		Requirements: reqs("RFC7644-3.4.3-06", "RFC7644-3.4.2.4-02"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     3,
		Why:          "A search whose pages repeat themselves sends clients round in circles.",
		Fix:          searchFix,
		Run:          searchPages,
	},
	{
		ID:           "search.sort",
		Title:        "sortBy and sortOrder of a search order the items",
		Requirements: reqs("RFC7644-3.4.3-04", "RFC7644-3.4.2.3-02"),
		Level:        must,
		Needs:        slices.Concat(searches, needs(conformance.NeedSort)),
		Fixture:      people,
		Requests:     2,
		Why:          "Who advertises sorting sorts everywhere.",
		Fix:          searchFix,
		Run:          searchSort,
	},
	{
		ID:           "search.schema-required",
		Title:        "A search without the schema of its message is refused with 400",
		Requirements: reqs("RFC7644-3.4.3-03"),
		Level:        should,
		Needs:        searches,
		Fixture:      people,
		Requests:     2,
		Why:          "Without it a message cannot be told from something else that was sent to the wrong address.",
		Fix:          "Refuse messages whose schemas do not name " + scim.SearchRequestMessage + ".",
		Run: func(ctx context.Context, t *T) {
			searched(ctx, t, "/Users", doc{"filter": bounded(t)})
			res := t.Post(ctx, "/Users/.search", doc{"filter": bounded(t)})
			refused(t, res, 400, "invalidSyntax", "invalidValue")
		},
	},
	{
		ID:           "search.wrong-schema",
		Title:        "A search with the schema of another message is refused with 400",
		Requirements: reqs("RFC7644-3.4.3-03"),
		Level:        should,
		Needs:        searches,
		Fixture:      people,
		Requests:     2,
		Why:          "A PATCH that was sent to the wrong address is no search.",
		Fix:          "Refuse messages whose schemas do not name " + scim.SearchRequestMessage + ".",
		Run: func(ctx context.Context, t *T) {
			searched(ctx, t, "/Users", doc{"filter": bounded(t)})
			res := t.Post(ctx, "/Users/.search", doc{"schemas": []string{scim.PatchOpMessage}, "filter": bounded(t)})
			refused(t, res, 400, "invalidSyntax", "invalidValue")
		},
	},
	{
		ID:           "search.invalid-filter",
		Title:        "A search with a broken filter is refused with 400 invalidFilter",
		Requirements: reqs("RFC7644-3.4.2.2-40", "RFC7644-3.4.3-04"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     3,
		Why:          "A broken filter that is ignored answers with everybody.",
		Fix:          searchFix,
		Run: func(ctx context.Context, t *T) {
			searched(ctx, t, "/Users", doc{"filter": bounded(t)})
			for _, filter := range []string{`userName eq`, `userName eq "unclosed`} {
				res := t.Post(ctx, "/Users/.search", doc{"schemas": []string{scim.SearchRequestMessage}, "filter": filter})
				refused(t, res, 400, "invalidFilter")
			}
		},
	},
	{
		ID:           "search.not-json",
		Title:        "A search that is no JSON is refused with 400",
		Requirements: reqs("RFC7644-3.4.3-03", "RFC7644-3.12-16"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     2,
		Why:          "An unreadable query is not a query for everybody.",
		Fix:          "Answer 400 invalidSyntax when the body cannot be read.",
		Run: func(ctx context.Context, t *T) {
			searched(ctx, t, "/Users", doc{"filter": bounded(t)})
			res := t.Call(ctx,
				conformance.Request{Method: "POST", Path: "/Users/.search", Body: []byte(`{"schemas":["` + scim.SearchRequestMessage + `"],`)})
			refused(t, res, 400, "invalidSyntax", "invalidValue")
		},
	},
	{
		ID:           "search.creates-nothing",
		Title:        "POST on /Users/.search is a query and creates nobody",
		Requirements: reqs("RFC7644-3.4.3-02"),
		Level:        must,
		Needs:        searches,
		Requests:     2,
		Why:          "A router that takes .search for a user's path creates accounts out of queries.",
		Fix:          "Route /.search before the paths of single resources.",
		Run: func(ctx context.Context, t *T) {
			filter := `userName eq ` + quote(t.UserName("ghost"))
			search(ctx, t, "/Users", doc{"filter": filter, "userName": t.UserName("ghost")})
			res := t.Get(ctx, "/Users", "filter", filter)
			t.SkipIf(res.Status != 200, unanswered)
			t.Expect("number of users whose name stood in a search", 0, len(res.Resources()))
		},
	},
	{
		ID:           "search.get",
		Title:        "GET on /Users/.search is refused",
		Requirements: reqs("RFC7644-3.4.3-01"),
		Level:        should,
		Needs:        asksUsers,
		Requests:     1,
		Why:          "A search is a POST; a list that answers GET there was made for nobody.",
		Fix:          "Answer 405 with Allow: POST, or 404.",
		Run: func(ctx context.Context, t *T) {
			res := t.Get(ctx, "/Users/.search")
			t.Holds(res.Status >= 400 && res.Status < 500 || res.Status == 501, "status of "+res.Name, "404 or 405", res.Status)
		},
	},
	{
		ID:           "search.groups",
		Title:        "POST /Groups/.search searches groups",
		Requirements: reqs("RFC7644-3.4.3-04", "RFC7644-3.4.3-02"),
		Level:        must,
		Needs:        needs(conformance.NeedGroup, conformance.NeedWrite, conformance.NeedFilter),
		Requests:     6,
		Why:          "Every endpoint of resources has its own search.",
		Fix:          "Serve /.search below each endpoint, for its own type.",
		Run:          searchGroups,
	},
	{
		ID:           "search.long-filter",
		Title:        "A search takes a filter that is too long for a URL, or refuses it without a server error",
		Requirements: reqs("RFC7644-3.4.2.2-63", "RFC7644-3.4.3-01"),
		Level:        should,
		Needs:        searches,
		Fixture:      people,
		Requests:     2,
		Why:          "Long filters are what the search by POST is for.",
		Fix:          "Bound filters by what they cost, not by what fits into a URL, and answer 400 or 413 beyond that.",
		Run:          searchLongFilter,
	},
}

func searchFilter(ctx context.Context, t *T) {
	p := peoplePrefix(t)
	res := searched(ctx, t, "/Users", doc{"filter": `userName eq ` + quote(p+"bob@example.com")})
	t.Expect("users found by userName eq …bob@example.com", []string{"bob"}, labels(t.Fixture, res.IDs()))
	t.Expect("totalResults", 1, value(res.Object(), "totalResults"))
	res = searched(ctx, t, "/Users", doc{"filter": `userName eq ` + quote(p+"bob")})
	t.Expect("totalResults of a search for nobody", 0, value(res.Object(), "totalResults"))
}

func searchLikeGet(ctx context.Context, t *T) {
	for _, filter := range []string{bounded(t), bounded(t) + " and active eq true"} {
		get := t.Get(ctx, "/Users", "filter", filter)
		t.SkipIf(get.Status != 200, unanswered)
		t.SkipIf(len(get.IDs()) < get.Total(), "the target returns smaller pages than asked for")
		post := searched(ctx, t, "/Users", doc{"filter": filter})
		t.Expect("ids found by a search for "+filter+", compared with GET", get.IDs(), post.IDs())
		t.Expect("totalResults of a search for "+filter+", compared with GET", value(get.Object(), "totalResults"),
			value(post.Object(), "totalResults"))
	}
}

func searchNoMatch(ctx context.Context, t *T) {
	res := t.Post(ctx, "/Users/.search",
		doc{"schemas": []string{scim.SearchRequestMessage}, "filter": `userName eq "scimconf-nobody-has-this-name"`})
	t.SkipIf(unserved(res) && (res.Status != 404 || !searchServed(ctx, t)), "the target does not serve POST /Users/.search")
	t.About(res)
	t.Require("status of "+res.Name, 200, res.Status)
	t.Expect("totalResults", 0, value(res.Object(), "totalResults"))
	t.Expect("number of items", 0, len(res.Resources()))
}

func searchPages(ctx context.Context, t *T) {
	var ids []string
	for len(ids) < 5 {
		res := searched(ctx, t, "/Users", doc{"filter": bounded(t), "startIndex": len(ids) + 1, "count": 2})
		t.Must(len(res.IDs()) > 0, "items of a search with startIndex "+strconv.Itoa(len(ids)+1), "at least one of five", 0)
		if has(res.Object(), "startIndex") {
			t.Expect("startIndex in the answer", len(ids)+1, value(res.Object(), "startIndex"))
		}
		ids = append(ids, res.IDs()...)
	}
	t.Expect("users on all pages", sorted(strings.Fields(everybody)...), labels(t.Fixture, ids))
}

func searchSort(ctx context.Context, t *T) {
	t.SkipIf(!kept(t, "name"), "the target does not keep name as it was sent")
	for direction, want := range map[string][]string{"ascending": {"bob", "cyd", "dan", "ada", "eve"},
		"descending": {"eve", "ada", "dan", "cyd", "bob"}} {
		res := searched(ctx, t, "/Users", doc{"filter": bounded(t), "sortBy": "name.familyName", "sortOrder": direction})
		t.SkipIf(len(res.IDs()) < 5, "the target returns smaller pages")
		t.Expect("order of a search sorted by name.familyName, "+direction, want, inOrder(t, res.IDs()))
	}
}

func searchGroups(ctx context.Context, t *T) {
	g, other := t.CreateGroup(ctx, "sought", nil), t.CreateGroup(ctx, "sought-not", nil)
	named := map[string]*conformance.Created{"sought": g, "sought-not": other}
	res := searched(ctx, t, "/Groups", doc{"filter": `displayName eq ` + quote(t.Prefix()+"sought")})
	t.Expect("groups found", []string{"sought"}, labels(named, res.IDs()))
	res = searched(ctx, t, "/Groups", doc{"filter": `displayName eq ` + quote(t.Prefix()+"nobody")})
	t.Expect("totalResults of a search for no group", 0, value(res.Object(), "totalResults"))
}

func searchLongFilter(ctx context.Context, t *T) {
	searched(ctx, t, "/Users", doc{"filter": bounded(t)})
	p := peoplePrefix(t)
	long := `userName eq ` + quote(p+"bob@example.com") + strings.Repeat(` or userName eq `+quote(p+"nobody@example.com"), 150)
	res := t.Post(ctx, "/Users/.search", doc{"schemas": []string{scim.SearchRequestMessage}, "filter": long})
	if res.Status == 400 || res.Status == 413 {
		return
	}
	t.Require("status of a search with a filter of "+strconv.Itoa(len(long))+" characters", 200, res.Status)
	t.Expect("users found", []string{"bob"}, labels(t.Fixture, res.IDs()))
}

// searchServed tells whether there is a search at all, by one that does not ask for items.
func searchServed(ctx context.Context, t *T) bool {
	res := t.Post(ctx, "/Users/.search", doc{"schemas": []string{scim.SearchRequestMessage}, "count": 0})
	return res.Status == 200
}

// search posts a query to /.search below a path. It skips the check where the target does not serve that: no capability
// says whether it has to, and many do not.
func search(ctx context.Context, t *T, path string, members doc) *conformance.Response {
	query := doc{"schemas": []string{scim.SearchRequestMessage}}
	maps.Copy(query, members)
	res := t.Post(ctx, path+"/.search", query)
	t.SkipIf(unserved(res), "the target does not serve POST "+path+"/.search")
	return res
}

// unserved tells whether an answer says that there is nothing of the kind at this address.
func unserved(res *conformance.Response) bool {
	return slices.Contains([]int{403, 404, 405, 501}, res.Status)
}

// searched is search that must be answered with a list.
func searched(ctx context.Context, t *T, path string, members doc) *conformance.Response {
	res := search(ctx, t, path, members)
	t.Require("status of "+res.Name, 200, res.Status)
	return res
}

// bounded is a filter that finds the people of the fixture and nobody else, for searches.
func bounded(t *T) string { return "userName sw " + quote(peoplePrefix(t)) }
