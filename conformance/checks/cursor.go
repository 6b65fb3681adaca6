package checks

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// cursors are the needs of the checks of paging by cursor (RFC 9865): only targets whose ServiceProviderConfig declares support.
var cursors = needs(conformance.NeedUser, conformance.NeedWrite, conformance.NeedFilter, conformance.NeedCursor)

const cursorFix = "Implement RFC 9865 section 2: an empty cursor requests the first page, every page but the last has nextCursor, and " +
	"the first page never has previousCursor."

var cursorPaging = []check{
	{
		ID:           "cursor.declared",
		Title:        "A server that returns nextCursor declares pagination by cursor in its ServiceProviderConfig",
		Requirements: reqs("RFC9865-4-01", "RFC9865-4-02"),
		Level:        should,
		Needs:        needs(conformance.NeedUser, conformance.NeedWrite, conformance.NeedFilter),
		Fixture:      people,
		Requests:     1,
		Why:          "Clients choose the method of pagination by the ServiceProviderConfig; they do not use cursors that it does not declare.",
		Fix:          "Add pagination with the booleans cursor and index to the ServiceProviderConfig.",
		Run: func(ctx context.Context, t *T) {
			res := byCursor(ctx, t, "", "2")
			if !res.OK() || !has(res.Object(), "nextCursor") {
				t.NotApplicable("the target returns no nextCursor")
			}
			t.Expect("pagination.cursor in the ServiceProviderConfig of a server that returns nextCursor", true,
				value(t.Capabilities.ServiceProviderConfig, "pagination.cursor"))
		},
	},
	{
		ID: "cursor.configuration",
		Title: "pagination in the ServiceProviderConfig has the booleans cursor and index; its optional members have values that RFC 9865 " +
			"permits",
		Requirements: reqs("RFC9865-4-02", "RFC9865-4-03", "RFC9865-4-04"),
		Level:        must,
		Requests:     1,
		Why:          "Clients select the method and the size of pages by these members; typed clients cannot read members of another type.",
		Fix: "Set cursor and index to true or false, defaultPaginationMethod to cursor or index, and defaultPageSize, maxPageSize and " +
			"cursorTimeout to positive integers; omit an optional member that has no value.",
		Run: cursorConfiguration,
	},
	{
		ID:           "cursor.without-count",
		Title:        "A list by cursor can be requested without count",
		Requirements: reqs("RFC9865-2.4-02", "RFC9865-2-01"),
		Level:        should,
		Needs:        cursors,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients without a preferred page size omit count; a server that requires count returns none of its users to them.",
		Fix:          "Use the default page size if count is absent.",
		Run: func(ctx context.Context, t *T) {
			res := t.Get(ctx, "/Users", "filter", bounded(t), "cursor", "")
			t.Require("status of the first page of a list by cursor without count", 200, res.Status)
			t.Holds(len(res.Resources()) > 0, "items of the first page without count", "at least one of five users", len(res.Resources()))
		},
	},
	{
		ID:           "cursor.next",
		Title:        "The first of several pages has a nextCursor that is a string",
		Requirements: reqs("RFC9865-2-06", "RFC9865-2-01", "RFC9865-2-14", "RFC9865-2.4-02"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     1,
		Why:          "Without nextCursor, a client treats the first page as the complete list and misses all other users.",
		Fix:          cursorFix,
		Run: func(ctx context.Context, t *T) {
			res := firstByCursor(ctx, t, "2")
			text, isText := value(res.Object(), "nextCursor").(string)
			t.Holds(isText && text != "", "nextCursor of a page with two of five users", "a string", value(res.Object(), "nextCursor"))
		},
	},
	{
		ID:           "cursor.envelope",
		Title:        "A page by cursor is a ListResponse",
		Requirements: reqs("RFC9865-2-14"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients parse every list with the same code; a page in another form stops their import.",
		Fix:          "Return the ListResponse of RFC 7644, with the cursors next to Resources.",
		Run:          cursorEnvelope,
	},
	{
		ID:           "cursor.first-page",
		Title:        "The first page has no previousCursor",
		Requirements: reqs("RFC9865-2-09"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients that show a button for the previous page would show it on the first page.",
		Fix:          cursorFix,
		Run: func(ctx context.Context, t *T) {
			res := firstByCursor(ctx, t, "2")
			t.Holds(!has(res.Object(), "previousCursor"), "previousCursor of the first page", "absent", value(res.Object(), "previousCursor"))
		},
	},
	{
		ID:           "cursor.chain",
		Title:        "Following nextCursor to the last page returns every user exactly once",
		Requirements: reqs("RFC9865-2-07", "RFC9865-2-06"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     3,
		Why:          "An import deactivates the users that no page contains, and creates those twice that two pages contain.",
		Fix:          "Let a cursor represent a position in a stable order, for example the id of the last user of the page in the order of ids.",
		Run: func(ctx context.Context, t *T) {
			ids, _ := chain(ctx, t, "2")
			t.Expect("users on all pages", sorted(strings.Fields(allPeople)...), labels(t.Fixture, ids))
			t.Expect("number of items on all pages", 5, len(ids))
		},
	},
	{
		ID:           "cursor.last-page",
		Title:        "Following nextCursor ends at a page without nextCursor",
		Requirements: reqs("RFC9865-2-07"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     3,
		Why:          "With a nextCursor on every page, clients never stop paging.",
		Fix:          "Omit nextCursor on the last page.",
		Run: func(ctx context.Context, t *T) {
			_, pages := chain(ctx, t, "2")
			t.Holds(pages < 10, "number of pages for five users with count=2", "3, or 4 if the last page is empty",
				"10 or more")
		},
	},
	{
		ID:           "cursor.whole",
		Title:        "A page that contains all users has no nextCursor",
		Requirements: reqs("RFC9865-2-07"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients request another page for every nextCursor; after a complete page, that request takes time and returns no user.",
		Fix:          "Omit nextCursor on the last page.",
		Run: func(ctx context.Context, t *T) {
			res := firstByCursor(ctx, t, "50")
			t.SkipIf(len(res.IDs()) != 5, "the target returns smaller pages than requested")
			t.Holds(!has(res.Object(), "nextCursor"), "nextCursor of a page with all five users and count=50", "absent",
				value(res.Object(), "nextCursor"))
		},
	},
	{
		ID:           "cursor.count",
		Title:        "A page by cursor contains at most count items",
		Requirements: reqs("RFC9865-2-05"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients choose count by their memory and timeout; a larger page aborts their import.",
		Fix:          "Apply count to every page, not only to the first.",
		Run: func(ctx context.Context, t *T) {
			first := firstByCursor(ctx, t, "2")
			t.Holds(len(first.Resources()) <= 2, "items of the first page with count=2", "at most 2", len(first.Resources()))
			second := byCursor(ctx, t, nextCursor(t, first), "2")
			t.Holds(len(second.Resources()) <= 2, "items of the second page with count=2", "at most 2", len(second.Resources()))
		},
	},
	{
		ID:           "cursor.count-zero",
		Title:        "A page by cursor with count=0 has no items",
		Requirements: reqs("RFC9865-2-04"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients use count=0 to request only the number of users; a page of users costs time and memory.",
		Fix:          "Distinguish count=0 from an absent count.",
		Run: func(ctx context.Context, t *T) {
			t.Expect("items of a page with count=0", 0, len(firstByCursor(ctx, t, "0").Resources()))
		},
	},
	{
		ID:           "cursor.count-negative",
		Title:        "In a list by cursor, a negative count is treated as 0",
		Requirements: reqs("RFC9865-2-03"),
		Level:        may,
		Needs:        cursors,
		Fixture:      people,
		Requests:     1,
		Why: "A server that ignores a negative count returns all users. The level is may because RFC 9865 is not consistent: section 2 treats " +
			"a negative count as 0, section 2.1 permits 400 invalidCount.",
		Fix: "Treat a negative count as 0.",
		Run: func(ctx context.Context, t *T) {
			res := byCursor(ctx, t, "", "-1")
			t.Require("status of a page with count=-1", 200, res.Status)
			t.Expect("items of a page with count=-1", 0, len(res.Resources()))
		},
	},
	{
		ID:           "cursor.count-garbage",
		Title:        "In a list by cursor, a count that is not a number is rejected with 400 invalidCount, or ignored",
		Requirements: reqs("RFC9865-2.1-04", "RFC9865-2.1-01"),
		Level:        should,
		Needs:        cursors,
		Fixture:      people,
		Requests:     1,
		Why:          "A 500 hides the client's error, and the client retries the request indefinitely.",
		Fix:          "Return 400 with scimType invalidCount.",
		Run: func(ctx context.Context, t *T) {
			res := byCursor(ctx, t, "", "many")
			t.Must(res.Status == 400 || res.Status == 200, "status of a page with count=many", "400 or 200", res.Status)
			if kind := res.ScimType(); res.Status == 400 && kind != "" {
				t.Expect("scimType of a page with count=many", "invalidCount", kind)
			}
		},
	},
	{
		ID:           "cursor.count-changed",
		Title:        "If count changes between pages, the pages together contain all users, or the second page is rejected with 400",
		Requirements: reqs("RFC9865-2.1-04"),
		Level:        should,
		Needs:        cursors,
		Fixture:      people,
		Requests:     2,
		Why: "Clients change count if a page is too large or too slow; if users are missing in the following pages, a client deactivates " +
			"these users.",
		Fix: "Let a cursor represent a position, not a number of pages, or return 400 invalidCount.",
		Run: cursorCountChanged,
	},
	{
		ID:           "cursor.characters",
		Title:        "A cursor contains only characters that need no encoding in URLs",
		Requirements: reqs("RFC9865-2-02"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     1,
		Why:          "Some clients put cursors into URLs unencoded; there, a plus sign is decoded as a space, and the next page is not found.",
		Fix:          "Write cursors as unpadded base64url (RFC 4648 section 5), or as letters and digits.",
		Run: func(ctx context.Context, t *T) {
			cursor := nextCursor(t, firstByCursor(ctx, t, "2"))
			t.Holds(unreserved.MatchString(cursor), "nextCursor", "letters, digits, hyphens, full stops, underscores and tildes", cursor)
		},
	},
	{
		ID:           "cursor.total",
		Title:        "totalResults of a list by cursor, if present, counts all matches",
		Requirements: reqs("RFC9865-2-13"),
		Level:        may,
		Needs:        cursors,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients that rely on a wrong totalResults stop paging too early or too late.",
		Fix:          "Count the matches of the query, or omit totalResults.",
		Run:          cursorTotal,
	},
	{
		ID:           "cursor.invalid",
		Title:        "A cursor that the server never issued is rejected with 400 invalidCursor",
		Requirements: reqs("RFC9865-2.1-02", "RFC9865-2.1-01"),
		Level:        should,
		Needs:        cursors,
		Fixture:      people,
		Requests:     2,
		Why:          "A client that gets the first page for such a cursor starts again and never finishes.",
		Fix:          "Return 400 with scimType invalidCursor.",
		Run:          cursorInvalid,
	},
	{
		ID:           "cursor.tampered",
		Title:        "A cursor in which one character was changed is rejected with 400",
		Requirements: reqs("RFC9865-2.1-02", "RFC9865-5.2-04"),
		Level:        should,
		Needs:        cursors,
		Fixture:      people,
		Requests:     2,
		Why:          "If the server accepts modified cursors, a client can construct a cursor that returns data that it may not read.",
		Fix: "Sign or encrypt cursors, or store them on the server, and return 400 invalidCursor for a cursor that the " +
			"server has not issued.",
		Run: cursorTampered,
	},
	{
		ID:           "cursor.other-filter",
		Title:        "A cursor is rejected with another filter than the one it was issued for",
		Requirements: reqs("RFC9865-2.1-05"),
		Level:        may,
		Needs:        cursors,
		Fixture:      people,
		Requests:     2,
		Why:          "The position of the cursor has no meaning in the result of another filter; the client would miss users.",
		Fix:          "Bind the cursor to the query, and return 400 invalidCursor for another query.",
		Run: func(ctx context.Context, t *T) {
			cursor := nextCursor(t, firstByCursor(ctx, t, "2"))
			res := t.Get(ctx, "/Users", "filter", bounded(t)+" and active eq true", "cursor", cursor, "count", "2")
			t.Expect("status of a page with the cursor of another filter", 400, res.Status)
		},
	},
	{
		ID:           "cursor.other-endpoint",
		Title:        "A cursor of users is rejected for groups",
		Requirements: reqs("RFC9865-2.1-05"),
		Level:        should,
		Needs:        append(slices.Clone(cursors), conformance.NeedGroup),
		Fixture:      people,
		Requests:     2,
		Why:          "The position of the cursor has no meaning in another collection; the client would miss groups.",
		Fix:          "Bind the cursor to the endpoint, and return 400 invalidCursor for another endpoint.",
		Run: func(ctx context.Context, t *T) {
			cursor := nextCursor(t, firstByCursor(ctx, t, "2"))
			res := t.Get(ctx, "/Groups", "cursor", cursor, "count", "2")
			t.Expect("status of a page of groups with a cursor of users", 400, res.Status)
		},
	},
	{
		ID:           "cursor.again",
		Title:        "A valid cursor can be used again and returns the same page",
		Requirements: reqs("RFC9865-4-06"),
		Level:        should,
		Needs:        cursors,
		Fixture:      people,
		Requests:     3,
		Why: "After a broken connection, clients request the page again; if the cursor is invalid then, they have to read the " +
			"whole list again.",
		Fix: "Accept a cursor until it expires, even if it was used.",
		Run: func(ctx context.Context, t *T) {
			cursor := nextCursor(t, firstByCursor(ctx, t, "2"))
			one, two := byCursor(ctx, t, cursor, "2"), byCursor(ctx, t, cursor, "2")
			t.Require("status of the page when requested again", one.Status, two.Status)
			skipUnstable(t)
			t.Expect("ids of the page when requested again", one.IDs(), two.IDs())
		},
	},
	{
		ID:           "cursor.previous",
		Title:        "previousCursor, if present, leads to the previous page",
		Requirements: reqs("RFC9865-2-08", "RFC9865-2-09"),
		Level:        may,
		Needs:        cursors,
		Fixture:      people,
		Requests:     3,
		Why:          "A client that goes back with a wrong previousCursor shows other users than before.",
		Fix:          "Return as previousCursor a cursor for the page before, or omit previousCursor.",
		Run:          cursorPrevious,
	},
	{
		ID:           "cursor.sorted",
		Title:        "Pages by cursor follow the order of sortBy",
		Requirements: reqs("RFC9865-2.2-01"),
		Level:        should,
		Needs:        append(slices.Clone(cursors), conformance.NeedSort),
		Fixture:      people,
		Requests:     3,
		Why:          "If each page is sorted separately, a client that reads only the first pages gets the wrong users.",
		Fix:          "Sort all matches before dividing them into pages; the cursor contains the position in that order.",
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(!fixtureStored(t, "name"), "the target does not store name as sent")
			ids, _ := chain(ctx, t, "2", "sortBy", "name.familyName", "sortOrder", "descending")
			t.Expect("order of the users by name.familyName, descending", []string{"eve", "ada", "dan", "cyd", "bob"}, inOrder(t, ids))
		},
	},
	{
		ID:           "cursor.projected",
		Title:        "The attributes parameter applies to every page by cursor",
		Requirements: reqs("RFC7644-3.9-01", "RFC7644-3.9-02"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     2,
		Why:          "Imports request a few attributes of all users; pages with all attributes make them slow.",
		Fix:          "Apply attributes and excludedAttributes to the items of every page, not only of the first.",
		Run:          cursorProjected,
	},
	{
		ID:           "cursor.search",
		Title:        "A search by POST to .search accepts the members cursor and count",
		Requirements: reqs("RFC9865-3-01"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     3,
		Why:          "Clients that do not put filters into URLs search by POST; without paging they get only the first page.",
		Fix:          "Read cursor and count from the SearchRequest message, as from the query of a GET.",
		Run:          cursorSearch,
	},
	{
		ID:           "cursor.with-index",
		Title:        "A request with both startIndex and cursor is rejected, or one of them is ignored",
		Requirements: reqs("RFC9865-2.4-04"),
		Level:        should,
		Needs:        append(slices.Clone(cursors), conformance.NeedIndex),
		Fixture:      people,
		Requests:     1,
		Why:          "A server that applies both startIndex and cursor skips users, and the client deactivates them.",
		Fix:          "Return 400, or ignore one of the two.",
		Run:          cursorWithIndex,
	},
	{
		ID:           "cursor.default-method",
		Title:        "The response to a request with neither startIndex nor cursor uses the advertised default method of pagination",
		Requirements: reqs("RFC9865-2.4-01", "RFC9865-4-03"),
		Level:        must,
		Needs:        append(slices.Clone(cursors), conformance.NeedIndex),
		Fixture:      people,
		Requests:     1,
		Why:          "A client that supports only the advertised method cannot request the second page if the server uses the other method.",
		Fix:          "If pagination.defaultPaginationMethod is index, return startIndex in this response; if it is cursor, return nextCursor.",
		Run:          cursorDefaultMethod,
	},
	{
		ID:           "cursor.page-size",
		Title:        "No page is larger than the advertised maxPageSize",
		Requirements: reqs("RFC9865-4-05"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients rely on the advertised size for memory and timeouts; a larger page aborts their import.",
		Fix:          "Limit count to pagination.maxPageSize.",
		Run: func(ctx context.Context, t *T) {
			most := limit(t.Capabilities.ServiceProviderConfig.Complex("pagination"), "maxPageSize")
			t.SkipIf(most <= 0, "the ServiceProviderConfig has no maxPageSize")
			if most > maxWalk { // if the target really returns such a page, it may contain all users of a large directory
				total := t.Get(ctx, "/Users", "count", "1").Total()
				t.SkipIf(total > maxWalk, "maxPageSize is "+strconv.Itoa(most)+", and a page of "+strconv.Itoa(total)+" users is too large to read")
			}
			res := t.Get(ctx, "/Users", "cursor", "", "count", strconv.Itoa(most+1))
			t.Require("status of a page with count="+strconv.Itoa(most+1), 200, res.Status)
			t.Holds(len(res.Resources()) <= most, "items of a page with count="+strconv.Itoa(most+1), "at most "+strconv.Itoa(most),
				len(res.Resources()))
		},
	},
}

func cursorConfiguration(ctx context.Context, t *T) {
	res := t.Get(ctx, "/ServiceProviderConfig")
	t.SkipIf(res.Status != 200 || res.Object() == nil, "blocked: the ServiceProviderConfig cannot be read")
	if !has(res.Object(), "pagination") {
		t.NotApplicable("the ServiceProviderConfig has no pagination")
	}
	for _, name := range []string{"cursor", "index"} {
		v := value(res.Object(), "pagination."+name)
		_, isBool := v.(bool)
		t.Holds(isBool, "pagination."+name, "true or false", v)
	}
	p := res.Object().Complex("pagination")
	if has(p, "defaultPaginationMethod") {
		method := value(p, "defaultPaginationMethod")
		t.Warn(method == "cursor" || method == "index", "pagination.defaultPaginationMethod", "cursor or index", method)
	}
	for _, name := range []string{"defaultPageSize", "maxPageSize", "cursorTimeout"} {
		if has(p, name) {
			t.Warn(limit(p, name) > 0, "pagination."+name, "a positive integer", value(p, name))
		}
	}
}

func cursorEnvelope(ctx context.Context, t *T) {
	res := firstByCursor(ctx, t, "2")
	t.Holds(slices.Contains(texts(res.Object(), "schemas"), scim.ListResponseMessage), "schemas of a page by cursor", scim.ListResponseMessage,
		value(res.Object(), "schemas"))
	t.Holds(len(res.Resources()) > 0, "Resources of a page by cursor", "at least one of five users", value(res.Object(), "Resources"))
	if has(res.Object(), "itemsPerPage") {
		t.Expect("itemsPerPage", len(res.Resources()), value(res.Object(), "itemsPerPage"))
	}
}

func cursorCountChanged(ctx context.Context, t *T) {
	first := firstByCursor(ctx, t, "1")
	second := byCursor(ctx, t, nextCursor(t, first), "50")
	if second.Status == 400 {
		return
	}
	t.Require("status of the second page", 200, second.Status)
	ids := append(first.IDs(), second.IDs()...)
	if !has(second.Object(), "nextCursor") {
		t.Expect("users on the first two pages, with count=1 and count=50", sorted(strings.Fields(allPeople)...), labels(t.Fixture, ids))
	}
}

func cursorTotal(ctx context.Context, t *T) {
	first := firstByCursor(ctx, t, "2")
	second := byCursor(ctx, t, nextCursor(t, first), "2")
	for _, res := range []*conformance.Response{first, second} {
		if has(res.Object(), "totalResults") {
			t.About(res)
			t.Expect("totalResults of a page with two of five users", 5, value(res.Object(), "totalResults"))
		}
	}
}

func cursorInvalid(ctx context.Context, t *T) {
	for _, cursor := range []string{"scimconf-no-such-cursor", "0"} {
		res := byCursor(ctx, t, cursor, "2")
		if t.Expect("status of a page with the cursor "+cursor, 400, res.Status) {
			t.Expect("scimType of a page with the cursor "+cursor, "invalidCursor", res.ScimType())
		}
	}
}

func cursorTampered(ctx context.Context, t *T) {
	cursor := nextCursor(t, firstByCursor(ctx, t, "2"))
	middle := len(cursor) / 2
	other := "A"
	if cursor[middle:middle+1] == other {
		other = "B"
	}
	res := byCursor(ctx, t, cursor[:middle]+other+cursor[middle+1:], "2")
	t.Expect("status of a page with a cursor in which one character was changed", 400, res.Status)
}

func cursorPrevious(ctx context.Context, t *T) {
	first := firstByCursor(ctx, t, "2")
	second := byCursor(ctx, t, nextCursor(t, first), "2")
	previous := second.Object().Text("previousCursor")
	t.SkipIf(previous == "", "the target returns no previousCursor")
	back := byCursor(ctx, t, previous, "2")
	skipUnstable(t)
	t.Expect("ids of the page that previousCursor of the second page returns, compared with the first page", first.IDs(), back.IDs())
}

func cursorProjected(ctx context.Context, t *T) {
	first := firstByCursor(ctx, t, "2", "attributes", "userName")
	second := byCursor(ctx, t, nextCursor(t, first), "2", "attributes", "userName")
	for _, o := range append(first.Resources(), second.Resources()...) {
		t.Holds(has(o, "userName") && has(o, "id"), "an item with attributes=userName", "id and userName", o)
		t.Holds(!has(o, "name") && !has(o, "emails"), "an item with attributes=userName", "neither name nor emails", o)
	}
}

func cursorSearch(ctx context.Context, t *T) {
	var ids []string
	cursor := ""
	for range 6 {
		res := searched(ctx, t, "/Users", doc{"filter": bounded(t), "cursor": cursor, "count": 2})
		t.Holds(len(res.IDs()) <= 2, "items of a search with count 2", "at most 2", len(res.IDs()))
		ids = append(ids, res.IDs()...)
		if cursor = res.Object().Text("nextCursor"); cursor == "" {
			break
		}
	}
	t.Expect("users on all pages", sorted(strings.Fields(allPeople)...), labels(t.Fixture, ids))
}

func cursorWithIndex(ctx context.Context, t *T) {
	res := byCursor(ctx, t, "", "2", "startIndex", "2")
	if res.Status == 400 {
		return
	}
	t.Require("status of a page with startIndex and cursor", 200, res.Status)
	index, cursor := has(res.Object(), "startIndex"), has(res.Object(), "nextCursor")
	t.Holds(index != cursor, "members of the response", "either startIndex or nextCursor", res.Object())
}

func cursorDefaultMethod(ctx context.Context, t *T) {
	method := t.Capabilities.ServiceProviderConfig.Complex("pagination").Text("defaultPaginationMethod")
	t.SkipIf(method == "", "the ServiceProviderConfig has no defaultPaginationMethod")
	res := t.Get(ctx, "/Users", "filter", bounded(t), "count", "2")
	t.Require("status of a list without startIndex and cursor", 200, res.Status)
	t.SkipIf(len(res.IDs()) != 2, "the target does not return pages of the requested size")
	if method == "cursor" {
		t.Holds(has(res.Object(), "nextCursor"), "nextCursor of a page with two of five users, while cursor is the default method", "a string",
			value(res.Object(), "nextCursor"))
		return
	}
	t.Expect("startIndex of a page with two of five users, while index is the default method", 1, value(res.Object(), "startIndex"))
}

// limit returns an integer member, 0 if it is absent or not an integer.
func limit(o *scim.Object, name string) int {
	v, _ := o.Get(name)
	if n, ok := v.(interface{ Int64() (int64, error) }); ok {
		if i, err := n.Int64(); err == nil {
			return int(i)
		}
	}
	return 0
}

// byCursor requests a page of the users of the fixture. An empty cursor requests the first page.
func byCursor(ctx context.Context, t *T, cursor, count string, query ...string) *conformance.Response {
	return t.Get(ctx, "/Users", append([]string{"filter", bounded(t), "cursor", cursor, "count", count}, query...)...)
}

// firstByCursor requests the first page by cursor and requires status 200.
func firstByCursor(ctx context.Context, t *T, count string, query ...string) *conformance.Response {
	res := byCursor(ctx, t, "", count, query...)
	t.Require("status of the first page of a list by cursor", 200, res.Status)
	return res
}

// nextCursor returns the cursor of the next page, and skips the check if it is absent.
func nextCursor(t *T, res *conformance.Response) string {
	cursor := res.Object().Text("nextCursor")
	t.SkipIf(cursor == "", "blocked: the first of several pages has no nextCursor")
	return cursor
}

// chain follows nextCursor to the last page, for at most 10 pages, and returns all ids and the number of pages.
func chain(ctx context.Context, t *T, count string, query ...string) (ids []string, pages int) {
	res := firstByCursor(ctx, t, count, query...)
	for pages = 1; ; pages++ {
		ids = append(ids, res.IDs()...)
		cursor := res.Object().Text("nextCursor")
		if cursor == "" || pages == 10 {
			return ids, pages
		}
		res = byCursor(ctx, t, cursor, count, query...)
		t.Require("status of page "+strconv.Itoa(pages+1)+" by cursor", 200, res.Status)
	}
}

var unreserved = regexp.MustCompile(`^[A-Za-z0-9._~-]+$`)
