package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

var sorts = needs(conformance.NeedUser, conformance.NeedWrite, conformance.NeedFilter, conformance.NeedSort)

var sort = []check{
	{
		ID:           "sort.ascending",
		Title:        "sortBy orders a list, ascending by default",
		Requirements: reqs("RFC7644-3.4.2.3-02", "RFC7644-3.4.2.3-07"),
		Level:        must,
		Needs:        sorts,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients that read the first pages of an unsorted list get the wrong users.",
		Fix:          "Order by the named attribute before paging.",
		Run: func(ctx context.Context, t *T) {
			order(ctx, t, []string{"bob", "cyd", "dan", "ada"}, "sortBy", "name.familyName")
			order(ctx, t, []string{"bob", "cyd", "dan", "ada"}, "sortBy", "name.familyName", "sortOrder", "ascending")
		},
	},
	{
		ID:           "sort.descending",
		Title:        "sortOrder=descending reverses the order",
		Requirements: reqs("RFC7644-3.4.2.3-06"),
		Level:        must,
		Needs:        sorts,
		Fixture:      people,
		Requests:     1,
		Why:          "If the order is not reversed, clients that request the latest change first get the oldest one.",
		Fix:          "Reverse the order if sortOrder is descending.",
		Run: func(ctx context.Context, t *T) {
			blockedIfUnsorted(ctx, t)
			order(ctx, t, []string{"ada", "dan", "cyd", "bob"}, "sortBy", "name.familyName", "sortOrder", "descending")
		},
	},
	{
		ID:           "sort.pages",
		Title:        "The pages of a sorted list together are in order",
		Requirements: reqs("RFC7644-3.4.2.3-10"),
		Level:        should,
		Needs:        sorts,
		Fixture:      people,
		Requests:     4,
		Why:          "If each page is sorted separately, a client that reads the first pages gets the wrong users.",
		Fix:          "Sort the whole result before paging.",
		Run: func(ctx context.Context, t *T) {
			blockedIfUnsorted(ctx, t)
			blockedIfPagesIgnored(ctx, t)
			var ids []string
			for _, index := range []string{"1", "2", "3", "4"} {
				ids = append(ids, sortedPeople(ctx, t, "sortBy", "name.familyName", "startIndex", index, "count", "1")...)
			}
			t.Expect("users on four pages of one, sorted by name.familyName", []string{"bob", "cyd", "dan", "ada"}, inOrder(t, ids))
		},
	},
	ordered("case-insensitive", "Strings that are not caseExact are ordered case-insensitively", staff, "displayName", "RFC7644-3.4.2.3-08",
		"If all upper-case letters precede lower-case ones, de Boer follows Zuse, and administrators do not find de Boer under D.",
		"Compare values case-insensitively unless the schema sets caseExact to true.",
		by("hal gus ivy fin jon", "sortBy", "displayName"), by("jon fin ivy gus hal", "sortBy", "displayName", "sortOrder", "descending")),
	ordered("missing-last", "Users without a value of the attribute in sortBy come last in ascending order", staff, "nickName",
		"RFC7644-3.4.2.3-05",
		"If absent values come first, clients that read until the first empty value stop too early.",
		"Place absent values last when ascending (NULLS LAST).",
		by("fin hal gus+ivy+jon", "sortBy", "nickName")),
	ordered("missing-first", "Users without a value of the attribute in sortBy come first in descending order", staff, "nickName",
		"RFC7644-3.4.2.3-05",
		"If absent values come last in both directions, clients that reverse an ascending list get another order than the server.",
		"Place absent values first when descending (NULLS FIRST).",
		by("gus+ivy+jon hal fin", "sortBy", "nickName", "sortOrder", "descending")),
	unlessPathUnknown(ordered("primary-value", "A multi-valued attribute is sorted by its primary value", staff, "emails",
		"RFC7644-3.4.2.3-03", "If the server sorts by an arbitrary address of each user, administrators do not find users in the list.",
		"Sort by the element with primary true, or by the first element if none is primary.",
		by(byPrimary, "sortBy", "emails.value"))),
	{
		ID:           "sort.sub-attribute-path",
		Title:        "sortBy accepts the path of a sub-attribute of a multi-valued attribute, such as emails.value",
		Requirements: reqs("RFC7644-3.4.2.3-02", "RFC7644-3.4.2.3-04"),
		Level:        must,
		Needs:        sorts,
		Fixture:      staff,
		Requests:     1,
		Why:          "Clients sort by emails.value; if the server sorts only by emails, they get an unsorted list.",
		Fix:          "Resolve a path with a sub-attribute in sortBy, and sort by this sub-attribute of the primary element.",
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(!fixtureStored(t, "emails"), "the target does not store emails as sent")
			if got, res := pathUnknown(ctx, t); res != nil {
				t.About(res)
				t.Expect("order with sortBy=emails.value, while sortBy=emails returns the expected order", strings.Fields(byPrimary), got)
			}
		},
	},
	ordered("name-ignores-case", "The name in sortBy and its URN are case-insensitive", people, "name", "RFC7644-3.10-03",
		"Clients write names in different case; if the name is not recognized, the list is unsorted.",
		"Compare the name in sortBy and its URN case-insensitively.",
		by(byFamily, "sortBy", "NAME.familyname").insteadOf("name.familyName"),
		by(byFamily, "sortBy", strings.ToUpper(scim.UserSchema)+":name.familyName").insteadOf(scim.UserSchema+":name.familyName")),
	ordered("urn", "sortBy accepts a name with the URN of its schema", people, "name", "RFC7644-3.10-01",
		"Clients generated from schemas qualify every name; if the URN is not resolved, the list is unsorted.",
		"Resolve sortBy as an attribute path, including the URN.",
		by(byFamily, "sortBy", scim.UserSchema+":name.familyName").insteadOf("name.familyName")),
	ordered("user-name", "sortBy=userName sorts users by userName in both directions", staff, "userName", "RFC7644-3.4.2.3-02",
		"Clients sort by userName because every user has it; an unsorted list hides users from administrators.",
		"Order by the named attribute before paging.",
		by("fin gus hal ivy jon", "sortBy", "userName"), by("jon ivy hal gus fin", "sortBy", "userName", "sortOrder", "descending")),
	ordered("reference", "sortBy sorts by the values of a reference, such as profileUrl", staff, "profileUrl", "RFC7644-3.4.2.3-08",
		"Clients that sort by profileUrl get an unsorted list if the server sorts only other strings.", "Order references as caseExact strings.",
		by("fin gus hal ivy+jon", "sortBy", "profileUrl")),
	ordered("with-attributes", "A list can be sorted by an attribute that the parameter attributes does not name", people, "name",
		"RFC7644-3.4.2.3-02",
		"Clients sort by one attribute and request another; they get an unsorted list if the server applies the projection before sorting.",
		"Apply the projection after sorting.",
		by(byFamily, "sortBy", "name.familyName", "attributes", "userName").insteadOf("name.familyName")),
	{
		ID:           "sort.extension",
		Title:        "sortBy accepts an attribute of the enterprise extension and sorts by its values",
		Requirements: reqs("RFC7644-3.4.2.3-02", "RFC7644-3.10-01"),
		Level:        must,
		Needs:        append(slices.Clone(sorts), conformance.NeedEnterprise),
		Fixture:      staff,
		Requests:     2,
		Why:          "If the URN is not resolved, clients that sort organization charts by department get an unsorted list.",
		Fix:          "Accept the URN of an extension, a colon and a name in sortBy.",
		Run:          sortExtension,
	},
	{
		ID:           "sort.date-time",
		Title:        "A list sorted by a dateTime, such as meta.created, is in the order of the times",
		Requirements: reqs("RFC7644-3.4.2.3-08", "RFC7644-3.4.2.3-06"),
		Level:        must,
		Needs:        sorts,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients that request the latest changes first read only the first page; they miss changes that a wrong order puts later.",
		Fix:          "Compare points in time, not strings.",
		Run:          sortDateTime,
	},
	{
		ID:           "sort.first-value",
		Title:        "A multi-valued attribute without a primary value is sorted by its first value",
		Requirements: reqs("RFC7644-3.4.2.3-03"),
		Level:        must,
		Needs:        sorts,
		Fixture:      staff,
		Requests:     1,
		Why:          "If each server chooses another value, clients get a different order from each of them.",
		Fix:          "Use the first element if none is primary.",
		Run:          sortFirstValue,
	},
	{
		ID:           "sort.unknown-attribute",
		Title:        "An unknown name in sortBy is rejected or ignored, without a server error",
		Requirements: reqs("RFC7644-3.4.2.3-02"),
		Level:        should,
		Needs:        sorts,
		Fixture:      people,
		Requests:     2,
		Why:          "If the server inserts any name into a database query, a typing error causes 500, and an attacker can inject SQL.",
		Fix:          "Look sortBy up in the schema; if it names no attribute, return 400 or an unsorted list.",
		Run: func(ctx context.Context, t *T) {
			for _, name := range []string{"scimconfNoSuchAttribute", impossibleName} {
				res := t.Get(ctx, "/Users", "filter", bounded(t), "sortBy", name)
				t.Must(res.Status == 200 || res.Status == 400, "status of a list with sortBy="+name, "200 or 400", res.Status)
				if res.Status == 200 {
					t.Expect("totalResults of a list with sortBy="+name, 5, value(res.Object(), "totalResults"))
				}
			}
		},
	},
	{
		ID:           "sort.hostile-name",
		Title:        "SQL code in sortBy is rejected or ignored, without a server error",
		Requirements: reqs("RFC7644-3.4.2.3-02"),
		Level:        should,
		Needs:        sorts,
		Fixture:      people,
		Requests:     3,
		Why:          "An attacker could read or change the database if the server inserts sortBy into ORDER BY unchecked.",
		Fix:          "Look sortBy up in the schema, and insert only the column of a known attribute into a database query.",
		Run: func(ctx context.Context, t *T) {
			t.BlockedIf(func() string {
				if res := t.Get(ctx, "/Users", "filter", bounded(t), "sortBy", impossibleName); res.Status != 200 && res.Status != 400 {
					return fmt.Sprintf("GET /Users?sortBy=%s returned %d, which sort.unknown-attribute reports", impossibleName, res.Status)
				}
				return ""
			})
			for _, name := range []string{`userName; DROP TABLE users`, `userName' --`, `(SELECT 1)`} {
				res := t.Get(ctx, "/Users", "filter", bounded(t), "sortBy", name)
				t.Holds(res.Status == 200 || res.Status == 400, "status of a list with sortBy="+name, "200 or 400", res.Status)
			}
		},
	},
	{
		ID:           "sort.unknown-order",
		Title:        "An unknown sortOrder is rejected or ignored, without a server error",
		Requirements: reqs("RFC7644-3.4.2.3-06"),
		Level:        must,
		Needs:        sorts,
		Fixture:      people,
		Requests:     1,
		Why:          "If the server inserts any sortOrder into a database query, a typing error causes 500, and an attacker can inject SQL.",
		Fix:          "Accept ascending and descending; for any other value return 400 or use ascending.",
		Run: func(ctx context.Context, t *T) {
			res := t.Get(ctx, "/Users", "filter", bounded(t), "sortBy", "userName", "sortOrder", "sideways")
			t.Holds(res.Status == 200 || res.Status == 400, "status of a list with sortOrder=sideways", "200 or 400", res.Status)
		},
	},
	{
		ID:           "sort.order-alone",
		Title:        "sortOrder without sortBy changes nothing",
		Requirements: reqs("RFC7644-3.4.2.3-06"),
		Level:        may,
		Needs:        sorts,
		Fixture:      people,
		Requests:     2,
		Why:          "If sortOrder alone changes the order, clients that set it by default miss users between pages.",
		Fix:          "Ignore sortOrder if sortBy is absent.",
		Run: func(ctx context.Context, t *T) {
			plain := t.Get(ctx, "/Users", "filter", bounded(t))
			res := t.Get(ctx, "/Users", "filter", bounded(t), "sortOrder", "descending")
			t.Require("status of a list with sortOrder=descending and no sortBy", 200, res.Status)
			skipUnstable(t)
			t.Expect("order with sortOrder=descending and no sortBy, compared with the order without parameters", inOrder(t, plain.IDs()),
				inOrder(t, res.IDs()))
		},
	},
	{
		ID:           "sort.total",
		Title:        "A sorted list neither omits nor repeats users",
		Requirements: reqs("RFC7644-3.4.2.3-02", "RFC7644-3.4.2.4-10"),
		Level:        must,
		Needs:        sorts,
		Fixture:      staff,
		Requests:     2,
		Why:          "A join on the attribute in sortBy omits users without a value and repeats users with two values.",
		Fix:          "Sort with an outer join and one value per resource.",
		Run:          sortTotal,
	},
	{
		ID:           "sort.pages-descending",
		Title:        "With sortOrder=descending, the order continues from page to page",
		Requirements: reqs("RFC7644-3.4.2.3-10", "RFC7644-3.4.2.3-06"),
		Level:        should,
		Needs:        append(slices.Clone(sorts), conformance.NeedIndex),
		Fixture:      people,
		Requests:     3,
		Why:          "Clients read the latest changes first, and stop at the first change that they have; they miss changes on later pages.",
		Fix:          "Reverse the whole result before paging.",
		Run:          sortPagesDescending,
	},
	{
		ID:           "sort.ties",
		Title:        "Users with equal values of the attribute in sortBy have the same order in every response",
		Requirements: reqs("RFC7644-3.4.2.3-10"),
		Level:        should,
		Needs:        sorts,
		Fixture:      staff,
		Requests:     2,
		Why:          "If the order of equal values changes between requests, clients miss users between two pages.",
		Fix:          "Order users with equal values by id or by creation time.",
		Run: func(ctx context.Context, t *T) {
			one := t.Get(ctx, "/Users", "filter", bounded(t), "sortBy", "name.familyName")
			two := t.Get(ctx, "/Users", "filter", bounded(t), "sortBy", "name.familyName")
			t.SkipIf(one.Status != 200, "blocked: the filter that selects the users is rejected")
			t.Expect("order of five users with the same family name in a second request", inOrder(t, one.IDs()), inOrder(t, two.IDs()))
		},
	},
	{
		ID:           "sort.groups",
		Title:        "sortBy and sortOrder sort a list of groups",
		Requirements: reqs("RFC7644-3.4.2.3-02"),
		Level:        must,
		Needs:        needs(conformance.NeedGroup, conformance.NeedWrite, conformance.NeedFilter, conformance.NeedSort),
		Requests:     8,
		Why:          "If only users are sorted, clients that rely on advertised sorting get an unsorted list of groups.",
		Fix:          "Apply sortBy and sortOrder on every endpoint.",
		Run:          sortGroups,
	},
}

func sortExtension(ctx context.Context, t *T) {
	t.SkipIf(!fixtureStored(t, scim.EnterpriseUserSchema), "the target does not store the enterprise extension as sent")
	blockedIfUnsorted(ctx, t)
	for _, r := range []sortRow{by("fin gus hal ivy+jon", "sortOrder", "ascending"), by("ivy+jon hal gus fin", "sortOrder", "descending")} {
		query := append([]string{"filter", bounded(t), "sortBy", enterprise + "employeeNumber"}, r.query...)
		res := t.Get(ctx, "/Users", query...)
		t.Require("status of a list sorted by employeeNumber", 200, res.Status)
		got := inOrder(t, allIDs(ctx, t, res, query...))
		t.Expect("order by employeeNumber, "+r.query[1]+tieNote(r.want), normalizeOrder(r.want), normalizeOrder(groupLike(r.want, got)))
	}
}

func sortDateTime(ctx context.Context, t *T) {
	blockedIfUnsorted(ctx, t)
	for _, direction := range []string{"ascending", "descending"} {
		res := t.Get(ctx, "/Users", "filter", bounded(t), "sortBy", "meta.created", "sortOrder", direction)
		t.Require("status of a list sorted by meta.created, "+direction, 200, res.Status)
		var times []time.Time
		for _, o := range res.Resources() {
			at, err := schema.ParseDateTime(o.Complex("meta").Text("created"))
			t.SkipIf(err != nil, "the target does not return meta.created")
			times = append(times, at)
		}
		if direction == "descending" {
			slices.Reverse(times)
		}
		t.Holds(slices.IsSortedFunc(times, time.Time.Compare), "meta.created of the items, "+direction, "times in order", times)
		t.Holds(len(times) > 0, "items of a list sorted by meta.created", "at least one user", res.Object())
	}
}

func sortFirstValue(ctx context.Context, t *T) {
	first := value(t.Fixture["jon"].Resource, "emails.0.value")
	t.SkipIf(!fixtureStored(t, "emails") || first != t.Fixture["jon"].Sent["emails"].([]doc)[0]["value"] ||
		hasPrimary(t.Fixture["jon"].Resource),
		"the target changes the order of the addresses, or makes one of them primary")
	blockedIfUnsorted(ctx, t)
	res := t.Get(ctx, "/Users", "filter", bounded(t), "sortBy", "emails.value")
	t.Require("status of a list sorted by emails.value", 200, res.Status)
	ids := allIDs(ctx, t, res, "filter", bounded(t), "sortBy", "emails.value")
	t.Expect("first user by emails.value, with the addresses c… and y…, before users with k…, m… and z…", []string{"jon"},
		inOrder(t, ids[:min(1, len(ids))]))
}

func sortTotal(ctx context.Context, t *T) {
	for _, name := range []string{"nickName", "emails.value"} {
		res := t.Get(ctx, "/Users", "filter", bounded(t), "sortBy", name)
		if res.Status == 400 {
			continue
		}
		t.Require("status of a list sorted by "+name, 200, res.Status)
		t.Expect("totalResults of five users sorted by "+name, 5, value(res.Object(), "totalResults"))
		t.Expect("ids of five users sorted by "+name, sorted("fin", "gus", "hal", "ivy", "jon"),
			sorted(inOrder(t, allIDs(ctx, t, res, "filter", bounded(t), "sortBy", name))...))
	}
}

func sortPagesDescending(ctx context.Context, t *T) {
	t.SkipIf(!fixtureStored(t, "name"), "the target does not store name as sent")
	blockedIfUnsorted(ctx, t)
	blockedIfPagesIgnored(ctx, t)
	var ids []string
	for _, index := range []string{"1", "3", "5"} {
		res := t.Get(ctx, "/Users", "filter", bounded(t), "sortBy", "name.familyName", "sortOrder", "descending", "startIndex", index, "count",
			"2")
		t.SkipIf(res.Status == 400, "blocked: the filter that selects the users is rejected")
		t.Require("status of a page of a sorted list", 200, res.Status)
		ids = append(ids, res.IDs()...)
	}
	t.Expect("users on three pages of two, by name.familyName, descending", []string{"eve", "ada", "dan", "cyd", "bob"}, inOrder(t, ids))
}

func sortGroups(ctx context.Context, t *T) {
	named := map[string]*conformance.Created{"m": t.CreateGroup(ctx, "m", nil), "a": t.CreateGroup(ctx, "a", nil),
		"z": t.CreateGroup(ctx, "z", nil)}
	for _, r := range []sortRow{by("a m z", "sortOrder", "ascending"), by("z m a", "sortOrder", "descending")} {
		res := t.Get(ctx, "/Groups", append([]string{"filter", `displayName sw ` + quote(t.Prefix()), "sortBy", "displayName"}, r.query...)...)
		t.SkipIf(res.Status == 400, "blocked: the filter that selects the groups is rejected")
		t.Require("status of a sorted list of groups", 200, res.Status)
		t.SkipIf(len(res.IDs()) < 3, "the target returns smaller pages")
		var got []string
		for _, id := range res.IDs() {
			got = append(got, labels(named, []string{id})...)
		}
		t.Expect("order of the groups, "+r.query[1], strings.Fields(r.want), got)
	}
}

// order records a finding if a sorted list of the users of the fixture, without eve, has another order than wanted.
func order(ctx context.Context, t *T, want []string, query ...string) {
	got := inOrder(t, sortedPeople(ctx, t, query...))
	if t.RejectsPrefixes() { // in place of the operator sw, the check uses a filter that also matches eve
		got = slices.DeleteFunc(got, func(label string) bool { return label == "eve" })
	}
	t.Expect("order of the users", want, got)
}

// ordered returns a check of the order of a fixture's users.
func ordered(id, title string, fixture *conformance.Fixture, attribute, requirement, why, fix string, table ...sortRow) check {
	return check{
		ID:           "sort." + id,
		Title:        title,
		Requirements: reqs(requirement),
		Level:        must,
		Needs:        sorts,
		Fixture:      fixture,
		Requests:     len(table),
		Why:          why,
		Fix:          fix,
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(!fixtureStored(t, attribute), "the target does not store "+attribute+" as sent")
			if id != "user-name" { // that check reports a target that ignores sortBy for this fixture
				blockedIfUnsorted(ctx, t)
			}
			answered := 0
			for _, r := range table {
				query := append([]string{"filter", bounded(t)}, r.query...)
				res := t.Get(ctx, "/Users", query...)
				t.SkipIf(res.Status == 400 && strings.Contains(res.Object().Text("detail"), "filter"),
					"blocked: the filter that selects the users is rejected")
				got := inOrder(t, allIDs(ctx, t, res, query...))
				if res.Status == 200 && r.matches(got) {
					answered++
					continue
				}
				if r.plain != "" {
					if plain, _ := orderOf(ctx, t, "sortBy", r.plain); !r.matches(plain) {
						t.Note("the order with sortBy=%s is wrong too", r.plain)
						continue
					}
				}
				answered++
				t.About(res)
				t.Require("status of a list with "+queryText(r.query), 200, res.Status)
				named := strings.FieldsFunc(r.want, func(c rune) bool { return c == ' ' || c == '+' })
				t.Expect("order with "+queryText(r.query)+tieNote(r.want)+sentValues(t, []string{attribute}, named...), normalizeOrder(r.want), got)
			}
			t.SkipIf(answered == 0, "blocked: the order with a simpler query is wrong too")
		},
	}
}

// matches reports whether labels are in the order that the row expects.
func (r sortRow) matches(labels []string) bool {
	return slices.Equal(normalizeOrder(r.want), normalizeOrder(groupLike(r.want, labels)))
}

// impossibleName is a value of sortBy that no attribute has as its name, because it contains spaces. It is harmless in a query.
const impossibleName = "no such attribute"

// blockedIfUnsorted blocks the check if the target ignores sortBy, which sort.ascending reports: then the order shows nothing about a
// special attribute or parameter.
func blockedIfUnsorted(ctx context.Context, t *T) {
	t.BlockedIf(func() string {
		unsorted, res := orderOf(ctx, t)
		if res.Status != 200 {
			return fmt.Sprintf("GET /Users?filter, which selects the users of the check, returned %d", res.Status)
		}
		for _, query := range [][]string{{"sortBy", "name.familyName"}, {"sortBy", "displayName"},
			{"sortBy", "userName", "sortOrder", "descending"}} {
			if got, _ := orderOf(ctx, t, query...); !slices.Equal(got, unsorted) {
				return ""
			}
		}
		return "GET /Users?sortBy returned the users in the order of a list without sortBy"
	})
}

// byFamily is the order of the users of the fixture people by their family names.
const byFamily = "bob cyd dan ada eve"

// byPrimary is the order of the users of the fixture staff by their primary email addresses.
const byPrimary = "jon hal fin gus ivy"

// orderOf returns the labels of the objects of the fixture in the order of a list with the given query, and the response.
func orderOf(ctx context.Context, t *T, query ...string) ([]string, *conformance.Response) {
	query = append([]string{"filter", bounded(t)}, query...)
	res := t.Get(ctx, "/Users", query...)
	if res.Status != 200 {
		return nil, res
	}
	return inOrder(t, allIDs(ctx, t, res, query...)), res
}

// pathUnknown returns the order by emails.value and its response if the target rejects or ignores this path, although it sorts by the
// primary address if sortBy is emails. Otherwise the response is nil.
func pathUnknown(ctx context.Context, t *T) ([]string, *conformance.Response) {
	want := strings.Fields(byPrimary)
	got, res := orderOf(ctx, t, "sortBy", "emails.value")
	if slices.Equal(got, want) {
		return nil, nil
	}
	if right, _ := orderOf(ctx, t, "sortBy", "emails"); !slices.Equal(right, want) {
		return nil, nil
	}
	if unsorted, _ := orderOf(ctx, t); res.Status == 200 && !slices.Equal(got, unsorted) {
		return nil, nil
	}
	return got, res
}

// unlessPathUnknown returns a check that is skipped if the target sorts by emails, but does not resolve the path emails.value.
func unlessPathUnknown(c check) check {
	run := c.Run
	c.Run = func(ctx context.Context, t *T) {
		_, res := pathUnknown(ctx, t)
		t.SkipIf(res != nil, "the target sorts by emails, but not by the path emails.value: see sort.sub-attribute-path")
		run(ctx, t)
	}
	c.Requests++
	return c
}

// A sortRow is a query and the expected order of labels. A plus sign joins labels with the same value, which can be in any order among
// themselves.
type sortRow struct {
	want  string
	query []string
	plain string // sortBy of a simpler query: if its order is wrong too, the row has no result; empty if there is none
}

func by(want string, query ...string) sortRow { return sortRow{want: want, query: query} }

// insteadOf returns the row with a simpler query, which has only this sortBy.
func (r sortRow) insteadOf(plain string) sortRow {
	r.plain = plain
	return r
}

// tieNote explains the plus signs in an expected order.
func tieNote(want string) string {
	if strings.Contains(want, "+") {
		return " (labels joined by + in any order)"
	}
	return ""
}

// queryText returns the parameters of a query, which contains names and values in turns: "sortBy=userName&sortOrder=descending".
func queryText(query []string) string {
	var out []string
	for i := 0; i+1 < len(query); i += 2 {
		out = append(out, query[i]+"="+query[i+1])
	}
	return strings.Join(out, "&")
}

// normalizeOrder splits an order at its spaces and sorts joined labels.
func normalizeOrder(order string) []string {
	var out []string
	for group := range strings.FieldsSeq(order) {
		out = append(out, strings.Join(sorted(strings.Split(group, "+")...), "+"))
	}
	return out
}

// groupLike joins labels with plus signs into groups of the same sizes as the groups in `like`.
func groupLike(like string, labels []string) string {
	var out []string
	for group := range strings.FieldsSeq(like) {
		n := min(strings.Count(group, "+")+1, len(labels))
		out = append(out, strings.Join(labels[:n], "+"))
		labels = labels[n:]
	}
	return strings.Join(append(out, labels...), " ")
}

// hasPrimary reports whether one of the email addresses is primary.
func hasPrimary(o *scim.Object) bool {
	return slices.ContainsFunc(o.Array("emails"), func(item any) bool {
		email, _ := item.(*scim.Object)
		primary, _ := email.Bool("primary")
		return primary
	})
}

// sortedPeople returns the ids of a sorted list. If the query has no count, it reads all pages.
func sortedPeople(ctx context.Context, t *T, query ...string) []string {
	filter := `userType pr and userName sw ` + quote(peoplePrefix(t))
	if t.RejectsPrefixes() {
		filter = bounded(t)
	}
	query = append([]string{"filter", filter}, query...)
	res := t.Get(ctx, "/Users", query...)
	t.SkipIf(res.Status == 400, "blocked: the filter that selects the users is rejected")
	t.Require("status of a sorted list", 200, res.Status)
	if slices.Contains(query, "count") {
		return res.IDs()
	}
	return allIDs(ctx, t, res, query...)
}

func inOrder(t *T, ids []string) []string {
	var out []string
	for _, id := range ids {
		out = append(out, labels(t.Fixture, []string{id})...)
	}
	return out
}
