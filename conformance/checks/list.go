package checks

import (
	"context"
	"slices"
	"strconv"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// fiveUsers is a fixture of five users for the checks of lists. The target may have any number of other users.
var fiveUsers = &conformance.Fixture{
	Name:     "crowd",
	Requests: 10,
	Build: func(ctx context.Context, t *T) map[string]*conformance.Created {
		users := map[string]*conformance.Created{}
		for i := range 5 {
			label := "c" + strconv.Itoa(i+1)
			users[label] = t.CreateUser(ctx, label, nil)
		}
		return users
	},
}

// maxWalk is the maximum number of resources that a check pages through; the check is skipped if the collection is larger.
const maxWalk = 2000

var list = []check{
	{
		ID:           "list.envelope",
		Title:        "A list is a ListResponse with totalResults, startIndex and itemsPerPage as JSON integers",
		Requirements: reqs("RFC7644-3.4.2-03", "RFC7644-3.4.2-04", "RFC7644-3.4.2.4-15", "RFC7644-3.4.2-05", "RFC7644-3.4.2-09"),
		Level:        must,
		Needs:        writesUsers,
		Fixture:      fiveUsers,
		Requests:     1,
		Why: "Clients reject a body without the ListResponse schema, and many cannot parse totalResults if it is a string such as " +
			"\"5\".",
		Fix: "Return schemas [ListResponse]; totalResults, startIndex and itemsPerPage as integers; and Resources as an array.",
		Run: runListEnvelope,
	},
	{
		ID:           "list.total",
		Title:        "totalResults is the number of all matches, not of those on the page",
		Requirements: reqs("RFC7644-3.4.2.4-10", "RFC7644-3.4.2-04"),
		Level:        must,
		Needs:        writesUsers,
		Fixture:      fiveUsers,
		Requests:     1,
		Why:          "A client that reads totalResults as the end of the list stops after the first page and deactivates all other users.",
		Fix:          "Count the matches of the query before applying startIndex and count.",
		Run: func(ctx context.Context, t *T) {
			res := t.Get(ctx, "/Users", "startIndex", "1", "count", "2")
			t.Require("status of "+res.Name, 200, res.Status)
			t.Holds(res.Total() >= 5, "totalResults with count=2, while five users of this run exist", "at least 5",
				value(res.Object(), "totalResults"))
		},
	},
	{
		ID:           "list.count",
		Title:        "A page has at most count items, and itemsPerPage is the number of items on it",
		Requirements: reqs("RFC7644-3.4.2.4-04", "RFC7644-3.4.2.4-09"),
		Level:        must,
		Needs:        writesUsers,
		Fixture:      fiveUsers,
		Requests:     2,
		Why:          "Clients add itemsPerPage to startIndex to request the next page; with a wrong number they skip or repeat users.",
		Fix:          "Use count as a limit; set itemsPerPage to the number of items on this page.",
		Run:          listCount,
	},
	{
		ID:           "list.count-zero",
		Title:        "count=0 and a negative count return no items, and totalResults still counts the users",
		Requirements: reqs("RFC7644-3.4.2.4-07", "RFC7644-3.4.2.4-06"),
		Level:        must,
		Needs:        writesUsers,
		Fixture:      fiveUsers,
		Requests:     2,
		Why:          "Clients use count=0 to request only the size of a directory; if totalResults is wrong, they import too few users.",
		Fix:          "Distinguish count=0 from an absent count, and treat a negative count as 0.",
		Run:          listCountZero,
	},
	{
		ID:           "list.start-index-below-one",
		Title:        "A startIndex of 0 or less is treated as 1",
		Requirements: reqs("RFC7644-3.4.2.4-03", "RFC7644-3.4.2.4-02"),
		Level:        must,
		Needs:        writesUsers,
		Fixture:      fiveUsers,
		Requests:     3,
		Why:          "Clients that count from 0 miss the first user, or get an error, if 0 is not treated as 1.",
		Fix:          "Treat a startIndex below 1 as 1 before computing the offset, and return 1 as startIndex.",
		Run:          listStartIndexBelowOne,
	},
	{
		ID:           "list.start-index",
		Title:        "Consecutive pages by startIndex have no user in common, and each response repeats startIndex",
		Requirements: reqs("RFC7644-3.4.2.4-02", "RFC7644-3.4.2.4-11", "RFC7644-3.4.2-06"),
		Level:        must,
		Needs:        writesUsers,
		Fixture:      fiveUsers,
		Requests:     2,
		Why:          "A client loops indefinitely over the first page if the server ignores startIndex.",
		Fix:          "Skip startIndex-1 matches, and return the index of the first item of the page.",
		Run:          listStartIndex,
	},
	{
		ID:           "list.start-index-beyond",
		Title:        "A startIndex past the end returns 200 with no items and the same totalResults",
		Requirements: reqs("RFC7644-3.4.2.4-12"),
		Level:        should,
		Needs:        writesUsers,
		Fixture:      fiveUsers,
		Requests:     3,
		Why:          "Clients stop paging at the first empty page; after an error they discard the whole import.",
		Fix: "Return 200 with an empty list, not an error and not the items of another page, and count the matches of the query for " +
			"totalResults.",
		Run: listStartIndexBeyond,
	},
	{
		ID:           "list.walk",
		Title:        "Paging through the list returns every user exactly once",
		Requirements: reqs("RFC7644-3.4.2.4-13", "RFC7644-3.4.2.4-10"),
		Level:        should,
		Needs:        writesUsers,
		Fixture:      fiveUsers,
		Requests:     4,
		Why: "An import that misses users deactivates them at the next synchronization; an import that sees users twice creates " +
			"duplicates.",
		Fix: "Return lists without sortBy in a stable order, by creation time or by id.",
		Run: listWalk,
	},
	{
		ID:           "list.stable-order",
		Title:        "Two identical list requests return the users in the same order",
		Requirements: reqs("RFC7644-3.4.2.4-13"),
		Level:        should,
		Needs:        writesUsers,
		Fixture:      fiveUsers,
		Requests:     2,
		Why:          "If the order changes between requests, clients that read pages by index miss users or get them twice.",
		Fix:          "Return lists without sortBy in a stable order, by creation time or by id.",
		Run: func(ctx context.Context, t *T) {
			one, two := t.Get(ctx, "/Users", "count", "50"), t.Get(ctx, "/Users", "count", "50")
			t.Expect("ids of the second response, compared with the first", one.IDs(), two.IDs())
		},
	},
	{
		ID:           "list.garbage-parameters",
		Title:        "A startIndex or count that is not a number is rejected or ignored, without a server error",
		Requirements: reqs("RFC7644-3.4.2.4-14"),
		Level:        should,
		Needs:        needs(conformance.NeedUser),
		Requests:     2,
		Why:          "A 500 hides the client's error, and the client retries the request indefinitely.",
		Fix:          "Return 400, or use the default, if a value is not a number.",
		Run: func(ctx context.Context, t *T) {
			for _, query := range [][]string{{"startIndex", "first"}, {"count", "ten"}} {
				res := t.Get(ctx, "/Users", ofNoUser(t, query...)...)
				t.Holds(res.Status == 200 || res.Status == 400, "status of "+res.Name+" with "+query[0]+"="+query[1], "200 or 400", res.Status)
			}
		},
	},
}

// blockedIfCountIgnored blocks the check if the target returns more users than count, which list.count reports.
func blockedIfCountIgnored(ctx context.Context, t *T) {
	t.BlockedIf(func() string {
		if res := t.Get(ctx, "/Users", "count", "2"); len(res.IDs()) > 2 {
			return "GET /Users?count=2 returned more than two users, which list.count reports"
		}
		return ""
	})
}

// blockedIfStartIndexIgnored blocks the check if the target returns the users of startIndex=1 for startIndex=3, which list.start-index
// reports.
func blockedIfStartIndexIgnored(ctx context.Context, t *T) {
	t.BlockedIf(func() string {
		first := t.Get(ctx, "/Users", "startIndex", "1", "count", "2")
		later := t.Get(ctx, "/Users", "startIndex", "3", "count", "2")
		if later.Status == 200 && len(first.IDs()) > 1 && slices.Equal(first.IDs(), later.IDs()) {
			return "GET /Users?startIndex=3 returned the items of startIndex=1, which list.start-index reports"
		}
		return ""
	})
}

// blockedIfPagesIgnored blocks the check if the target ignores count or startIndex.
func blockedIfPagesIgnored(ctx context.Context, t *T) {
	blockedIfCountIgnored(ctx, t)
	blockedIfStartIndexIgnored(ctx, t)
}

func runListEnvelope(ctx context.Context, t *T) {
	res := t.Get(ctx, "/Users", "startIndex", "1", "count", "3")
	t.Require("status of "+res.Name, 200, res.Status)
	t.Must(res.Object() != nil, "body of "+res.Name, "a JSON object", string(res.Body))
	t.Holds(slices.Contains(texts(res.Object(), "schemas"), scim.ListResponseMessage), "schemas of a list", scim.ListResponseMessage,
		value(res.Object(), "schemas"))
	isInteger(t, "totalResults", value(res.Object(), "totalResults"))
	for _, counter := range []string{"startIndex", "itemsPerPage"} {
		if has(res.Object(), counter) || res.Total() > len(res.Resources()) {
			isInteger(t, counter, value(res.Object(), counter))
		}
	}
	t.Must(len(res.Resources()) > 0, "Resources of a list of at least five users", "an array of users", value(res.Object(), "Resources"))
	for _, o := range res.Resources() {
		t.Holds(o.Text("id") != "", "id of an item", "a string", value(o, "id"))
		t.Holds(len(texts(o, "schemas")) > 0, "schemas of an item", "at least one", value(o, "schemas"))
	}
}

func listCount(ctx context.Context, t *T) {
	for _, count := range []int{1, 3} {
		res := t.Get(ctx, "/Users", "count", strconv.Itoa(count))
		t.Require("status of "+res.Name, 200, res.Status)
		n := len(res.Resources())
		t.Holds(n <= count, "items with count="+strconv.Itoa(count), "at most "+strconv.Itoa(count), n)
		if has(res.Object(), "itemsPerPage") {
			t.Expect("itemsPerPage of a page of "+strconv.Itoa(n), n, value(res.Object(), "itemsPerPage"))
		}
	}
}

func listCountZero(ctx context.Context, t *T) {
	blockedIfCountIgnored(ctx, t)
	for _, count := range []string{"0", "-2"} {
		res := t.Get(ctx, "/Users", "count", count)
		t.Require("status of "+res.Name+" with count="+count, 200, res.Status)
		t.Expect("number of items with count="+count, 0, len(res.Resources()))
		t.Holds(res.Total() >= 5, "totalResults with count="+count+", while five users of this run exist", "at least 5",
			value(res.Object(), "totalResults"))
	}
}

func listStartIndexBelowOne(ctx context.Context, t *T) {
	first := t.Get(ctx, "/Users", "startIndex", "1", "count", "2")
	for _, index := range []string{"0", "-3"} {
		res := t.Get(ctx, "/Users", "startIndex", index, "count", "2")
		t.Require("status of "+res.Name+" with startIndex="+index, 200, res.Status)
		samePage(t, "with startIndex="+index+", compared with startIndex=1", first.IDs(), res.IDs())
		if has(res.Object(), "startIndex") {
			t.Expect("startIndex in the response", 1, value(res.Object(), "startIndex"))
		}
	}
}

func listStartIndex(ctx context.Context, t *T) {
	first := t.Get(ctx, "/Users", "startIndex", "1", "count", "2")
	second := t.Get(ctx, "/Users", "startIndex", "3", "count", "2")
	t.Require("status of "+second.Name, 200, second.Status)
	t.SkipIf(len(first.IDs()) < 2, "the target returns smaller pages than requested")
	t.Must(len(second.IDs()) > 0, "items with startIndex=3, while at least five users exist", "at least one", len(second.IDs()))
	if ids := first.IDs(); len(ids) > 2 { // list.count reports that
		n := min(len(ids)-2, len(second.IDs()))
		samePage(t, "with startIndex=3, compared with those after the second one with startIndex=1", ids[2:n+2], second.IDs()[:n])
	} else {
		for _, id := range stable(t, second.IDs()) {
			t.Holds(!slices.Contains(first.IDs(), id), "users of the pages startIndex=1 and startIndex=3 with count=2", "no user on both pages",
				id+" is on both")
		}
	}
	if slices.Equal(first.IDs(), second.IDs()) {
		return // the target ignores startIndex, and the value in its response is that of the page
	}
	t.Expect("startIndex in the response", 3, value(second.Object(), "startIndex"))
}

// samePage expects that two pages contain the same ids in the same order. If the order of lists is not stable, it compares only the number
// of items: the RFC defines no order without sortBy.
func samePage(t *T, what string, want, got []string) {
	if t.Capabilities.Steadiness.UnstableOrder {
		t.Expect("number of items "+what, len(want), len(got))
		return
	}
	t.Expect("ids "+what, want, got)
}

// sameItems expects that two lists contain the same ids, in the same order if the order of lists is stable.
func sameItems(t *T, what string, want, got []string) {
	if t.Capabilities.Steadiness.UnstableOrder {
		want, got = sorted(want...), sorted(got...)
	}
	t.Expect("ids "+what, want, got)
}

// stable returns the ids of a page if the order of lists is stable, otherwise none. In an unstable order, two pages may contain the same
// user, and this is not a finding.
func stable(t *T, ids []string) []string {
	if t.Capabilities.Steadiness.UnstableOrder {
		return nil
	}
	return ids
}

// skipUnstable skips a check of pages without sortBy if the order of lists is not stable, because it is then undefined which users are on a
// page.
func skipUnstable(t *T) {
	t.SkipIf(t.Capabilities.Steadiness.UnstableOrder, "blocked: the order of lists changes from request to request (steadiness.list-order)")
}

func listStartIndexBeyond(ctx context.Context, t *T) {
	blockedIfStartIndexIgnored(ctx, t)
	before := t.Get(ctx, "/Users", "count", "1").Total()
	res := t.Get(ctx, "/Users", "startIndex", "1000000000", "count", "2")
	t.Require("status of "+res.Name+" with startIndex=1000000000", 200, res.Status)
	t.Expect("number of items with startIndex=1000000000", 0, len(res.Resources()))
	// The number is requested again, because other clients may have created or deleted users since the first request.
	after := t.Get(ctx, "/Users", "count", "1").Total()
	t.About(res)
	t.Holds(res.Total() >= min(before, after) && res.Total() <= max(before, after), "totalResults with startIndex=1000000000",
		"totalResults with startIndex=1, "+strconv.Itoa(after), value(res.Object(), "totalResults"))
}

func listWalk(ctx context.Context, t *T) {
	blockedIfStartIndexIgnored(ctx, t)
	var odd []string
	for range 2 { // A second attempt follows if the pages are wrong, because another client may have changed users meanwhile.
		odd = nil
		seen, total := walk(ctx, t)
		ids := sorted(slices.DeleteFunc(slices.Clone(seen), func(id string) bool { return id == "" })...)
		if len(slices.Compact(slices.Clone(ids))) != len(ids) {
			odd = append(odd, "some users are on two pages")
		}
		if found := len(labels(t.Fixture, ids)); found != 5 {
			odd = append(odd, strconv.Itoa(5-found)+" of the five users of this run are on no page")
		}
		if len(seen) != total {
			odd = append(odd, strconv.Itoa(len(seen))+" items on all pages, totalResults "+strconv.Itoa(total))
		}
		if len(odd) == 0 {
			return
		}
	}
	t.Holds(false, "all pages together", "every user once, and as many users as totalResults", odd)
}

// walk pages through all users with a page size that gives several pages. It returns the ids in order and the totalResults of the last
// page. An item without an id has the id "": it takes a place on its page, and other checks report it.
func walk(ctx context.Context, t *T) (ids []string, total int) {
	total = t.Get(ctx, "/Users", "count", "0").Total()
	t.SkipIf(total > maxWalk, "the target has more than "+strconv.Itoa(maxWalk)+" users")
	size := strconv.Itoa(max(2, (total+2)/3))
	for {
		res := t.Get(ctx, "/Users", "startIndex", strconv.Itoa(len(ids)+1), "count", size)
		t.Require("status of "+res.Name, 200, res.Status)
		total = res.Total()
		items := res.Object().Array("Resources")
		for _, item := range items {
			o, _ := item.(*scim.Object)
			ids = append(ids, o.Text("id"))
		}
		if len(items) == 0 || len(ids) >= min(total, maxWalk) {
			return ids, total
		}
	}
}
