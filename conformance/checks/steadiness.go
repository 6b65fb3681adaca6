package checks

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/conformance"
)

const (
	// orderRequests is the number of equal requests whose order steadiness.list-order compares.
	orderRequests = 4
	// visibleTries is the maximum number of further requests for a created user that the first response does not contain, and visiblePause
	// the time between them.
	visibleTries = 10
	visiblePause = 200 * time.Millisecond
	// visibleCount is a count that is large enough for the user; further requests add their number.
	visibleCount = 100
)

// steadiness are the checks of whether equal requests have equal results. They run first, because an unsteady target can be the cause of
// findings of all other checks.
var steadiness = []check{
	{
		ID:           "steadiness.list-order",
		Title:        "Lists without sortBy have the same order in every response",
		Requirements: reqs("RFC7644-3.4.2.4-13"),
		Level:        interop,
		Needs:        writesUsers,
		Fixture:      fiveUsers,
		Requests:     orderRequests,
		Why: "Clients read lists in pages by startIndex. If the order changes between two pages, a client skips some users, deactivates " +
			"them, and reads others twice.",
		Fix: "Add ORDER BY with a unique column, such as the creation time and the id, to every query without sortBy.",
		Run: steadyListOrder,
	},
	{
		ID:           "steadiness.visibility",
		Title:        "A created user is returned by the next GET and by the next filter",
		Requirements: reqs("RFC7644-3.3-05", "RFC7644-3.4.1-01"),
		Level:        interop,
		Needs:        writesUsers,
		Requests:     4,
		Why: "Clients read a user immediately after they have created it, to verify it or to add it to groups. A client that gets 404, or " +
			"an empty list, creates the user again or reports an error.",
		Fix: "Read from the database that stores the write, not from a delayed replica, index or cache.",
		Run: steadyVisibility,
	},
	{
		ID:           "steadiness.responses",
		Title:        "No request fails and then succeeds when it is repeated",
		Requirements: reqs("RFC7644-3.12-14"),
		Level:        interop,
		Needs:        writesUsers,
		Fixture:      fiveUsers,
		Why: "After a server error or a closed connection, most clients do not repeat the request immediately. They report the user as " +
			"failed, and retry it in the next cycle, which is up to an hour later.",
		Fix: "Find the cause in the server's log at the time of the failed request: a timeout of a proxy, a full connection pool, a restart. " +
			"If the connection was closed or reset, examine the request before the failed one: a server that closes the connection after a " +
			"response sends Connection: close in it, otherwise the next request on the connection fails.",
		Watch: steadyResponses,
	},
}

func steadyListOrder(ctx context.Context, t *T) {
	var first []string
	for i := range orderRequests {
		res := t.Get(ctx, "/Users", "count", "50")
		t.Require("status of "+res.Name, 200, res.Status)
		ids := res.IDs()
		if i == 0 {
			first = ids
		}
		// The response has the same users, unless another client adds or removes some at the same time.
		if slices.Equal(sorted(first...), sorted(ids...)) && !slices.Equal(first, ids) {
			t.Expect("order of the ids in equal lists", first, ids)
			return
		}
	}
}

func steadyVisibility(ctx context.Context, t *T) {
	t.Immediately()
	u := t.CreateUser(ctx, "seen", nil)
	byName := "userName eq " + quote(t.UserName("seen"))
	read := func(int) *conformance.Response { return t.Get(ctx, u.Path()) }
	find := func(try int) *conformance.Response {
		if try == 0 {
			return t.Get(ctx, "/Users", "filter", byName)
		}
		// A cache may return the list without the user to each request with the same URL.
		return t.Get(ctx, "/Users", "filter", byName, "count", strconv.Itoa(visibleCount+try))
	}
	direct, list := read(0), find(0)
	appears(ctx, t, "GET of the created user", direct, read, func(r *conformance.Response) bool { return r.Status != 404 })
	appears(ctx, t, "a list filtered by "+byName, list, find, func(r *conformance.Response) bool {
		return r.Status != 200 || slices.Contains(r.IDs(), u.ID)
	})
}

// appears records a finding if a response lacks the created user and a later response to the same request has it. If no response has the
// user, other checks report that.
func appears(ctx context.Context, t *T, what string, first *conformance.Response, request func(try int) *conformance.Response,
	shows func(*conformance.Response) bool) {
	if shows(first) {
		return
	}
	for i := range visibleTries {
		t.Wait(ctx, visiblePause)
		if shows(request(i + 1)) {
			t.About(first)
			t.Holds(false, what+", immediately after the POST", "the user", "the user only after "+
				strconv.FormatInt(int64(i+1)*visiblePause.Milliseconds(), 10)+" ms")
			return
		}
	}
}

func steadyResponses(w *watched) {
	if !w.Sent() {
		return // another client has sent the request, so RepeatedAfter does not know whether it was repeated
	}
	first := w.RepeatedAfter()
	w.Holds(first == "", "first response", "the same as the response to the repeated request: "+strconv.Itoa(w.Status), first)
}
