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

// Paging by cursor (RFC 9865). The checks ask targets only that say in their ServiceProviderConfig that they do it.
var cursors = needs(conformance.NeedUser, conformance.NeedWrite, conformance.NeedFilter, conformance.NeedCursor)

const cursorFix = "See RFC 9865 section 2: an empty cursor asks for the first page, nextCursor stands in every page but the last, " +
	"previousCursor never in the first."

var cursorPaging = []check{
	{
		ID:           "cursor.next",
		Title:        "The first of several pages has a nextCursor, which is a text",
		Requirements: reqs("RFC9865-2-06", "RFC9865-2-01", "RFC9865-2-14", "RFC9865-2.4-02"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     1,
		Why:          "Without it a client takes the first page for everything.",
		Fix:          cursorFix,
		Run: func(ctx context.Context, t *T) {
			res := firstByCursor(ctx, t, "2")
			text, isText := value(res.Object(), "nextCursor").(string)
			t.Holds(isText && text != "", "nextCursor of a page of two out of five", "a text", value(res.Object(), "nextCursor"))
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
		Why:          "Clients read it with the code that reads every list.",
		Fix:          "Answer with the ListResponse of RFC 7644, with the cursors beside Resources.",
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
		Why:          "Clients show a button for it.",
		Fix:          cursorFix,
		Run: func(ctx context.Context, t *T) {
			res := firstByCursor(ctx, t, "2")
			t.Holds(!has(res.Object(), "previousCursor"), "previousCursor of the first page", "absent", value(res.Object(), "previousCursor"))
		},
	},
	{
		ID:           "cursor.chain",
		Title:        "Following nextCursor to the end visits everybody exactly once",
		Requirements: reqs("RFC9865-2-07", "RFC9865-2-06"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     3,
		Why:          "Whom an import does not see is deactivated; whom it sees twice is created twice.",
		Fix:          "Let a cursor stand for a place in a stable order.",
		Run: func(ctx context.Context, t *T) {
			ids, _ := chain(ctx, t, "2")
			t.Expect("users on all pages", sorted(strings.Fields(everybody)...), labels(t.Fixture, ids))
			t.Expect("number of items on all pages", 5, len(ids))
		},
	},
	{
		ID:           "cursor.last-page",
		Title:        "The chain of cursors ends",
		Requirements: reqs("RFC9865-2-07"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     3,
		Why:          "A nextCursor on every page sends clients round for ever.",
		Fix:          "Leave nextCursor out when nothing follows.",
		Run: func(ctx context.Context, t *T) {
			_, pages := chain(ctx, t, "2")
			t.Holds(pages < 10, "number of pages of two out of five", "3, and one more where the end is not known before",
				"10, and still a nextCursor")
		},
	},
	{
		ID:           "cursor.whole",
		Title:        "Everything on one page needs no nextCursor",
		Requirements: reqs("RFC9865-2-07"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     1,
		Why:          "A nextCursor says that there is more.",
		Fix:          "Leave nextCursor out when nothing follows.",
		Run: func(ctx context.Context, t *T) {
			res := firstByCursor(ctx, t, "50")
			t.SkipIf(len(res.IDs()) != 5, "the target returns smaller pages than asked for")
			t.Holds(!has(res.Object(), "nextCursor"), "nextCursor of a page of five out of five, with count=50", "absent",
				value(res.Object(), "nextCursor"))
		},
	},
	{
		ID:           "cursor.count",
		Title:        "A page by cursor never holds more items than count",
		Requirements: reqs("RFC9865-2-05"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients size their buffers by it.",
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
		Title:        "count=0 by cursor returns no items",
		Requirements: reqs("RFC9865-2-04"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     1,
		Why:          "It is how clients ask for a number.",
		Fix:          "Tell count=0 from an absent count.",
		Run: func(ctx context.Context, t *T) {
			t.Expect("items of a page with count=0", 0, len(firstByCursor(ctx, t, "0").Resources()))
		},
	},
	{
		ID:           "cursor.count-negative",
		Title:        "A negative count by cursor is read as 0",
		Requirements: reqs("RFC9865-2-03"),
		Level:        may,
		Needs:        cursors,
		Fixture:      people,
		Requests:     1,
		Why:          "Section 2 of RFC 9865 says so, while its table of errors has invalidCount for it: both are seen.",
		Fix:          "Clamp count to 0.",
		Run: func(ctx context.Context, t *T) {
			res := byCursor(ctx, t, "", "-1")
			t.Require("status of a page with count=-1", 200, res.Status)
			t.Expect("items of a page with count=-1", 0, len(res.Resources()))
		},
	},
	{
		ID:           "cursor.count-garbage",
		Title:        "A count by cursor that is no number is refused with 400 invalidCount or ignored",
		Requirements: reqs("RFC9865-2.1-04", "RFC9865-2.1-01"),
		Level:        should,
		Needs:        cursors,
		Fixture:      people,
		Requests:     1,
		Why:          "A 500 for a typing mistake hides the mistake.",
		Fix:          "Answer 400 with scimType invalidCount.",
		Run: func(ctx context.Context, t *T) {
			res := byCursor(ctx, t, "", "many")
			t.Require("400 or 200 for count=many", true, res.Status == 400 || res.Status == 200)
			if kind := res.ScimType(); res.Status == 400 && kind != "" {
				t.Expect("scimType for count=many", "invalidCount", kind)
			}
		},
	},
	{
		ID:           "cursor.count-changed",
		Title:        "A count that changes between pages loses nobody, or is refused with 400",
		Requirements: reqs("RFC9865-2.1-04"),
		Level:        should,
		Needs:        cursors,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients adapt their pages to what they can take.",
		Fix:          "Let a cursor stand for a place, not for a number of pages; or answer 400 invalidCount.",
		Run:          cursorCountChanged,
	},
	{
		ID:           "cursor.characters",
		Title:        "Cursors consist of characters that need no encoding in URLs",
		Requirements: reqs("RFC9865-2-02"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients put cursors into URLs as they are; a plus or a slash arrives as something else.",
		Fix:          "Use unpadded base64url, or digits and letters.",
		Run: func(ctx context.Context, t *T) {
			cursor := nextCursor(t, firstByCursor(ctx, t, "2"))
			t.Holds(unreserved.MatchString(cursor), "nextCursor", "letters, digits, hyphens, full stops, underscores and tildes", cursor)
		},
	},
	{
		ID:           "cursor.total",
		Title:        "totalResults of a list by cursor, where it is given, counts all matches",
		Requirements: reqs("RFC9865-2-13"),
		Level:        may,
		Needs:        cursors,
		Fixture:      people,
		Requests:     2,
		Why:          "It may be left out, or be an estimate; a number that is given is believed.",
		Fix:          "Count the matches of the query, or leave totalResults out.",
		Run:          cursorTotal,
	},
	{
		ID:           "cursor.invalid",
		Title:        "A cursor that was never given out is refused with 400 invalidCursor",
		Requirements: reqs("RFC9865-2.1-02", "RFC9865-2.1-01"),
		Level:        should,
		Needs:        cursors,
		Fixture:      people,
		Requests:     2,
		Why:          "A client whose cursor is answered with the first page begins again and never ends.",
		Fix:          "Answer 400 with scimType invalidCursor.",
		Run:          cursorInvalid,
	},
	{
		ID:           "cursor.tampered",
		Title:        "A cursor that was changed is refused, without a server error",
		Requirements: reqs("RFC9865-2.1-02", "RFC9865-5.2-04"),
		Level:        should,
		Needs:        cursors,
		Fixture:      people,
		Requests:     2,
		Why:          "A cursor that can be edited reads what its holder was not given.",
		Fix:          "Sign or encrypt cursors, or keep them on the server.",
		Run:          cursorTampered,
	},
	{
		ID:           "cursor.other-filter",
		Title:        "A cursor is refused for another filter than the one it was given for",
		Requirements: reqs("RFC9865-2.1-05"),
		Level:        may,
		Needs:        cursors,
		Fixture:      people,
		Requests:     2,
		Why:          "A place in one result means nothing in another.",
		Fix:          "Bind the cursor to the query, and answer 400 invalidCursor for others.",
		Run: func(ctx context.Context, t *T) {
			cursor := nextCursor(t, firstByCursor(ctx, t, "2"))
			res := t.Get(ctx, "/Users", "filter", bounded(t)+" and active eq true", "cursor", cursor, "count", "2")
			t.Expect("status of a page with the cursor of another filter", 400, res.Status)
		},
	},
	{
		ID:           "cursor.other-endpoint",
		Title:        "A cursor of users is refused for groups",
		Requirements: reqs("RFC9865-2.1-05"),
		Level:        should,
		Needs:        append(slices.Clone(cursors), conformance.NeedGroup),
		Fixture:      people,
		Requests:     2,
		Why:          "A place among users means nothing among groups.",
		Fix:          "Bind the cursor to the endpoint, and answer 400 invalidCursor for others.",
		Run: func(ctx context.Context, t *T) {
			cursor := nextCursor(t, firstByCursor(ctx, t, "2"))
			res := t.Get(ctx, "/Groups", "cursor", cursor, "count", "2")
			t.Expect("status of a page of groups with a cursor of users", 400, res.Status)
		},
	},
	{
		ID:           "cursor.again",
		Title:        "A cursor can be used again as long as it is valid, and gives the same page",
		Requirements: reqs("RFC9865-4-06"),
		Level:        should,
		Needs:        cursors,
		Fixture:      people,
		Requests:     3,
		Why:          "A client whose connection broke asks for the page once more.",
		Fix:          "Keep a cursor until its time is over, also when it was used.",
		Run: func(ctx context.Context, t *T) {
			cursor := nextCursor(t, firstByCursor(ctx, t, "2"))
			one, two := byCursor(ctx, t, cursor, "2"), byCursor(ctx, t, cursor, "2")
			t.Require("status of the page when it is asked for again", one.Status, two.Status)
			t.Expect("ids of the page when it is asked for again", one.IDs(), two.IDs())
		},
	},
	{
		ID:           "cursor.previous",
		Title:        "previousCursor, where it is given, leads back to the page before",
		Requirements: reqs("RFC9865-2-08", "RFC9865-2-09"),
		Level:        may,
		Needs:        cursors,
		Fixture:      people,
		Requests:     3,
		Why:          "It is optional; who offers it is taken at the word.",
		Fix:          cursorFix,
		Run:          cursorPrevious,
	},
	{
		ID:           "cursor.sorted",
		Title:        "Pages by cursor follow the order that sortBy asks for",
		Requirements: reqs("RFC9865-2.2-01"),
		Level:        should,
		Needs:        append(slices.Clone(cursors), conformance.NeedSort),
		Fixture:      people,
		Requests:     3,
		Why:          "Sorting each page for itself gives no order at all.",
		Fix:          "Let the cursor hold the place in the order asked for.",
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(!kept(t, "name"), "the target does not keep name as it was sent")
			ids, _ := chain(ctx, t, "2", "sortBy", "name.familyName", "sortOrder", "descending")
			t.Expect("order of all pages by name.familyName, descending", []string{"eve", "ada", "dan", "cyd", "bob"}, inOrder(t, ids))
		},
	},
	{
		ID:           "cursor.projected",
		Title:        "attributes= works on every page by cursor",
		Requirements: reqs("RFC7644-3.9-01", "RFC7644-3.9-02"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     2,
		Why:          "Imports ask for two or three attributes of everybody.",
		Fix:          "Project the items of every page.",
		Run:          cursorProjected,
	},
	{
		ID:           "cursor.search",
		Title:        "cursor and count work in a search by POST",
		Requirements: reqs("RFC9865-3-01"),
		Level:        must,
		Needs:        cursors,
		Fixture:      people,
		Requests:     3,
		Why:          "Clients that keep filters out of URLs page as well.",
		Fix:          "Read cursor from the message like the other members.",
		Run:          cursorSearch,
	},
	{
		ID:           "cursor.with-index",
		Title:        "startIndex and cursor in one request are refused, or one of them is ignored",
		Requirements: reqs("RFC9865-2.4-04"),
		Level:        should,
		Needs:        append(slices.Clone(cursors), conformance.NeedIndex),
		Fixture:      people,
		Requests:     1,
		Why:          "A mix of both pages skips users.",
		Fix:          "Answer 400, or let one of the two decide.",
		Run:          cursorWithIndex,
	},
	{
		ID:           "cursor.default-method",
		Title:        "Without paging parameters the advertised default method is used",
		Requirements: reqs("RFC9865-2.4-01", "RFC9865-4-03"),
		Level:        must,
		Needs:        append(slices.Clone(cursors), conformance.NeedIndex),
		Fixture:      people,
		Requests:     1,
		Why:          "Clients that know nothing of cursors send startIndex next.",
		Fix:          "Answer as pagination.defaultPaginationMethod says: with startIndex, or with nextCursor.",
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
		Why:          "Clients allocate what the ServiceProviderConfig announces.",
		Fix:          "Cap count at pagination.maxPageSize.",
		Run: func(ctx context.Context, t *T) {
			most := limit(t.Capabilities.ServiceProviderConfig.Complex("pagination"), "maxPageSize")
			t.SkipIf(most <= 0, "the ServiceProviderConfig names no maxPageSize")
			res := t.Get(ctx, "/Users", "cursor", "", "count", strconv.Itoa(most+1))
			t.Require("status of a page with count="+strconv.Itoa(most+1), 200, res.Status)
			t.Holds(len(res.Resources()) <= most, "items of a page with count="+strconv.Itoa(most+1), "at most "+strconv.Itoa(most),
				len(res.Resources()))
		},
	},
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
		t.Expect("users on a page of one and a page of fifty", sorted(strings.Fields(everybody)...), labels(t.Fixture, ids))
	}
}

func cursorTotal(ctx context.Context, t *T) {
	first := firstByCursor(ctx, t, "2")
	second := byCursor(ctx, t, nextCursor(t, first), "2")
	for _, res := range []*conformance.Response{first, second} {
		if has(res.Object(), "totalResults") {
			t.About(res)
			t.Expect("totalResults of a page of two out of five", 5, value(res.Object(), "totalResults"))
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
	t.SkipIf(previous == "", "the target gives no previousCursor")
	back := byCursor(ctx, t, previous, "2")
	t.Expect("ids of the page that previousCursor of the second page leads to, compared with the first", first.IDs(), back.IDs())
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
	t.Expect("users on all pages", sorted(strings.Fields(everybody)...), labels(t.Fixture, ids))
}

func cursorWithIndex(ctx context.Context, t *T) {
	res := byCursor(ctx, t, "", "2", "startIndex", "2")
	if res.Status == 400 {
		return
	}
	t.Require("status of a page with startIndex and cursor", 200, res.Status)
	index, cursor := has(res.Object(), "startIndex"), has(res.Object(), "nextCursor")
	t.Holds(index != cursor, "members of the answer", "either startIndex or nextCursor", res.Object())
}

func cursorDefaultMethod(ctx context.Context, t *T) {
	method := t.Capabilities.ServiceProviderConfig.Complex("pagination").Text("defaultPaginationMethod")
	t.SkipIf(method == "", "the ServiceProviderConfig names no default method")
	res := t.Get(ctx, "/Users", "filter", bounded(t), "count", "2")
	t.Require("status of a list without startIndex and cursor", 200, res.Status)
	t.SkipIf(len(res.IDs()) != 2, "the target returns other pages than asked for")
	if method == "cursor" {
		t.Holds(has(res.Object(), "nextCursor"), "nextCursor of a page of two out of five, while cursor is the default", "a text",
			value(res.Object(), "nextCursor"))
		return
	}
	t.Expect("startIndex of a page of two out of five, while index is the default", 1, value(res.Object(), "startIndex"))
}

// limit returns an integer member, 0 when it is none.
func limit(o *scim.Object, name string) int {
	v, _ := o.Get(name)
	if n, ok := v.(interface{ Int64() (int64, error) }); ok {
		if i, err := n.Int64(); err == nil {
			return int(i)
		}
	}
	return 0
}

// byCursor asks for a page of the people of the fixture; an empty cursor asks for the first one.
func byCursor(ctx context.Context, t *T, cursor, count string, query ...string) *conformance.Response {
	return t.Get(ctx, "/Users", append([]string{"filter", bounded(t), "cursor", cursor, "count", count}, query...)...)
}

// firstByCursor is byCursor for the first page, which must come.
func firstByCursor(ctx context.Context, t *T, count string, query ...string) *conformance.Response {
	res := byCursor(ctx, t, "", count, query...)
	t.Require("status of the first page of a list by cursor", 200, res.Status)
	return res
}

// nextCursor returns the cursor of the next page, and skips the check when there is none.
func nextCursor(t *T, res *conformance.Response) string {
	cursor := res.Object().Text("nextCursor")
	t.SkipIf(cursor == "", "blocked: the first of several pages has no nextCursor")
	return cursor
}

// chain follows nextCursor from the first page to the end and returns all ids and the number of pages.
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
