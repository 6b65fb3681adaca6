package checks

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// pagesKnown are the needs of checks that page through a set they know.
var pagesKnown = slices.Concat(filters, needs(conformance.NeedIndex))

const pagesFix = "Filter first, count all matches, put them into a stable order, then cut out count items from startIndex on."

// listPages are the rules of paging, asked of a set of which every member is known.
var listPages = []check{
	{
		ID:           "list.known-total",
		Title:        "totalResults is the number of matches, whatever page is asked for",
		Requirements: reqs("RFC7644-3.4.2.4-10", "RFC7644-3.4.2-04"),
		Level:        must,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     4,
		Why:          "A client that trusts it stops too early or never.",
		Fix:          pagesFix,
		Run: func(ctx context.Context, t *T) {
			for _, query := range [][]string{{"count", "1"}, {"count", "2", "startIndex", "4"}, {"count", "0"}, {"startIndex", "100"}} {
				t.Expect("totalResults of five users with "+strings.Join(query, " "), 5, value(knownPage(ctx, t, query...).Object(), "totalResults"))
			}
		},
	},
	{
		ID:           "list.known-pages",
		Title:        "Pages of every size hold every match exactly once",
		Requirements: reqs("RFC7644-3.4.2.4-13", "RFC7644-3.4.2.4-02"),
		Level:        should,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     10,
		Why:          "Whom an import does not see is deactivated; whom it sees twice is created twice.",
		Fix:          pagesFix,
		Run:          listKnownPages,
	},
	{
		ID:           "list.last-page",
		Title:        "The last page holds what is left, and says how much that is",
		Requirements: reqs("RFC7644-3.4.2.4-09", "RFC7644-3.4.2.4-11"),
		Level:        must,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     1,
		Why:          "A last page that is filled up repeats users; one that claims to be full makes clients ask on.",
		Fix:          pagesFix,
		Run: func(ctx context.Context, t *T) {
			res := knownPage(ctx, t, "startIndex", "5", "count", "3")
			t.Expect("number of items at startIndex=5 of five users", 1, len(res.Resources()))
			t.Expect("itemsPerPage at startIndex=5 of five users", 1, value(res.Object(), "itemsPerPage"))
			t.Expect("startIndex in the answer", 5, value(res.Object(), "startIndex"))
		},
	},
	{
		ID:           "list.start-index-only",
		Title:        "startIndex works without count",
		Requirements: reqs("RFC7644-3.4.2.4-02", "RFC7644-3.4.2.4-08"),
		Level:        must,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients that take any page size leave count out.",
		Fix:          "Use a default for count, and honour startIndex all the same.",
		Run: func(ctx context.Context, t *T) {
			all := knownPage(ctx, t)
			t.SkipIf(len(all.IDs()) != 5, "the target returns smaller pages")
			t.Expect("ids with startIndex=3, compared with those from the third on", all.IDs()[2:], knownPage(ctx, t, "startIndex", "3").IDs())
		},
	},
	{
		ID:           "list.count-only",
		Title:        "count works without startIndex, from the beginning",
		Requirements: reqs("RFC7644-3.4.2.4-02", "RFC7644-3.4.2.4-04"),
		Level:        must,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     2,
		Why:          "startIndex has a default.",
		Fix:          "Begin with the first match where startIndex is absent.",
		Run: func(ctx context.Context, t *T) {
			t.Expect("ids with count=2, compared with startIndex=1 and count=2", knownPage(ctx, t, "startIndex", "1", "count", "2").IDs(),
				knownPage(ctx, t, "count", "2").IDs())
		},
	},
	{
		ID:           "list.huge-count",
		Title:        "A huge count is cut down, not refused",
		Requirements: reqs("RFC7644-3.4.2.4-05"),
		Level:        may,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients ask for all they can get. A page may hold fewer items than count.",
		Fix:          "Cap count at the largest page.",
		Run: func(ctx context.Context, t *T) {
			for _, count := range []string{"100000", "2147483647"} {
				t.Holds(len(knownPage(ctx, t, "count", count).IDs()) > 0, "number of items with count="+count+" of five users", "at least one", 0)
			}
		},
	},
	{
		ID:           "list.overflow",
		Title:        "Numbers that fit no integer do not break paging",
		Requirements: reqs("RFC7644-3.4.2.4-14"),
		Level:        should,
		Needs:        needs(conformance.NeedUser),
		Requests:     4,
		Why:          "A sum that overflows turns negative, and the database complains.",
		Fix:          "Clamp startIndex and count, or answer 400.",
		Run: func(ctx context.Context, t *T) {
			for _, query := range [][]string{{"count", "99999999999999999999"}, {"startIndex", "99999999999999999999"},
				{"startIndex", "2147483647", "count", "2147483647"}, {"count", "1.5"}} {
				res := t.Get(ctx, "/Users", query...)
				t.Holds(res.Status == 200 || res.Status == 400, "status of a list with "+strings.Join(query, " "), "200 or 400", res.Status)
			}
		},
	},
	{
		ID:           "list.empty-parameters",
		Title:        "Empty paging parameters are read as absent or refused",
		Requirements: reqs("RFC7644-3.4.2.4-14"),
		Level:        should,
		Needs:        needs(conformance.NeedUser),
		Requests:     2,
		Why:          "Forms send empty fields.",
		Fix:          "Use the default, or answer 400.",
		Run: func(ctx context.Context, t *T) {
			for _, name := range []string{"startIndex", "count"} {
				res := t.Get(ctx, "/Users", name, "")
				t.Holds(res.Status == 200 || res.Status == 400, "status of a list with an empty "+name, "200 or 400", res.Status)
			}
		},
	},
	{
		ID:           "list.with-sort",
		Title:        "Filter, sort and page work together",
		Requirements: reqs("RFC7644-3.4.2.3-10", "RFC7644-3.4.2.4-13"),
		Level:        should,
		Needs:        append(slices.Clone(pagesKnown), conformance.NeedSort),
		Fixture:      people,
		Requests:     2,
		Why:          "Tables of administrators do all three at once.",
		Fix:          pagesFix,
		Run:          listWithSort,
	},
	{
		ID:           "list.with-attributes",
		Title:        "Pages of projected items are the same pages",
		Requirements: reqs("RFC7644-3.4.2.4-10", "RFC7644-3.9-01"),
		Level:        must,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     2,
		Why:          "What is shown of a user does not decide which page the user is on.",
		Fix:          "Project after cutting out the page.",
		Run: func(ctx context.Context, t *T) {
			plain := knownPage(ctx, t, "startIndex", "2", "count", "2")
			projected := knownPage(ctx, t, "startIndex", "2", "count", "2", "attributes", "userName")
			t.Expect("ids with attributes=userName, compared with the plain page", plain.IDs(), projected.IDs())
			t.Expect("totalResults with attributes=userName", 5, value(projected.Object(), "totalResults"))
		},
	},
	{
		ID:           "list.items-whole",
		Title:        "The items of a list are the resources that GET returns",
		Requirements: reqs("RFC7644-3.4.2-09", "RFC7643-7-23"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     2,
		Why:          "A client that imports by lists must not know less than one that reads one by one.",
		Fix:          "Represent items with the code that represents single resources.",
		Run:          listItemsWhole,
	},
	{
		ID:           "list.items-typed",
		Title:        "A list of users holds users only",
		Requirements: reqs("RFC7644-3.4.2-09", "RFC7643-3.3-01"),
		Level:        must,
		Needs:        writesUsers,
		Fixture:      crowd,
		Requests:     1,
		Why:          "A client reads every item as a user.",
		Fix:          "Query the type of the endpoint only.",
		Run:          listItemsTyped,
	},
	{
		ID:           "list.distinct",
		Title:        "No user stands on a page twice",
		Requirements: reqs("RFC7644-3.4.2.4-13"),
		Level:        should,
		Needs:        writesUsers,
		Fixture:      crowd,
		Requests:     1,
		Why:          "A join on e-mail addresses doubles whoever has two.",
		Fix:          "Select resources, not rows of a join.",
		Run: func(ctx context.Context, t *T) {
			res := t.Get(ctx, "/Users", "count", "50")
			t.Require("status of "+res.Name, 200, res.Status)
			ids := sorted(res.IDs()...)
			t.Expect("ids on the page, each once", slices.Compact(slices.Clone(ids)), ids)
		},
	},
	{
		ID:           "list.new-one",
		Title:        "A user who was just created is counted and listed at once",
		Requirements: reqs("RFC7644-3.4.2-04", "RFC7644-3.4.2.4-10"),
		Level:        must,
		Needs:        slices.Concat(writesUsers, needs(conformance.NeedFilter)),
		Requests:     4,
		Why:          "Clients check what they did by asking.",
		Fix:          "Count and list from the state that the creation was answered from.",
		Run:          listNewOne,
	},
	{
		ID:           "list.while-deleting",
		Title:        "Paging goes on when somebody on an earlier page is deleted",
		Requirements: reqs("RFC7644-3.4.2.4-14"),
		Level:        should,
		Needs:        pagesKnown,
		Requests:     11,
		Why:          "Directories change while they are read.",
		Fix:          "Answer with what is there; an index past the end is an empty page.",
		Run:          listWhileDeleting,
	},
	{
		ID:           "list.unknown-parameter",
		Title:        "A query parameter that SCIM does not know is ignored in lists",
		Requirements: reqs("RFC7644-3.4.2-02"),
		Level:        should,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     1,
		Why:          "Proxies and clients add parameters of their own.",
		Fix:          "Ignore what is not known.",
		Run: func(ctx context.Context, t *T) {
			t.Expect("totalResults with an unknown parameter", 5, value(knownPage(ctx, t, "scimconfNoSuchParameter", "1").Object(), "totalResults"))
		},
	},
	{
		ID:           "list.advertised-limit",
		Title:        "A page never holds more than filter.maxResults",
		Requirements: reqs("RFC7643-5-06", "RFC7644-3.4.2.4-08"),
		Level:        must,
		Needs:        pagesKnown,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients size what they ask for by it.",
		Fix:          "Cap pages at what the ServiceProviderConfig announces, or announce what is served.",
		Run: func(ctx context.Context, t *T) {
			most := limit(t.Capabilities.ServiceProviderConfig.Complex("filter"), "maxResults")
			t.SkipIf(most <= 0, "the ServiceProviderConfig names no maxResults")
			res := knownPage(ctx, t, "count", strconv.Itoa(most+1))
			t.Holds(len(res.Resources()) <= most, "items of a page with count="+strconv.Itoa(most+1), "at most "+strconv.Itoa(most),
				len(res.Resources()))
		},
	},
	{
		ID:           "list.groups",
		Title:        "Groups are listed and paged like users",
		Requirements: reqs("RFC7644-3.4.2.4-10", "RFC7644-3.4.2.4-04"),
		Level:        must,
		Needs:        needs(conformance.NeedGroup, conformance.NeedWrite, conformance.NeedIndex, conformance.NeedFilter),
		Requests:     9,
		Why:          "PingFederate matches groups by reading all of them.",
		Fix:          "Page every endpoint by the same code.",
		Run:          listGroups,
	},
	{
		ID:           "list.groups-envelope",
		Title:        "A list of groups is a ListResponse of groups",
		Requirements: reqs("RFC7644-3.4.2-03", "RFC7644-3.4.2-09"),
		Level:        must,
		Needs:        needs(conformance.NeedGroup, conformance.NeedWrite),
		Requests:     3,
		Why:          "Clients read both lists with one piece of code.",
		Fix:          "Answer lists of groups with schemas [ListResponse], counters and Resources.",
		Run:          listGroupsEnvelope,
	},
	{
		ID:           "list.empty",
		Title:        "An empty list has totalResults 0 and no items",
		Requirements: reqs("RFC7644-3.4.2-08", "RFC7644-3.4.2-03"),
		Level:        must,
		Needs:        asksUsers,
		Requests:     1,
		Why:          "Creations begin with a lookup that finds nobody.",
		Fix:          "Answer 200 with a ListResponse; Resources may be absent or empty, not null.",
		Run:          listEmpty,
	},
}

func listKnownPages(ctx context.Context, t *T) {
	for _, size := range []int{1, 2, 4} {
		var ids []string
		for len(ids) < 5 {
			page := knownPage(ctx, t, "startIndex", strconv.Itoa(len(ids)+1), "count", strconv.Itoa(size)).IDs()
			if !t.Holds(len(page) > 0, "items at startIndex="+strconv.Itoa(len(ids)+1)+" of five users", "at least one", 0) {
				break
			}
			ids = append(ids, page...)
		}
		t.Expect("users on all pages of "+strconv.Itoa(size), sorted(strings.Fields(everybody)...), labels(t.Fixture, ids))
		t.Expect("number of items on all pages of "+strconv.Itoa(size), 5, len(ids))
	}
}

func listWithSort(ctx context.Context, t *T) {
	t.SkipIf(!kept(t, "name") || !kept(t, "active"), "the target does not keep the attributes as they were sent")
	var ids []string
	for _, index := range []string{"1", "3"} {
		res := t.Get(ctx, "/Users", "filter", bounded(t)+" and active eq true", "sortBy", "name.familyName", "startIndex", index, "count", "2")
		t.SkipIf(res.Status == 400, unanswered)
		t.Expect("totalResults of three users", 3, value(res.Object(), "totalResults"))
		ids = append(ids, res.IDs()...)
	}
	t.Expect("active users on two pages of two, by name.familyName", []string{"cyd", "dan", "ada"}, inOrder(t, ids))
}

func listItemsWhole(ctx context.Context, t *T) {
	p := peoplePrefix(t)
	res := t.Get(ctx, "/Users", "filter", "userName eq "+quote(p+"bob@example.com"))
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
	before := t.Get(ctx, "/Users", "filter", filter)
	t.SkipIf(before.Status != 200, unanswered)
	u := t.CreateUser(ctx, "newcomer", nil)
	res := t.Get(ctx, "/Users", "filter", filter)
	t.Expect("totalResults before the creation", 0, value(before.Object(), "totalResults"))
	t.Expect("totalResults after the creation", 1, value(res.Object(), "totalResults"))
	t.Expect("ids after the creation", []string{u.ID}, res.IDs())
}

func listWhileDeleting(ctx context.Context, t *T) {
	users := map[string]*conformance.Created{}
	for _, label := range []string{"a", "b", "c", "d"} {
		users[label] = t.CreateUser(ctx, label, nil)
	}
	filter := "userName sw " + quote(t.Prefix())
	page := func(index string) *conformance.Response {
		res := t.Get(ctx, "/Users", "filter", filter, "startIndex", index, "count", "2")
		t.SkipIf(res.Status != 200 && t.Get(ctx, "/Users", "filter", filter).Status != 200, unanswered)
		t.About(res)
		t.Require("status of a page with startIndex="+index+" while users are deleted", 200, res.Status)
		return res
	}
	first := page("1")
	t.SkipIf(len(first.IDs()) != 2, "the target returns other pages than asked for")
	for _, u := range users {
		if slices.Contains(first.IDs(), u.ID) {
			t.SkipIf(!t.Delete(ctx, u.Path()).OK(), "blocked: a user could not be deleted")
		}
	}
	t.Expect("totalResults after two of four users were deleted", 2, value(page("3").Object(), "totalResults"))
	for _, id := range page("1").IDs() {
		t.Holds(!slices.Contains(first.IDs(), id), "ids after their deletion", "not listed", id)
	}
}

func listGroups(ctx context.Context, t *T) {
	named := map[string]*conformance.Created{"a": t.CreateGroup(ctx, "a", nil), "b": t.CreateGroup(ctx, "b", nil),
		"c": t.CreateGroup(ctx, "c", nil)}
	var ids []string
	for _, index := range []string{"1", "2", "3"} {
		filter := "displayName sw " + quote(t.Prefix())
		res := t.Get(ctx, "/Groups", "filter", filter, "startIndex", index, "count", "1")
		t.SkipIf(res.Status != 200 && t.Get(ctx, "/Groups", "filter", filter).Status != 200, unanswered)
		t.About(res)
		t.Require("status of a page of groups", 200, res.Status)
		t.Expect("totalResults of three groups with count=1", 3, value(res.Object(), "totalResults"))
		t.Holds(len(res.IDs()) <= 1, "number of groups with count=1", "at most 1", len(res.IDs()))
		if has(res.Object(), "startIndex") {
			n, _ := strconv.Atoi(index)
			t.Expect("startIndex in the answer", n, value(res.Object(), "startIndex"))
		}
		ids = append(ids, res.IDs()...)
	}
	t.Expect("groups on three pages of one", []string{"a", "b", "c"}, labels(named, ids))
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

// knownPage asks for a page of the people of the fixture.
func knownPage(ctx context.Context, t *T, query ...string) *conformance.Response {
	res := t.Get(ctx, "/Users", append([]string{"filter", bounded(t)}, query...)...)
	if res.Status != 200 {
		// What the filter alone does not get is the question of other checks: sw may be declined.
		t.SkipIf(len(query) == 0 || t.Get(ctx, "/Users", "filter", bounded(t)).Status != 200, unanswered)
		t.About(res)
	}
	t.Require("status of a list of five users with "+strings.Join(query, " "), 200, res.Status)
	return res
}
