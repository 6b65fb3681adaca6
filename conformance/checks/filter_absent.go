package checks

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/scimwright/scimwright/conformance"
)

// filterAbsent are checks of filters on an attribute that other users do not have.
var filterAbsent = []check{
	{
		ID:           "filter.user-without-attribute",
		Title:        "A filter on a sub-attribute, such as name.familyName, returns the same users if another user has no such attribute",
		Requirements: reqs("RFC7644-3.4.2.2-09", "RFC7644-3.4.2.2-24", "RFC7644-3.4.2.2-46"),
		Level:        must,
		Needs:        append(slices.Clone(filters), conformance.NeedWrite),
		Requests:     6,
		Why:          "One user without the attribute makes all searches fail, and the client gets no users.",
		Fix:          "Evaluate a comparison with an absent attribute as false; it must not cause an error.",
		Run: func(ctx context.Context, t *T) {
			a := filterWithAbsent(ctx, t)
			t.SkipIf(a.skipped != "", a.skipped)
			t.About(a.res)
			t.Require("status of GET /Users?filter="+a.filter+" after a user without name was created", 200, a.res.Status)
			t.Expect("ids of the users found by "+a.filter+" after a user without name was created", a.want, a.res.IDs())
		},
	},
}

// absentResult is the result of filterWithAbsent.
type absentResult struct {
	filter  string
	want    []string // ids
	res     *conformance.Response
	skipped string // why there is no response
}

// filterWithAbsent sends a filter on name.familyName that finds a new user, creates a user without name, and sends the filter again. The
// response is the second one.
func filterWithAbsent(ctx context.Context, t *T) absentResult {
	family := t.Prefix() + "Named"
	u := t.CreateUser(ctx, "with-name", doc{"name": doc{"familyName": family, "givenName": "Given"}})
	a := absentResult{filter: "name.familyName eq " + quote(family), want: []string{u.ID}}
	first := t.Get(ctx, "/Users", "filter", a.filter)
	if first.Status != http.StatusOK || !slices.Equal(first.IDs(), a.want) {
		a.skipped = "blocked: GET /Users?filter=" + a.filter + " " + wrongList(first, "users")
		return a
	}
	body := t.User("without-name", nil)
	delete(body, "name")
	created := t.Post(ctx, "/Users", body)
	if !created.OK() || has(created.Object(), "name") {
		a.skipped = "the target does not store users without name"
		return a
	}
	a.res = t.Get(ctx, "/Users", "filter", a.filter)
	if id := created.Object().Text("id"); id != "" {
		t.Delete(ctx, "/Users/"+id) // now, so that filters of other checks do not fail because of this user
	}
	return a
}

// blockedIfAbsentFails blocks a check of a filter on a sub-attribute whose response is an error, if the target rejects every such filter as
// soon as a user lacks the attribute, which filter.user-without-attribute reports.
func blockedIfAbsentFails(ctx context.Context, t *T, res *conformance.Response) {
	if res.Status < http.StatusBadRequest {
		return
	}
	t.BlockedIf(func() string {
		a := filterWithAbsent(ctx, t)
		if a.skipped != "" || a.res.Status == http.StatusOK {
			return ""
		}
		return fmt.Sprintf("GET /Users?filter, with name.familyName, returned %d as soon as a user had no name", a.res.Status)
	})
}
