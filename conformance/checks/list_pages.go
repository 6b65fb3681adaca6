package checks

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// pagesKnown are the needs of checks that page through a known set of users.
var pagesKnown = slices.Concat(filters, needs(conformance.NeedIndex))

const pagesFix = "Filter first, count all matches, sort them in a stable order, then return count items from startIndex on."

// listPages are the checks of paging through a set of users of which every member is known.
var listPages = []check{
	{
		ID:           "list.known-total",
		Title:        "totalResults is the number of all matches, whatever startIndex and count are",
		Requirements: reqs("RFC7644-3.4.2.4-10", "RFC7644-3.4.2-04"),
		Level:        must,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     4,
		Why:          "A client that relies on totalResults stops paging too early or never.",
		Fix:          pagesFix,
		Run: func(ctx context.Context, t *T) {
			for _, query := range [][]string{{"count", "1"}, {"count", "2", "startIndex", "4"}, {"count", "0"}, {"startIndex", "100"}} {
				t.Expect("totalResults of five users with "+strings.Join(query, " "), 5, value(knownPage(ctx, t, query...).Object(), "totalResults"))
			}
		},
	},
	{
		ID:           "list.known-pages",
		Title:        "Pages of every size together contain every match exactly once",
		Requirements: reqs("RFC7644-3.4.2.4-13", "RFC7644-3.4.2.4-02"),
		Level:        should,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     10,
		Why:          "An import deactivates users that no page contains, and creates users twice that two pages contain.",
		Fix:          pagesFix,
		Run:          listKnownPages,
	},
	{
		ID:           "list.last-page",
		Title:        "The last page has the remaining items, and itemsPerPage is their number",
		Requirements: reqs("RFC7644-3.4.2.4-09", "RFC7644-3.4.2.4-11"),
		Level:        must,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     1,
		Why:          "If the last page also repeats earlier users, clients import them twice. A wrong itemsPerPage causes further requests.",
		Fix:          "Return the items from startIndex to the end, and set itemsPerPage to their number, not to the requested count.",
		Run: func(ctx context.Context, t *T) {
			blockedIfPagesIgnored(ctx, t)
			res := knownPage(ctx, t, "startIndex", "5", "count", "3")
			t.Expect("number of items at startIndex=5 of five users", 1, len(res.Resources()))
			t.Expect("itemsPerPage at startIndex=5 of five users", 1, value(res.Object(), "itemsPerPage"))
			t.Expect("startIndex in the response", 5, value(res.Object(), "startIndex"))
		},
	},
	{
		ID:           "list.start-index-only",
		Title:        "A request with startIndex and without count returns the matches from startIndex on",
		Requirements: reqs("RFC7644-3.4.2.4-02", "RFC7644-3.4.2.4-08"),
		Level:        must,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients that accept any page size omit count; if startIndex is then ignored, they read the first page indefinitely.",
		Fix:          "Use a default for count, and apply startIndex.",
		Run: func(ctx context.Context, t *T) {
			blockedIfStartIndexIgnored(ctx, t)
			all := knownPage(ctx, t)
			t.SkipIf(len(all.IDs()) != 5, "the first page does not contain all five users")
			samePage(t, "with startIndex=3, compared with the third to fifth id of the whole list", all.IDs()[2:],
				knownPage(ctx, t, "startIndex", "3").IDs())
		},
	},
	{
		ID:           "list.count-only",
		Title:        "A request with count and without startIndex returns the matches from the first one on",
		Requirements: reqs("RFC7644-3.4.2.4-02", "RFC7644-3.4.2.4-04"),
		Level:        must,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients omit startIndex in the first request; if the page starts elsewhere, they miss users.",
		Fix:          "Start with the first match if startIndex is absent.",
		Run: func(ctx context.Context, t *T) {
			samePage(t, "with count=2, compared with startIndex=1 and count=2", knownPage(ctx, t, "startIndex", "1", "count", "2").IDs(),
				knownPage(ctx, t, "count", "2").IDs())
		},
	},
	{
		ID:           "list.huge-count",
		Title:        "A very large count, such as 2147483647, is limited and not rejected",
		Requirements: reqs("RFC7644-3.4.2.4-05"),
		Level:        may,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients request as many items as possible; if the server rejects the request, their import fails.",
		Fix:          "Limit count to the largest supported page size.",
		Run: func(ctx context.Context, t *T) {
			for _, count := range []string{"100000", "2147483647"} {
				t.Holds(len(knownPage(ctx, t, "count", count).IDs()) > 0, "number of items with count="+count+" of five users", "at least one", 0)
			}
		},
	},
	{
		ID:           "list.overflow",
		Title:        "A list with a startIndex or count that is a fraction, or exceeds the integer range, returns 200 or 400",
		Requirements: reqs("RFC7644-3.4.2.4-14"),
		Level:        should,
		Needs:        needs(conformance.NeedUser),
		Requests:     4,
		Why:          "An overflow gives a negative offset, the database query fails, and the client retries the 500 indefinitely.",
		Fix:          "Limit startIndex and count to the valid range, or return 400.",
		Run: func(ctx context.Context, t *T) {
			for _, query := range [][]string{{"count", "99999999999999999999"}, {"startIndex", "99999999999999999999"},
				{"startIndex", "2147483647", "count", "2147483647"}, {"count", "1.5"}} {
				res := t.Get(ctx, "/Users", ofNoUser(t, query...)...)
				t.Holds(res.Status == 200 || res.Status == 400, "status of a list with "+strings.Join(query, " "), "200 or 400", res.Status)
			}
		},
	},
	{
		ID:           "list.empty-parameters",
		Title:        "Empty paging parameters are treated as absent or rejected",
		Requirements: reqs("RFC7644-3.4.2.4-14"),
		Level:        should,
		Needs:        needs(conformance.NeedUser),
		Requests:     2,
		Why:          "Administration consoles send empty form fields; a server error prevents administrators from listing users.",
		Fix:          "Treat an empty startIndex or count as absent, or return 400.",
		Run: func(ctx context.Context, t *T) {
			for _, name := range []string{"startIndex", "count"} {
				res := t.Get(ctx, "/Users", ofNoUser(t, name, "")...)
				t.Holds(res.Status == 200 || res.Status == 400, "status of a list with an empty "+name, "200 or 400", res.Status)
			}
		},
	},
	{
		ID:           "list.with-sort",
		Title:        "Filter, sorting and paging can be combined",
		Requirements: reqs("RFC7644-3.4.2.3-10", "RFC7644-3.4.2.4-13"),
		Level:        should,
		Needs:        append(slices.Clone(pagesKnown), conformance.NeedSort),
		Fixture:      people,
		Requests:     2,
		Why:          "Administration consoles use all three in one request; a wrong combination hides users from administrators.",
		Fix:          pagesFix,
		Run:          listWithSort,
	},
	{
		ID:           "list.with-attributes",
		Title:        "The parameter attributes does not change which items are on a page",
		Requirements: reqs("RFC7644-3.4.2.4-10", "RFC7644-3.9-01"),
		Level:        must,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     2,
		Why:          "If the parameter attributes changes the pages, a client that uses it misses users.",
		Fix:          "Select the items of the page first, then omit the attributes that are not requested.",
		Run: func(ctx context.Context, t *T) {
			plain := knownPage(ctx, t, "startIndex", "2", "count", "2")
			projected := knownPage(ctx, t, "startIndex", "2", "count", "2", "attributes", "userName")
			samePage(t, "with attributes=userName, compared with the page without it", plain.IDs(), projected.IDs())
			t.Expect("totalResults with attributes=userName", 5, value(projected.Object(), "totalResults"))
		},
	},
	{
		ID:           "list.items-whole",
		Title:        "An item of a list equals the resource that a GET by id returns",
		Requirements: reqs("RFC7644-3.4.2-09", "RFC7643-7-23"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "A client that imports from lists gets other data than a client that reads each resource.",
		Fix:          "Use the same code to represent list items and single resources.",
		Run:          listItemsWhole,
	},
	{
		ID:           "list.items-typed",
		Title:        "A list of users contains only users",
		Requirements: reqs("RFC7644-3.4.2-09", "RFC7643-3.3-01"),
		Level:        must,
		Needs:        writesUsers,
		Fixture:      fiveUsers,
		Requests:     1,
		Why:          "A client parses every item as a user, so a group causes a parse error or a wrong account.",
		Fix:          "Query only the resource type of the endpoint.",
		Run:          listItemsTyped,
	},
	{
		ID:           "list.distinct",
		Title:        "No user appears twice on a page",
		Requirements: reqs("RFC7644-3.4.2.4-13"),
		Level:        should,
		Needs:        writesUsers,
		Fixture:      fiveUsers,
		Requests:     1,
		Why: "If a page contains a user twice, a client imports two accounts. A typical cause is a database join that repeats users " +
			"with two email addresses.",
		Fix: "Return each resource once, not once for each row of a join with its email addresses.",
		Run: func(ctx context.Context, t *T) {
			res := t.Get(ctx, "/Users", "count", "50")
			t.Require("status of "+res.Name, 200, res.Status)
			ids := sorted(res.IDs()...)
			t.Expect("ids on the page, each once", slices.Compact(slices.Clone(ids)), ids)
		},
	},
	{
		ID:           "list.new-one",
		Title:        "A new user is counted and listed immediately",
		Requirements: reqs("RFC7644-3.4.2-04", "RFC7644-3.4.2.4-10"),
		Level:        must,
		Needs:        slices.Concat(writesUsers, needs(conformance.NeedFilter)),
		Requests:     4,
		Why:          "Clients verify a creation by a query; a client that does not find the user creates it again.",
		Fix: "Include a user in lists and in totalResults as soon as the POST has returned 201; do not read from a delayed replica " +
			"or cache.",
		Run: listNewOne,
	},
	{
		ID:           "list.while-deleting",
		Title:        "Paging continues when a user on an earlier page is deleted",
		Requirements: reqs("RFC7644-3.4.2.4-12", "RFC7644-3.4.2.4-10"),
		Level:        should,
		Needs:        pagesKnown,
		Requests:     11,
		Why:          "Directories change while a client reads them; an error in the middle aborts the import.",
		Fix:          "Compute every page from the current matches; if startIndex is past the last match, return 200 with an empty page.",
		Run:          listWhileDeleting,
	},
	{
		ID:           "list.unknown-parameter",
		Title:        "An unknown query parameter is ignored in lists",
		Requirements: reqs("RFC7644-3.4.2-02"),
		Level:        should,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     1,
		Why:          "Proxies and clients add their own parameters; if the server rejects them, all lists of these clients fail.",
		Fix:          "Ignore unknown parameters.",
		Run: func(ctx context.Context, t *T) {
			t.Expect("totalResults with an unknown parameter", 5, value(knownPage(ctx, t, "scimconfNoSuchParameter", "1").Object(), "totalResults"))
		},
	},
	{
		ID:           "list.advertised-limit",
		Title:        "A page has at most filter.maxResults items",
		Requirements: reqs("RFC7643-5-06", "RFC7644-3.4.2.4-08"),
		Level:        must,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients choose their page size and memory by filter.maxResults; a larger page aborts their import.",
		Fix:          "Limit pages to filter.maxResults of the ServiceProviderConfig, or set filter.maxResults to the actual maximum.",
		Run: func(ctx context.Context, t *T) {
			most := limit(t.Capabilities.ServiceProviderConfig.Complex("filter"), "maxResults")
			t.SkipIf(most <= 0, "the ServiceProviderConfig has no filter.maxResults")
			res := knownPage(ctx, t, "count", strconv.Itoa(most+1))
			t.Holds(len(res.Resources()) <= most, "items of a page with count="+strconv.Itoa(most+1), "at most "+strconv.Itoa(most),
				len(res.Resources()))
		},
	},
	{
		ID:           "list.groups",
		Title:        "Groups are listed and paged in the same way as users",
		Requirements: reqs("RFC7644-3.4.2.4-10", "RFC7644-3.4.2.4-04"),
		Level:        must,
		Needs:        needs(conformance.NeedGroup, conformance.NeedWrite, conformance.NeedIndex, conformance.NeedFilter),
		Requests:     9,
		Why:          "PingFederate reads all groups to find its own; groups that paging omits are created again.",
		Fix:          "Use the same paging code for every endpoint.",
		Run:          listGroups,
	},
	{
		ID:           "list.groups-envelope",
		Title:        "GET of /Groups returns a ListResponse whose items are groups",
		Requirements: reqs("RFC7644-3.4.2-03", "RFC7644-3.4.2-09"),
		Level:        must,
		Needs:        needs(conformance.NeedGroup, conformance.NeedWrite),
		Requests:     3,
		Why:          "Clients parse lists of users and groups with the same code; groups in another form are not imported.",
		Fix: "Return the same envelope as for /Users: schemas with urn:ietf:params:scim:api:messages:2.0:ListResponse, the integers " +
			"totalResults, startIndex and itemsPerPage, and the groups in Resources.",
		Run: listGroupsEnvelope,
	},
	{
		ID:           "list.empty",
		Title:        "An empty list has totalResults 0 and no items",
		Requirements: reqs("RFC7644-3.4.2-08", "RFC7644-3.4.2-03"),
		Level:        must,
		Needs:        asksUsers,
		Requests:     1,
		Why:          "Clients search for a user before they create it; if an empty result is an error, no user is created.",
		Fix:          "Return 200 with a ListResponse; Resources may be absent or empty, not null.",
		Run:          listEmpty,
	},
}

func listKnownPages(ctx context.Context, t *T) {
	blockedIfPagesIgnored(ctx, t)
	for _, size := range []int{1, 2, 4} {
		var ids []string
		for len(ids) < 5 {
			page := knownPage(ctx, t, "startIndex", strconv.Itoa(len(ids)+1), "count", strconv.Itoa(size)).IDs()
			if !t.Holds(len(page) > 0, "items at startIndex="+strconv.Itoa(len(ids)+1)+" of five users", "at least one", 0) {
				break
			}
			ids = append(ids, page...)
		}
		t.Expect("users on all pages with count="+strconv.Itoa(size), sorted(strings.Fields(allPeople)...), labels(t.Fixture, ids))
		t.Expect("number of items on all pages with count="+strconv.Itoa(size), 5, len(ids))
	}
}

func listWithSort(ctx context.Context, t *T) {
	t.SkipIf(!fixtureStored(t, "name") || !fixtureStored(t, "active"), "the target does not store the attributes as sent")
	filter, indexes, want := bounded(t)+" and active eq true", []string{"1", "3"}, []string{"cyd", "dan", "ada"}
	if t.RejectsPrefixes() { // without sw, the target may also reject a filter with the operator and
		filter, indexes, want = bounded(t), []string{"1", "3", "5"}, []string{"bob", "cyd", "dan", "ada", "eve"}
	}
	var ids []string
	for _, index := range indexes {
		res := t.Get(ctx, "/Users", "filter", filter, "sortBy", "name.familyName", "startIndex", index, "count", "2")
		t.SkipIf(res.Declines(), skipUnsupported)
		filterRequired(t, res, "GET /Users?filter="+filter+" with sortBy and count")
		if t.Expect("totalResults of "+strconv.Itoa(len(want))+" users", len(want), value(res.Object(), "totalResults")) {
			blockedIfPagesIgnored(ctx, t)
		}
		ids = append(ids, res.IDs()...)
	}
	t.Expect("users found by "+filter+", on pages of two items, by name.familyName", want, inOrder(t, ids))
}

func listItemsWhole(ctx context.Context, t *T) {
	p := peoplePrefix(t)
	res := t.Get(ctx, "/Users", "filter", "userName eq "+quote(inDomain(t, p+"bob")))
	t.SkipIf(len(res.Resources()) != 1, "blocked: the user is not found by userName")
	item, single := res.Resources()[0], t.Read(ctx, t.Fixture["bob"].Path()).Object()
	t.About(res)
	for _, name := range []string{"id", "userName", "displayName", "active", "externalId", "name.familyName", "emails.0.value",
		"meta.resourceType", "meta.location"} {
		t.Expect(name+" of an item, compared with GET", value(single, name), value(item, name))
	}
}

func listItemsTyped(ctx context.Context, t *T) {
	res := t.Get(ctx, "/Users", "count", "50")
	t.Require("status of "+res.Name, 200, res.Status)
	t.Must(len(res.Resources()) > 0, "Resources of a list of at least five users", "an array of users", value(res.Object(), "Resources"))
	for _, o := range res.Resources() {
		t.Holds(has(o, "userName"), "an item of /Users", "a resource with userName", o)
	}
}

func listNewOne(ctx context.Context, t *T) {
	filter := "userName sw " + quote(t.Prefix())
	if t.RejectsPrefixes() {
		filter = "userName eq " + quote(t.UserName("newcomer"))
	}
	before := t.Get(ctx, "/Users", "filter", filter)
	skipUnselected(t, before, filter)
	u := t.CreateUser(ctx, "newcomer", nil)
	res := t.Get(ctx, "/Users", "filter", filter)
	t.Expect("totalResults before the creation", 0, value(before.Object(), "totalResults"))
	t.Expect("totalResults after the creation", 1, value(res.Object(), "totalResults"))
	t.Expect("ids after the creation", []string{u.ID}, res.IDs())
}

func listWhileDeleting(ctx context.Context, t *T) {
	users := map[string]*conformance.Created{}
	filter, common := "userName sw "+quote(t.Prefix()), doc{}
	if t.RejectsPrefixes() {
		filter, common = "displayName eq "+quote(t.Prefix()), doc{"displayName": t.Prefix()}
	}
	for _, label := range []string{"a", "b", "c", "d"} {
		users[label] = t.CreateUser(ctx, label, common)
	}
	page := func(index string) *conformance.Response {
		res := selectedPage(ctx, t, "/Users", filter, "startIndex", index, "count", "2")
		t.Require("status of a page with startIndex="+index+" while users are deleted", 200, res.Status)
		return res
	}
	first := page("1")
	t.SkipIf(len(first.IDs()) != 2, "the target returns pages of another size than requested")
	for _, u := range byName(users) {
		if slices.Contains(first.IDs(), u.ID) {
			t.SkipIf(!t.Delete(ctx, u.Path()).OK(), "blocked: a user could not be deleted")
		}
	}
	if !t.Expect("totalResults after two of four users were deleted", 2, value(page("3").Object(), "totalResults")) {
		t.BlockedIf(func() string {
			if after := value(page("9").Object(), "totalResults"); !scim.Equal(after, value(page("1").Object(), "totalResults")) {
				return "totalResults of GET /Users with a startIndex past the last match, without a deletion, is " + jsonText(plain(after))
			}
			return ""
		})
	}
	for _, id := range page("1").IDs() {
		t.Holds(!slices.Contains(first.IDs(), id), "users on the first page after the deletion of two users", "no deleted user", id)
	}
}

func listGroups(ctx context.Context, t *T) {
	filter, common := "displayName sw "+quote(t.Prefix()), doc{}
	if t.RejectsPrefixes() {
		filter, common = "displayName eq "+quote(t.Prefix()), doc{"displayName": t.Prefix()}
	}
	named := map[string]*conformance.Created{"a": t.CreateGroup(ctx, "a", common)}
	for _, label := range []string{"b", "c"} {
		if len(common) == 0 {
			named[label] = t.CreateGroup(ctx, label, common)
			continue
		}
		named[label] = t.CreateReduced(ctx, "/Groups", t.Group(label, common))
		t.SkipIf(named[label] == nil, "no filter selects the groups of the check: the target rejects sw, and a second group with the same name")
	}
	var ids []string
	for _, index := range []string{"1", "2", "3"} {
		res := selectedPage(ctx, t, "/Groups", filter, "startIndex", index, "count", "1")
		t.Require("status of a page of groups", 200, res.Status)
		if t.Expect("totalResults of three groups with count=1", 3, value(res.Object(), "totalResults")) {
			blockedIfPagesIgnored(ctx, t)
		}
		t.Holds(len(res.IDs()) <= 1, "number of groups with count=1", "at most 1", len(res.IDs()))
		if has(res.Object(), "startIndex") {
			n, _ := strconv.Atoi(index)
			t.Expect("startIndex in the response", n, value(res.Object(), "startIndex"))
		}
		ids = append(ids, res.IDs()...)
	}
	skipUnstable(t)
	t.Expect("groups on three pages with count=1", []string{"a", "b", "c"}, labels(named, ids))
}

func listGroupsEnvelope(ctx context.Context, t *T) {
	t.CreateGroup(ctx, "listed", nil)
	res := t.Get(ctx, "/Groups", "count", "10")
	t.Require("status of "+res.Name, 200, res.Status)
	t.Holds(slices.Contains(texts(res.Object(), "schemas"), scim.ListResponseMessage), "schemas of a list", scim.ListResponseMessage,
		value(res.Object(), "schemas"))
	isInteger(t, "totalResults", value(res.Object(), "totalResults"))
	t.Must(len(res.Resources()) > 0, "Resources of a list of at least one group", "an array of groups", value(res.Object(), "Resources"))
	for _, o := range res.Resources() {
		t.Holds(o.Text("id") != "" && has(o, "displayName"), "an item of /Groups", "a resource with id and displayName", o)
	}
}

func listEmpty(ctx context.Context, t *T) {
	res := t.Get(ctx, "/Users", "filter", `userName eq "scimconf-nobody-has-this-name"`)
	t.Require("status of an empty list", 200, res.Status)
	t.Holds(slices.Contains(texts(res.Object(), "schemas"), scim.ListResponseMessage), "schemas of an empty list", scim.ListResponseMessage,
		value(res.Object(), "schemas"))
	t.Expect("totalResults of an empty list", 0, value(res.Object(), "totalResults"))
	got, given := res.Object().Get("Resources")
	_, isArray := got.([]any)
	t.Warn(!given || isArray, "Resources of an empty list", "absent, or an empty array", got)
}

// ofNoUser adds a filter without a match to a query. A server that ignores a malformed count, and has no limit of its own, would otherwise
// return every user of its directory. If the server declares that it does not support filters, the query stays as it is.
func ofNoUser(t *T, query ...string) []string {
	if supported, known := t.Capabilities.Supports("filter"); known && !supported {
		return query
	}
	return append(query, "filter", "userName eq "+quote(t.UserName("absent")))
}

// selectedPage requests a page of the objects that a filter selects. query contains the paging parameters as names and values. If the
// target also rejects the filter without them, the check ends: other checks have the finding.
func selectedPage(ctx context.Context, t *T, path, filter string, query ...string) *conformance.Response {
	res := t.Get(ctx, path, append([]string{"filter", filter}, query...)...)
	if res.Status != 200 {
		alone := res
		if len(query) > 0 {
			alone = t.Get(ctx, path, "filter", filter)
		}
		skipUnselected(t, alone, filter)
		t.About(res)
	}
	return res
}

// knownPage is selectedPage for the users of the fixture people. It ends the check if the status is not 200.
func knownPage(ctx context.Context, t *T, query ...string) *conformance.Response {
	res := selectedPage(ctx, t, "/Users", bounded(t), query...)
	t.Require("status of a list of five users with "+strings.Join(query, " "), 200, res.Status)
	return res
}
