package checks

import (
	"context"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var searches = slices.Concat(filters, needs(conformance.NeedIndex))

const searchFix = "Convert the message of POST /.search to the query of a GET with the same parameters, and return the same response."

var searching = []check{
	{
		ID:           "search.served",
		Title:        "POST /Users/.search is served",
		Requirements: reqs("RFC7644-3.4.3-01"),
		Level:        may,
		Needs:        asksUsers,
		Requests:     1,
		Why:          "Servers and proxies log URLs; without search by POST, clients have to put personal data into URLs.",
		Fix:          "Serve POST on /.search below each endpoint, for example /Users/.search.",
		Run: func(ctx context.Context, t *T) {
			res := t.Post(ctx, "/Users/.search", doc{"schemas": []string{scim.SearchRequestMessage}, "filter": `userName eq "scimconf-nobody"`})
			t.Expect("status of "+res.Name, 200, res.Status)
		},
	},
	{
		ID:           "search.envelope",
		Title:        "A search by POST to .search returns 200 and a ListResponse, as GET does",
		Requirements: reqs("RFC7644-3.4.3-07", "RFC7644-3.4.3-02", "RFC7644-3.8-06"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients parse both responses with the same code; a search with another status, media type or form fails.",
		Fix:          "Return 200, not 201, with a ListResponse and the Content-Type application/scim+json.",
		Run: func(ctx context.Context, t *T) {
			res := search(ctx, t, "/Users", doc{"filter": bounded(t)})
			t.SkipIf(res.Declines(), skipUnsupported)
			t.Require("status of "+res.Name, 200, res.Status)
			media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
			t.Holds(isJSON(media), "Content-Type of the response", scim.MediaType, res.Header.Get("Content-Type"))
			t.Holds(slices.Contains(texts(res.Object(), "schemas"), scim.ListResponseMessage), "schemas of the response", scim.ListResponseMessage,
				value(res.Object(), "schemas"))
			isInteger(t, "totalResults", value(res.Object(), "totalResults"))
		},
	},
	{
		ID:           "search.filter",
		Title:        "A search by POST to .search returns only the users that match its filter",
		Requirements: reqs("RFC7644-3.4.3-04"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     2,
		Why:          "A search without its filter returns the whole directory.",
		Fix:          searchFix,
		Run:          searchFilter,
	},
	{
		ID:           "search.like-get",
		Title:        "A search by POST to .search returns the same resources as a GET with the same filter",
		Requirements: reqs("RFC7644-3.4.3-04", "RFC7644-3.4.3-07"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     8,
		Why:          "Clients use POST when a filter becomes too long for a URL; a different result gives them the wrong users.",
		Fix:          searchFix,
		Run:          searchLikeGet,
	},
	{
		ID:           "search.no-match",
		Title:        "A search by POST to .search without a match returns 200 with totalResults 0",
		Requirements: reqs("RFC7644-3.4.2-08", "RFC7644-3.4.3-07"),
		Level:        must,
		Needs:        asksUsers,
		Requests:     1,
		Why:          "Clients search for a user before they create it; if an empty result is an error, no user is created.",
		Fix:          "Return an empty ListResponse, not 404.",
		Run:          searchNoMatch,
	},
	{
		ID:           "search.everything",
		Title:        "A search by POST to .search without a filter returns all users",
		Requirements: reqs("RFC7644-3.4.3-04"),
		Level:        must,
		Needs:        slices.Concat(writesUsers, needs(conformance.NeedIndex)),
		Fixture:      people,
		Requests:     1,
		Why:          "Clients that import all users by POST omit the filter; an error or an incomplete list stops the import.",
		Fix:          searchFix,
		Run: func(ctx context.Context, t *T) {
			res := searched(ctx, t, "/Users", doc{"count": 1})
			t.Holds(res.Total() >= 5, "totalResults of a search without a filter, while five users of this run exist", "at least 5",
				value(res.Object(), "totalResults"))
		},
	},
	{
		ID:           "search.attributes",
		Title:        "In a search by POST, the member attributes is an array of names, with or without a URN, and applies to the items",
		Requirements: reqs("RFC7644-3.4.3-05", "RFC7644-3.4.3-04", "RFC7644-3.9-01"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients request a few attributes of many users; responses with all attributes are slow and expose data.",
		Fix:          searchFix,
		Run: func(ctx context.Context, t *T) {
			for _, names := range [][]string{{"userName", "active"}, {core + "userName", core + "active"}} {
				res := searched(ctx, t, "/Users",
					doc{"filter": `userName eq ` + quote(inDomain(t, peoplePrefix(t)+"bob")), "attributes": names})
				t.SkipIf(len(res.Resources()) != 1, "blocked: the search does not find the user")
				o := res.Resources()[0]
				what := "an item of a search with attributes " + jsonText(plain(names))
				t.Holds(has(o, "userName") && has(o, "active") && has(o, "id"), what, "id, userName and active", o)
				t.Holds(!has(o, "name") && !has(o, "emails") && !has(o, "displayName"), what, "neither name nor emails nor displayName", o)
			}
		},
	},
	{
		ID:           "search.excluded-attributes",
		Title:        "In a search by POST, the member excludedAttributes is an array of names, and omits these attributes from the items",
		Requirements: reqs("RFC7644-3.4.3-05", "RFC7644-3.4.3-04", "RFC7644-3.9-01"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients exclude large or confidential attributes; responses that contain them are slow or expose data.",
		Fix:          searchFix,
		Run: func(ctx context.Context, t *T) {
			res := searched(ctx, t, "/Users",
				doc{"filter": `userName eq ` + quote(inDomain(t, peoplePrefix(t)+"bob")), "excludedAttributes": []string{"emails", "name"}})
			t.SkipIf(len(res.Resources()) != 1, "blocked: the search does not find the user")
			o := res.Resources()[0]
			t.Holds(has(o, "userName") && has(o, "id"), "an item of a search without emails and name", "id and userName", o)
			t.Holds(!has(o, "name") && !has(o, "emails"), "an item of a search without emails and name", "neither emails nor name", o)
		},
	},
	{
		ID:           "search.password",
		Title:        "A search by POST to .search never returns a password, even if the member attributes names it",
		Requirements: reqs("RFC7643-7-21", "RFC7643-4.1.1-13"),
		Level:        must,
		Needs:        searches,
		Requests:     3,
		Why:          "Any client that may search could read passwords or their hashes.",
		Fix:          "Omit password from the items of a search, even if the member attributes names it.",
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
		Title:        "The member count of a search by POST limits the page, not totalResults",
		Requirements: reqs("RFC7644-3.4.3-06", "RFC7644-3.4.2.4-04"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients choose their page size by count; a wrong totalResults stops their paging too early.",
		Fix:          searchFix,
		Run: func(ctx context.Context, t *T) {
			res := searched(ctx, t, "/Users", doc{"filter": bounded(t), "count": 2})
			t.Holds(len(res.Resources()) <= 2, "items of a search with count 2", "at most 2", len(res.Resources()))
			t.Expect("totalResults of a search with count 2", 5, value(res.Object(), "totalResults"))
		},
	},
	{
		ID:           "search.advertised-limit",
		Title:        "A page of a search by POST has at most filter.maxResults items",
		Requirements: reqs("RFC7643-5-06", "RFC7644-3.4.3-06"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients choose their page size and memory by filter.maxResults; a larger page aborts their import.",
		Fix:          "Limit the pages of a search to filter.maxResults, in the same way as those of a GET.",
		Run: func(ctx context.Context, t *T) {
			most := limit(t.Capabilities.ServiceProviderConfig.Complex("filter"), "maxResults")
			t.SkipIf(most <= 0, "the ServiceProviderConfig has no filter.maxResults")
			t.SkipIf(most > maxSearched, fmt.Sprintf("filter.maxResults is %d; the run requests no page of more than %d users", most, maxSearched))
			res := searched(ctx, t, "/Users", doc{"count": most + 1, "attributes": []string{"id"}})
			t.Holds(len(res.Resources()) <= most, "items of a search with count "+strconv.Itoa(most+1), "at most "+strconv.Itoa(most),
				len(res.Resources()))
		},
	},
	{
		ID:           "search.sees-changes",
		Title:        "A search by POST that is repeated after a change returns the changed user",
		Requirements: reqs("RFC7644-3.4.3-07", "RFC7644-3.1-05"),
		Level:        must,
		Needs:        slices.Concat(asksUsers, needs(conformance.NeedWrite)),
		Requests:     5,
		Why:          "A client that gets the result of an earlier search overwrites later changes with outdated values.",
		Fix:          "Evaluate every search on the stored users; if the server stores results, discard them after each change.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "moving", nil)
			message := doc{"filter": `userName eq ` + quote(t.UserName("moving"))}
			t.Expect("ids found by a search for a new user", []string{u.ID}, searched(ctx, t, "/Users", message).IDs())
			res := t.Put(ctx, u.Path(), t.User("moving", doc{"name": doc{"givenName": "Ada", "familyName": "Moved"}}))
			t.SkipIf(!res.OK(), "blocked: the user could not be changed by PUT")
			found := searched(ctx, t, "/Users", message).Resources()
			t.Must(len(found) == 1, "number of items of the same search after a PUT", "1", len(found))
			t.Expect("name.familyName in the same search after a PUT", "Moved", value(found[0], "name.familyName"))
		},
	},
	{
		ID:           "search.accepts-json-media-type",
		Title:        "A search by POST that is sent as application/json is accepted",
		Requirements: reqs("RFC7644-3.8-07", "RFC7644-3.8-05"),
		Level:        should,
		Needs:        searches,
		Fixture:      people,
		Requests:     2,
		Why:          "Several clients send application/json; if the server rejects this media type, all their searches fail.",
		Fix:          "Accept application/json in addition to application/scim+json with every method, and ignore parameters of the media type.",
		Run: func(ctx context.Context, t *T) {
			searched(ctx, t, "/Users", doc{"filter": bounded(t)})
			res := t.Call(ctx, conformance.Request{Method: http.MethodPost, Path: "/Users/.search",
				Body:   doc{"schemas": []string{scim.SearchRequestMessage}, "filter": bounded(t)},
				Header: map[string][]string{"Content-Type": {"application/json; charset=utf-8"}, "Accept": {"application/json"}}})
			t.Expect("status of a search sent as application/json", 200, res.Status)
		},
	},
	{
		ID:           "search.member-names",
		Title:        "The member names in the body of a search by POST, such as filter and count, are case-insensitive",
		Requirements: reqs("RFC7643-2.1-01", "RFC7644-3.4.3-04"),
		Level:        may, // only informational: RFC 7643 section 2.1 does not say whether the members of a message are attributes
		Needs:        searches,
		Fixture:      people,
		Requests:     2,
		Why:          "If the server ignores the member Filter because of its case, the client gets all users instead of those that it selects.",
		Fix:          "Compare these names case-insensitively.",
		Run: func(ctx context.Context, t *T) {
			want := searched(ctx, t, "/Users", doc{"filter": bounded(t), "count": 2})
			res := t.Post(ctx, "/Users/.search", doc{"schemas": []string{scim.SearchRequestMessage}, "Filter": bounded(t), "COUNT": 2})
			t.Require("status of a search with the members Filter and COUNT", 200, res.Status)
			for _, name := range []string{"totalResults", "itemsPerPage"} {
				t.Expect(name+" of a search with the members Filter and COUNT", value(want.Object(), name), value(res.Object(), name))
			}
		},
	},
	{
		ID:           "search.count-zero",
		Title:        "A search by POST with count 0 returns no items and the correct totalResults",
		Requirements: reqs("RFC7644-3.4.3-06", "RFC7644-3.4.2.4-07"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients use a count of 0 to request only the number of matches; a page of users costs time and memory.",
		Fix:          "Accept a count of 0, and distinguish it from an absent count in the message.",
		Run: func(ctx context.Context, t *T) {
			res := searched(ctx, t, "/Users", doc{"filter": bounded(t), "count": 0})
			t.Expect("items of a search with count 0", 0, len(res.Resources()))
			t.Expect("totalResults of a search with count 0", 5, value(res.Object(), "totalResults"))
		},
	},
	{
		ID:           "search.pages",
		Title:        "The member startIndex of a search by POST selects the page, and all pages together have every user once",
		Requirements: reqs("RFC7644-3.4.3-06", "RFC7644-3.4.2.4-02"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     3,
		Why:          "Clients loop indefinitely if a search repeats its pages.",
		Fix:          searchFix,
		Run:          searchPages,
	},
	{
		ID:           "search.sort",
		Title:        "The members sortBy and sortOrder of a search by POST sort the items",
		Requirements: reqs("RFC7644-3.4.3-04", "RFC7644-3.4.2.3-02"),
		Level:        must,
		Needs:        slices.Concat(searches, needs(conformance.NeedSort)),
		Fixture:      people,
		Requests:     2,
		Why:          "Clients that read the first pages of an unsorted search get the wrong users.",
		Fix:          searchFix,
		Run:          searchSort,
	},
	{
		ID:           "search.schema-required",
		Title:        "A search by POST without schemas in its body is rejected with 400",
		Requirements: reqs("RFC7644-3.4.3-03"),
		Level:        should,
		Needs:        searches,
		Fixture:      people,
		Requests:     2,
		Why:          "The schema identifies the message; a server that does not check it executes messages meant for another endpoint.",
		Fix:          "Return 400 if schemas of the message does not contain " + scim.SearchRequestMessage + ".",
		Run: func(ctx context.Context, t *T) {
			searched(ctx, t, "/Users", doc{"filter": bounded(t)})
			res := t.Post(ctx, "/Users/.search", doc{"filter": bounded(t)})
			expectError(t, res, 400, "invalidSyntax", "invalidValue")
		},
	},
	{
		ID:           "search.wrong-schema",
		Title:        "A search by POST whose schemas contains only the schema of another message is rejected with 400",
		Requirements: reqs("RFC7644-3.4.3-03"),
		Level:        should,
		Needs:        searches,
		Fixture:      people,
		Requests:     2,
		Why:          "A client that sends a PATCH message to the wrong address gets a list and assumes that its change succeeded.",
		Fix:          "Return 400 if schemas of the message does not contain " + scim.SearchRequestMessage + ".",
		Run: func(ctx context.Context, t *T) {
			searched(ctx, t, "/Users", doc{"filter": bounded(t)})
			res := t.Post(ctx, "/Users/.search", doc{"schemas": []string{scim.PatchOpMessage}, "filter": bounded(t)})
			expectError(t, res, 400, "invalidSyntax", "invalidValue")
		},
	},
	{
		ID:           "search.invalid-filter",
		Title:        "A search by POST with an invalid filter is rejected with 400 invalidFilter",
		Requirements: reqs("RFC7644-3.4.2.2-40", "RFC7644-3.4.3-04"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     3,
		Why:          "A server that ignores an invalid filter returns all users.",
		Fix:          searchFix,
		Run: func(ctx context.Context, t *T) {
			searched(ctx, t, "/Users", doc{"filter": bounded(t)})
			for _, filter := range []string{`userName eq`, `userName eq "unclosed`} {
				t.BlockedIf(func() string {
					if res := t.Get(ctx, "/Users", "filter", filter); res.Status != http.StatusBadRequest {
						return fmt.Sprintf("GET /Users?filter=%s returned %d, which filter.invalid-syntax reports", filter, res.Status)
					}
					return ""
				})
				res := t.Post(ctx, "/Users/.search", doc{"schemas": []string{scim.SearchRequestMessage}, "filter": filter})
				expectError(t, res, 400, "invalidFilter")
			}
		},
	},
	{
		ID:           "search.not-json",
		Title:        "A search by POST whose body is not valid JSON is rejected with 400",
		Requirements: reqs("RFC7644-3.4.3-03", "RFC7644-3.12-16"),
		Level:        must,
		Needs:        searches,
		Fixture:      people,
		Requests:     2,
		Why:          "A server that ignores an unreadable query returns all users.",
		Fix:          "Return 400 invalidSyntax if the body cannot be parsed.",
		Run: func(ctx context.Context, t *T) {
			searched(ctx, t, "/Users", doc{"filter": bounded(t)})
			res := t.Call(ctx,
				conformance.Request{Method: "POST", Path: "/Users/.search", Body: []byte(`{"schemas":["` + scim.SearchRequestMessage + `"],`)})
			expectError(t, res, 400, "invalidSyntax", "invalidValue")
		},
	},
	{
		ID:           "search.creates-nothing",
		Title:        "POST on /Users/.search is a query and creates no user",
		Requirements: reqs("RFC7644-3.4.3-02"),
		Level:        must,
		Needs:        searches,
		Requests:     2,
		Why:          "A router that treats .search as the path of a user creates accounts from queries.",
		Fix:          "Route /.search before the paths of single resources.",
		Run: func(ctx context.Context, t *T) {
			filter := `userName eq ` + quote(t.UserName("ghost"))
			search(ctx, t, "/Users", doc{"filter": filter, "userName": t.UserName("ghost")})
			res := t.Get(ctx, "/Users", "filter", filter)
			skipUnselected(t, res, filter)
			t.Expect("number of users with the name in the search", 0, len(res.Resources()))
		},
	},
	{
		ID:           "search.get",
		Title:        "GET on /Users/.search is rejected",
		Requirements: reqs("RFC7644-3.4.3-01"),
		Level:        may,
		Needs:        needs(conformance.NeedUser),
		Requests:     1,
		Why:          "A client that sends GET by mistake would treat a list of all users as the result of its search.",
		Fix:          "Return 405 with Allow: POST, or 404.",
		Run: func(ctx context.Context, t *T) {
			res := t.Get(ctx, "/Users/.search")
			t.Holds(res.Status >= 400 && res.Status < 500 || res.Status == 501, "status of "+res.Name, "404 or 405", res.Status)
		},
	},
	{
		ID:           "search.groups",
		Title:        "POST on /Groups/.search returns groups",
		Requirements: reqs("RFC7644-3.4.3-04", "RFC7644-3.4.3-02"),
		Level:        must,
		Needs:        needs(conformance.NeedGroup, conformance.NeedWrite, conformance.NeedFilter),
		Requests:     6,
		Why:          "A search for groups that returns users, or an error, gives clients the wrong resources.",
		Fix:          "Serve /.search below each endpoint, and search only the resource type of the endpoint.",
		Run:          searchGroups,
	},
	{
		ID:           "search.long-filter",
		Title:        "A search by POST with a filter of more than 150 conditions is evaluated, or rejected with 400 or 413",
		Requirements: reqs("RFC7644-3.4.2.2-63", "RFC7644-3.4.3-01"),
		Level:        should,
		Needs:        searches,
		Fixture:      people,
		Requests:     3,
		Why:          "Clients use search by POST for long filters; after a server error, they retry indefinitely.",
		Fix:          "Accept a filter of 10,000 characters in the body of a POST, or return 400 or 413 if it has too many conditions.",
		Run:          searchLongFilter,
	},
}

func searchFilter(ctx context.Context, t *T) {
	p := peoplePrefix(t)
	res := searched(ctx, t, "/Users", doc{"filter": `userName eq ` + quote(inDomain(t, p+"bob"))})
	t.Expect("users found by userName eq …"+inDomain(t, "bob"), []string{"bob"}, labels(t.Fixture, res.IDs()))
	t.Expect("totalResults", 1, value(res.Object(), "totalResults"))
	res = searched(ctx, t, "/Users", doc{"filter": `userName eq ` + quote(p+"bob")})
	t.Expect("totalResults of a search for an unknown user", 0, value(res.Object(), "totalResults"))
}

func searchLikeGet(ctx context.Context, t *T) {
	for i, filter := range []string{bounded(t), bounded(t) + " and active eq true", bounded(t) + " and not (active eq true)",
		bounded(t) + ` and emails[type eq "home"]`} {
		get := t.Get(ctx, "/Users", "filter", filter)
		if i == 0 {
			skipUnselected(t, get, filter)
		}
		if get.Status != 200 {
			t.Note("rejected with %d: %s", get.Status, filter)
			continue
		}
		t.SkipIf(len(get.IDs()) < get.Total(), "the target returns smaller pages than requested")
		post := searched(ctx, t, "/Users", doc{"filter": filter})
		sameItems(t, "found by a search for "+filter+", compared with GET", get.IDs(), post.IDs())
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
			t.Expect("startIndex in the response", len(ids)+1, value(res.Object(), "startIndex"))
		}
		ids = append(ids, res.IDs()...)
	}
	t.Expect("users on all pages", sorted(strings.Fields(allPeople)...), labels(t.Fixture, ids))
}

func searchSort(ctx context.Context, t *T) {
	t.SkipIf(!fixtureStored(t, "name"), "the target does not store name as sent")
	for direction, want := range byName(map[string][]string{"ascending": {"bob", "cyd", "dan", "ada", "eve"},
		"descending": {"eve", "ada", "dan", "cyd", "bob"}}) {
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
	t.Expect("totalResults of a search for an unknown group", 0, value(res.Object(), "totalResults"))
}

func searchLongFilter(ctx context.Context, t *T) {
	searched(ctx, t, "/Users", doc{"filter": bounded(t)})
	p := peoplePrefix(t)
	// Some targets need a time for a filter that grows faster than its length, and the load of their machine multiplies it. Therefore, the
	// time for half of the filter determines the timeout for the whole one.
	var half *conformance.Response
	for _, conditions := range []int{75, 150} {
		long := `userName eq ` + quote(inDomain(t, p+"bob")) + strings.Repeat(` or userName eq `+quote(inDomain(t, p+"nobody")), conditions)
		res := t.Call(ctx, conformance.Request{Method: http.MethodPost, Path: "/Users/.search", Smaller: half,
			Body: doc{"schemas": []string{scim.SearchRequestMessage}, "filter": long}})
		t.About(res)
		if res.Status == 400 || res.Status == 413 {
			return
		}
		t.Require("status of a search with a filter of "+strconv.Itoa(len(long))+" characters", 200, res.Status)
		t.Expect("users found", []string{"bob"}, labels(t.Fixture, res.IDs()))
		half = res
	}
}

// maxSearched is the largest page that a check requests without a filter: the target may have many users of other clients.
const maxSearched = 1000

// searchServed reports whether POST /Users/.search returns 200. The search requests no items.
func searchServed(ctx context.Context, t *T) bool {
	res := t.Post(ctx, "/Users/.search", doc{"schemas": []string{scim.SearchRequestMessage}, "count": 0})
	return res.Status == 200
}

// search posts a query to /.search under a path. It skips the check if the target does not serve this path: search by POST is optional, and
// the ServiceProviderConfig does not mention it.
func search(ctx context.Context, t *T, path string, members doc) *conformance.Response {
	query := doc{"schemas": []string{scim.SearchRequestMessage}}
	maps.Copy(query, members)
	res := t.Post(ctx, path+"/.search", query)
	t.SkipIf(unserved(res), "the target does not serve POST "+path+"/.search")
	return res
}

// unserved reports whether the status of the response means that the endpoint is not available.
func unserved(res *conformance.Response) bool {
	return slices.Contains([]int{403, 404, 405, 501}, res.Status)
}

// searched calls search and requires the status 200.
func searched(ctx context.Context, t *T, path string, members doc) *conformance.Response {
	res := search(ctx, t, path, members)
	t.Require("status of "+res.Name, 200, res.Status)
	return res
}

// bounded returns a filter that matches only the users of the fixture.
func bounded(t *T) string {
	for _, attribute := range []string{"profileUrl", "title"} {
		common := ""
		for _, o := range t.Fixture {
			value, _ := o.Sent[attribute].(string)
			if !strings.HasPrefix(value, commonAddress) || common != "" && value != common {
				common = ""
				break
			}
			common = value
		}
		if common != "" {
			return attribute + " eq " + quote(common)
		}
	}
	t.SkipIf(t.RejectsPrefixes(), "the target rejects the operator sw, which selects the users of the check")
	return "userName sw " + quote(peoplePrefix(t))
}
