package checks

import (
	"context"
	"slices"

	"github.com/scimwright/scimwright/conformance"
)

var sorts = needs(conformance.NeedUser, conformance.NeedWrite, conformance.NeedFilter, conformance.NeedSort)

var sort = []check{
	{
		ID: "sort.ascending", Title: "sortBy orders a list, ascending unless told otherwise",
		Requirements: reqs("RFC7644-3.4.2.3-02", "RFC7644-3.4.2.3-07"), Level: must, Needs: sorts, Fixture: people, Requests: 2,
		Why: "Who advertises sorting is taken at the word.", Fix: "Order by the named attribute before cutting out the page.",
		Run: func(ctx context.Context, t *T) {
			order(ctx, t, []string{"bob", "cyd", "dan", "ada"}, "sortBy", "name.familyName")
			order(ctx, t, []string{"bob", "cyd", "dan", "ada"}, "sortBy", "name.familyName", "sortOrder", "ascending")
		},
	},
	{
		ID: "sort.descending", Title: "sortOrder=descending turns the order round",
		Requirements: reqs("RFC7644-3.4.2.3-06"), Level: must, Needs: sorts, Fixture: people, Requests: 1,
		Why: "Clients that want the latest change first get the oldest one.", Fix: "Honour sortOrder.",
		Run: func(ctx context.Context, t *T) {
			order(ctx, t, []string{"ada", "dan", "cyd", "bob"}, "sortBy", "name.familyName", "sortOrder", "descending")
		},
	},
	{
		ID: "sort.pages", Title: "The pages of a sorted list follow one another in order",
		Requirements: reqs("RFC7644-3.4.2.3-10"), Level: should, Needs: sorts, Fixture: people, Requests: 4,
		Why: "Sorting each page for itself gives no order at all.", Fix: "Sort the whole result, then cut out the page.",
		Run: func(ctx context.Context, t *T) {
			var ids []string
			for _, index := range []string{"1", "2", "3", "4"} {
				ids = append(ids, sortedPeople(ctx, t, "sortBy", "name.familyName", "startIndex", index, "count", "1")...)
			}
			t.Expect("users of four pages of one, sorted by name.familyName", []string{"bob", "cyd", "dan", "ada"}, inOrder(t, ids))
		},
	},
}

// order compares the order of everybody but eve.
func order(ctx context.Context, t *T, want []string, query ...string) {
	t.Expect("order of the users", want, inOrder(t, sortedPeople(ctx, t, query...)))
}

// sortedPeople returns the ids that a sorted list holds; without a count of its own it follows the pages.
func sortedPeople(ctx context.Context, t *T, query ...string) []string {
	filter := `userType pr and userName sw ` + quote(peoplePrefix(t))
	query = append([]string{"filter", filter}, query...)
	res := t.Get(ctx, "/Users", query...)
	t.SkipIf(res.Status == 400, "blocked: the filter that selects the users is declined")
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
