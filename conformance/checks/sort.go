package checks

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

var sorts = needs(conformance.NeedUser, conformance.NeedWrite, conformance.NeedFilter, conformance.NeedSort)

var sort = []check{
	{
		ID:           "sort.ascending",
		Title:        "sortBy orders a list, ascending unless told otherwise",
		Requirements: reqs("RFC7644-3.4.2.3-02", "RFC7644-3.4.2.3-07"),
		Level:        must,
		Needs:        sorts,
		Fixture:      people,
		Requests:     2,
		Why:          "Who advertises sorting is taken at the word.",
		Fix:          "Order by the named attribute before cutting out the page.",
		Run: func(ctx context.Context, t *T) {
			order(ctx, t, []string{"bob", "cyd", "dan", "ada"}, "sortBy", "name.familyName")
			order(ctx, t, []string{"bob", "cyd", "dan", "ada"}, "sortBy", "name.familyName", "sortOrder", "ascending")
		},
	},
	{
		ID:           "sort.descending",
		Title:        "sortOrder=descending turns the order round",
		Requirements: reqs("RFC7644-3.4.2.3-06"),
		Level:        must,
		Needs:        sorts,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients that want the latest change first get the oldest one.",
		Fix:          "Honor sortOrder.",
		Run: func(ctx context.Context, t *T) {
			order(ctx, t, []string{"ada", "dan", "cyd", "bob"}, "sortBy", "name.familyName", "sortOrder", "descending")
		},
	},
	{
		ID:           "sort.pages",
		Title:        "The pages of a sorted list follow one another in order",
		Requirements: reqs("RFC7644-3.4.2.3-10"),
		Level:        should,
		Needs:        sorts,
		Fixture:      people,
		Requests:     4,
		Why:          "Sorting each page for itself gives no order at all.",
		Fix:          "Sort the whole result, then cut out the page.",
		Run: func(ctx context.Context, t *T) {
			var ids []string
			for _, index := range []string{"1", "2", "3", "4"} {
				ids = append(ids, sortedPeople(ctx, t, "sortBy", "name.familyName", "startIndex", index, "count", "1")...)
			}
			t.Expect("users of four pages of one, sorted by name.familyName", []string{"bob", "cyd", "dan", "ada"}, inOrder(t, ids))
		},
	},
	ordered("case-insensitive", "Texts that are not caseExact are ordered case-insensitively", staff, "displayName", "RFC7644-3.4.2.3-08",
		"By code points all capitals come before all small letters, and de Boer ends behind Zuse.",
		"Fold before comparing, unless the schema says caseExact.",
		by("hal gus ivy fin jon", "sortBy", "displayName"), by("jon fin ivy gus hal", "sortBy", "displayName", "sortOrder", "descending")),
	ordered("missing-last", "Who has no value for sortBy comes last", staff, "nickName", "RFC7644-3.4.2.3-05",
		"Clients that read until the first empty value stop too early otherwise.",
		"Put absent values behind all others when ascending (NULLS LAST).",
		by("fin hal gus+ivy+jon", "sortBy", "nickName")),
	ordered("missing-first", "Who has no value for sortBy comes first when descending", staff, "nickName", "RFC7644-3.4.2.3-05",
		"Descending is ascending turned round, absent values included.", "Put absent values before all others when descending (NULLS FIRST).",
		by("gus+ivy+jon hal fin", "sortBy", "nickName", "sortOrder", "descending")),
	ordered("primary-value", "A multi-valued attribute is sorted by its primary value", staff, "emails", "RFC7644-3.4.2.3-03",
		"A list of addresses in which each row is sorted by another column is no order.",
		"Sort by the element with primary true, and by the first one where there is none.",
		by("jon hal fin gus ivy", "sortBy", "emails.value")),
	ordered("name-ignores-case", "The name in sortBy is recognized in any letter case", people, "name", "RFC7644-3.10-03",
		"Clients write names as in their own schema.", "Resolve sortBy as an attribute path.",
		by("bob cyd dan ada eve", "sortBy", "NAME.familyname")),
	ordered("urn", "The name in sortBy may be qualified with its schema's URN", people, "name", "RFC7644-3.10-01",
		"Clients generated from schemas qualify every name.", "Resolve sortBy as an attribute path, URN included.",
		by("bob cyd dan ada eve", "sortBy", scim.UserSchema+":name.familyName")),
	ordered("user-name", "sortBy works on userName", staff, "userName", "RFC7644-3.4.2.3-02",
		"It is the one attribute that everybody has.", "Order by the named attribute before cutting out the page.",
		by("fin gus hal ivy jon", "sortBy", "userName"), by("jon ivy hal gus fin", "sortBy", "userName", "sortOrder", "descending")),
	ordered("reference", "sortBy works on a reference", staff, "profileUrl", "RFC7644-3.4.2.3-08",
		"References are texts, and sorted as such.", "Order references like texts that are caseExact.",
		by("fin gus hal ivy+jon", "sortBy", "profileUrl")),
	ordered("with-attributes", "A list is sorted by an attribute that it does not show", people, "name", "RFC7644-3.4.2.3-02",
		"Clients sort by one attribute and read another.", "Sort first, project last.",
		by("bob cyd dan ada eve", "sortBy", "name.familyName", "attributes", "userName")),
	{
		ID:           "sort.extension",
		Title:        "sortBy works on an attribute of the enterprise extension",
		Requirements: reqs("RFC7644-3.4.2.3-02", "RFC7644-3.10-01"),
		Level:        must,
		Needs:        append(slices.Clone(sorts), conformance.NeedEnterprise),
		Fixture:      staff,
		Requests:     2,
		Why:          "Organization charts are read by department.",
		Fix:          "Resolve sortBy below the extension's URN as well.",
		Run:          sortExtension,
	},
	{
		ID:           "sort.date-time",
		Title:        "DateTimes are ordered by time",
		Requirements: reqs("RFC7644-3.4.2.3-08", "RFC7644-3.4.2.3-06"),
		Level:        must,
		Needs:        sorts,
		Fixture:      people,
		Requests:     2,
		Why:          "Clients that want the latest change first read the first page only.",
		Fix:          "Compare instants, not texts.",
		Run:          sortDateTime,
	},
	{
		ID:           "sort.first-value",
		Title:        "A multi-valued attribute without a primary value is sorted by its first one",
		Requirements: reqs("RFC7644-3.4.2.3-03"),
		Level:        must,
		Needs:        sorts,
		Fixture:      staff,
		Requests:     1,
		Why:          "The rule makes the order the same on every server.",
		Fix:          "Take the first element where none is primary.",
		Run:          sortFirstValue,
	},
	{
		ID:           "sort.unknown-attribute",
		Title:        "An unknown name in sortBy is rejected or ignored, without a server error",
		Requirements: reqs("RFC7644-3.4.2.3-02"),
		Level:        should,
		Needs:        sorts,
		Fixture:      people,
		Requests:     1,
		Why:          "A name that reaches the database unread breaks it, or worse.",
		Fix:          "Resolve sortBy against the schema; return 400 or leave the list unsorted.",
		Run: func(ctx context.Context, t *T) {
			res := t.Get(ctx, "/Users", "filter", bounded(t), "sortBy", "scimconfNoSuchAttribute")
			t.Must(res.Status == 200 || res.Status == 400, "status of a list with sortBy=scimconfNoSuchAttribute", "200 or 400", res.Status)
			if res.Status == 200 {
				t.Expect("totalResults of a list with sortBy=scimconfNoSuchAttribute", 5, value(res.Object(), "totalResults"))
			}
		},
	},
	{
		ID:           "sort.hostile-name",
		Title:        "Code in sortBy is rejected or ignored, without a server error",
		Requirements: reqs("RFC7644-3.4.2.3-02"),
		Level:        should,
		Needs:        sorts,
		Fixture:      people,
		Requests:     3,
		Why:          "sortBy becomes ORDER BY, where parameters do not work and people paste texts together.",
		Fix:          "Look the name up; never put it into the text of a query.",
		Run: func(ctx context.Context, t *T) {
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
		Why:          "A word that reaches the database unread breaks it, or worse.",
		Fix:          "Take ascending and descending; return 400 for anything else, or read it as ascending.",
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
		Why:          "Without an attribute there is nothing to turn round. RFC 7644 does not say what happens.",
		Fix:          "Ignore sortOrder where sortBy is absent.",
		Run: func(ctx context.Context, t *T) {
			plain := t.Get(ctx, "/Users", "filter", bounded(t))
			res := t.Get(ctx, "/Users", "filter", bounded(t), "sortOrder", "descending")
			t.Require("status of a list with sortOrder=descending and no sortBy", 200, res.Status)
			t.Expect("order with sortOrder=descending and no sortBy, compared with neither", inOrder(t, plain.IDs()), inOrder(t, res.IDs()))
		},
	},
	{
		ID:           "sort.total",
		Title:        "Sorting neither loses nor adds users",
		Requirements: reqs("RFC7644-3.4.2.3-02", "RFC7644-3.4.2.4-10"),
		Level:        must,
		Needs:        sorts,
		Fixture:      staff,
		Requests:     2,
		Why:          "A join on the attribute to sort by drops who does not have it, and doubles who has it twice.",
		Fix:          "Sort with an outer join, by one value per resource.",
		Run:          sortTotal,
	},
	{
		ID:           "sort.pages-descending",
		Title:        "The pages of a list in descending order follow one another",
		Requirements: reqs("RFC7644-3.4.2.3-10", "RFC7644-3.4.2.3-06"),
		Level:        should,
		Needs:        append(slices.Clone(sorts), conformance.NeedIndex),
		Fixture:      people,
		Requests:     3,
		Why:          "The latest change is on the first page, and the one before it on the second.",
		Fix:          "Turn the whole result round, then cut out the page.",
		Run:          sortPagesDescending,
	},
	{
		ID:           "sort.ties",
		Title:        "Users with the same value come in the same order every time",
		Requirements: reqs("RFC7644-3.4.2.3-10"),
		Level:        should,
		Needs:        sorts,
		Fixture:      staff,
		Requests:     2,
		Why:          "An order that changes among equals loses users between two pages.",
		Fix:          "Break ties by id or by creation.",
		Run: func(ctx context.Context, t *T) {
			one := t.Get(ctx, "/Users", "filter", bounded(t), "sortBy", "name.familyName")
			two := t.Get(ctx, "/Users", "filter", bounded(t), "sortBy", "name.familyName")
			t.SkipIf(one.Status != 200, "blocked: the filter that selects the users is rejected")
			t.Expect("order of five users with one family name, asked for again", inOrder(t, one.IDs()), inOrder(t, two.IDs()))
		},
	},
	{
		ID:           "sort.groups",
		Title:        "Groups can be sorted as well",
		Requirements: reqs("RFC7644-3.4.2.3-02"),
		Level:        must,
		Needs:        needs(conformance.NeedGroup, conformance.NeedWrite, conformance.NeedFilter, conformance.NeedSort),
		Requests:     8,
		Why:          "The ServiceProviderConfig says it for the whole target.",
		Fix:          "Honor sortBy and sortOrder on every endpoint.",
		Run:          sortGroups,
	},
}

func sortExtension(ctx context.Context, t *T) {
	t.SkipIf(!kept(t, scim.EnterpriseUserSchema), "the target does not store the enterprise extension as sent")
	for _, r := range []sortRow{by("fin gus hal ivy+jon", "sortOrder", "ascending"), by("ivy+jon hal gus fin", "sortOrder", "descending")} {
		query := append([]string{"filter", bounded(t), "sortBy", enterprise + "employeeNumber"}, r.query...)
		res := t.Get(ctx, "/Users", query...)
		t.Require("status of a list sorted by employeeNumber", 200, res.Status)
		got := inOrder(t, rest(ctx, t, res, query...))
		t.Expect("order by employeeNumber, "+r.query[1]+tied(r.want), canonical(r.want), canonical(regroup(r.want, got)))
	}
}

func sortDateTime(ctx context.Context, t *T) {
	for _, direction := range []string{"ascending", "descending"} {
		res := t.Get(ctx, "/Users", "filter", bounded(t), "sortBy", "meta.created", "sortOrder", direction)
		t.Require("status of a list sorted by meta.created, "+direction, 200, res.Status)
		var times []time.Time
		for _, o := range res.Resources() {
			at, err := time.Parse(time.RFC3339, o.Complex("meta").Text("created"))
			t.SkipIf(err != nil, "the target does not return meta.created")
			times = append(times, at)
		}
		if direction == "descending" {
			slices.Reverse(times)
		}
		t.Holds(slices.IsSortedFunc(times, time.Time.Compare), "meta.created of the items, "+direction, "one after the other", times)
		t.Holds(len(times) > 0, "items of a list sorted by meta.created", "the users of this run", res.Object())
	}
}

func sortFirstValue(ctx context.Context, t *T) {
	first := value(t.Fixture["jon"].Resource, "emails.0.value")
	t.SkipIf(!kept(t, "emails") || first != t.Fixture["jon"].Sent["emails"].([]doc)[0]["value"] || hasPrimary(t.Fixture["jon"].Resource),
		"the target orders the addresses itself, or makes one of them primary")
	res := t.Get(ctx, "/Users", "filter", bounded(t), "sortBy", "emails.value")
	t.Require("status of a list sorted by emails.value", 200, res.Status)
	ids := rest(ctx, t, res, "filter", bounded(t), "sortBy", "emails.value")
	t.Expect("who comes first by emails.value, with the addresses c… and y…, before k…, m… and z…", []string{"jon"},
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
			sorted(inOrder(t, rest(ctx, t, res, "filter", bounded(t), "sortBy", name))...))
	}
}

func sortPagesDescending(ctx context.Context, t *T) {
	t.SkipIf(!kept(t, "name"), "the target does not store name as sent")
	var ids []string
	for _, index := range []string{"1", "3", "5"} {
		res := t.Get(ctx, "/Users", "filter", bounded(t), "sortBy", "name.familyName", "sortOrder", "descending", "startIndex", index, "count",
			"2")
		t.SkipIf(res.Status == 400, "blocked: the filter that selects the users is rejected")
		t.Require("status of a page of a sorted list", 200, res.Status)
		ids = append(ids, res.IDs()...)
	}
	t.Expect("users of three pages of two, by name.familyName, descending", []string{"eve", "ada", "dan", "cyd", "bob"}, inOrder(t, ids))
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

// order compares the order of everybody but eve.
func order(ctx context.Context, t *T, want []string, query ...string) {
	t.Expect("order of the users", want, inOrder(t, sortedPeople(ctx, t, query...)))
}

// ordered makes a check of the order of a fixture's users.
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
			t.SkipIf(!kept(t, attribute), "the target does not keep "+attribute+" as it was sent")
			for _, r := range table {
				query := append([]string{"filter", bounded(t)}, r.query...)
				res := t.Get(ctx, "/Users", query...)
				t.SkipIf(res.Status == 400 && strings.Contains(res.Object().Text("detail"), "filter"),
					"blocked: the filter that selects the users is rejected")
				t.Require("status of a list with "+strings.Join(r.query, "="), 200, res.Status)
				got := inOrder(t, rest(ctx, t, res, query...))
				t.Expect("order with "+strings.Join(r.query, "=")+tied(r.want), canonical(r.want), canonical(regroup(r.want, got)))
			}
		},
	}
}

// A sortRow is an order of labels and the query that asks for it. Labels joined by a plus sign have the same value, and may
// come in any order among themselves.
type sortRow struct {
	want  string
	query []string
}

func by(want string, query ...string) sortRow { return sortRow{want, query} }

// tied explains the plus signs of a wanted order.
func tied(want string) string {
	if strings.Contains(want, "+") {
		return " (those joined by + in any order)"
	}
	return ""
}

// canonical splits an order at its blanks and sorts the labels that are joined.
func canonical(order string) []string {
	var out []string
	for group := range strings.FieldsSeq(order) {
		out = append(out, strings.Join(sorted(strings.Split(group, "+")...), "+"))
	}
	return out
}

// regroup joins the labels of an order as those of another one are joined.
func regroup(like string, labels []string) string {
	var out []string
	for group := range strings.FieldsSeq(like) {
		n := min(strings.Count(group, "+")+1, len(labels))
		out = append(out, strings.Join(labels[:n], "+"))
		labels = labels[n:]
	}
	return strings.Join(append(out, labels...), " ")
}

// hasPrimary reports whether one of the email addresses is the primary one.
func hasPrimary(o *scim.Object) bool {
	return slices.ContainsFunc(o.Array("emails"), func(item any) bool {
		email, _ := item.(*scim.Object)
		primary, _ := email.Bool("primary")
		return primary
	})
}

// sortedPeople returns the ids that a sorted list holds; without a count of its own it follows the pages.
func sortedPeople(ctx context.Context, t *T, query ...string) []string {
	filter := `userType pr and userName sw ` + quote(peoplePrefix(t))
	query = append([]string{"filter", filter}, query...)
	res := t.Get(ctx, "/Users", query...)
	t.SkipIf(res.Status == 400, "blocked: the filter that selects the users is rejected")
	t.Require("status of a sorted list", 200, res.Status)
	if slices.Contains(query, "count") {
		return res.IDs()
	}
	return rest(ctx, t, res, query...)
}

func inOrder(t *T, ids []string) []string {
	var out []string
	for _, id := range ids {
		out = append(out, labels(t.Fixture, []string{id})...)
	}
	return out
}
