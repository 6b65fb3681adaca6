package checks

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

const whyRace = "Clients write concurrently; if both writes return a success, the client whose change was lost does not notice it."

var concurrency = []check{
	{
		ID:           "concurrency.create-once",
		Title:        "Of several concurrent POSTs with the same userName exactly one succeeds; the rest are rejected with 409",
		Requirements: reqs("RFC7644-3.3-09", "RFC7643-4.1.1-02"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     7,
		Why:          "With two accounts of the same name, clients change or deactivate the wrong one.",
		Fix:          "Create a unique index in the database instead of a query before the insert; return 409 when the index rejects the insert.",
		Run:          concurrencyCreateOnce,
	},
	{
		ID:           "concurrency.create-many",
		Title:        "Users that are created concurrently get different ids",
		Requirements: reqs("RFC7643-3.1-06", "RFC7644-3.3-05"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     12,
		Why:          "An id that two accounts share gives one user the rights of the other.",
		Fix:          "Take ids from a generator that is safe for concurrent use.",
		Run:          concurrencyCreateMany,
	},
	{
		ID:           "concurrency.add-members",
		Title:        "If several PATCHes add members concurrently, the members of every PATCH that succeeds are stored",
		Requirements: reqs("RFC7644-3.5.2.1-07"),
		Level:        must,
		Needs:        patchesGroups,
		Requests:     15,
		Why:          whyRace,
		Fix:          "Read, change and store a group in one transaction, or store members one by one.",
		Run:          concurrencyAddMembers,
	},
	{
		ID:           "concurrency.patch-attributes",
		Title:        "If several PATCHes change different attributes concurrently, the change of every PATCH that succeeds is stored",
		Requirements: reqs("RFC7644-3.5.2.3-04", "RFC7644-3.5.2.3-02"),
		Level:        must,
		Needs:        patches,
		Requests:     6,
		Why:          whyRace,
		Fix:          "Read, change and store a resource in one transaction.",
		Run:          concurrencyPatchAttributes,
	},
	{
		ID:           "concurrency.put-whole",
		Title:        "After several concurrent PUTs, the resource has the complete state of one that the server accepted",
		Requirements: reqs("RFC7644-3.5.1-03"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     7,
		Why:          "A mixture of two replacements gives the user a combination of attributes that no client requested.",
		Fix:          "Store a replacement in one transaction.",
		Run:          concurrencyPutWhole,
	},
	{
		ID:           "concurrency.delete",
		Title:        "Of several concurrent DELETEs of one user, at least one succeeds; the others succeed or return 404, 409, 412, 429 or 503",
		Requirements: reqs("RFC7644-3.6-04", "RFC7644-3.6-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     6,
		Why:          "Clients repeat a DELETE after a timeout; if the repetition returns a 500, they retry it indefinitely.",
		Fix:          "Return 404 if another request has already deleted the resource.",
		Run:          concurrencyDelete,
	},
	{
		ID:           "concurrency.patch-and-delete",
		Title:        "A PATCH concurrent with a DELETE does not restore the resource",
		Requirements: reqs("RFC7644-3.6-01"),
		Level:        must,
		Needs:        patches,
		Requests:     5,
		Why:          "An account that reappears after its deletion gives a former employee access.",
		Fix:          "Let a PATCH update only an existing row; if the row is absent, return 404 and do not insert it.",
		Run:          concurrencyPatchAndDelete,
	},
	{
		ID:           "concurrency.read-your-writes",
		Title:        "A GET by id and a filter on userName return the new state immediately after a write",
		Requirements: reqs("RFC7644-3.1-05"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedFilter),
		Requests:     8,
		Why:          "A client that does not find the account it has just created creates a second one.",
		Fix: "Read from the database that received the write, or respond to a write only after its replicas and search indexes " +
			"are updated.",
		Run: concurrencyReadYourWrites,
	},
}

func concurrencyCreateOnce(ctx context.Context, t *T) {
	twin := conformance.Request{Method: "POST", Path: "/Users", Body: t.User("twin", nil)}
	created := 0
	for _, res := range t.CallConcurrently(ctx, slices.Repeat([]conformance.Request{twin}, 6)...) {
		t.About(res)
		if res.Status == 201 {
			created++
			continue
		}
		t.Holds(res.Status == 409 || res.Status == 429 || res.Status == 503, "status of one of several POSTs with the same userName",
			"201 or 409",
			res.Status)
	}
	t.Expect("number of users with the same userName", 1, created)
}

func concurrencyCreateMany(ctx context.Context, t *T) {
	var posts []conformance.Request
	for i := range 6 {
		posts = append(posts, conformance.Request{Method: "POST", Path: "/Users", Body: t.User(fmt.Sprint("n", i), nil)})
	}
	answers := t.CallConcurrently(ctx, posts...)
	ids := map[string]bool{}
	done := succeededIndexes(t, answers)
	for _, i := range done {
		t.About(answers[i])
		ids[answers[i].Object().Text("id")] = true
		t.Expect("userName of a user created concurrently with others", t.UserName(fmt.Sprint("n", i)), value(answers[i].Object(), "userName"))
	}
	t.Expect("number of different ids", len(done), len(ids))
}

func concurrencyAddMembers(ctx context.Context, t *T) {
	names := []string{"ann", "ben", "cat", "dan"}
	g, users := team(ctx, t, 0, names...)
	var adds []conformance.Request
	for _, name := range names {
		adds = append(adds, patchRequestOf(g.Path(), doc{"op": "add", "path": "members", "value": []doc{{"value": users[name].ID}}}))
	}
	answers := t.CallConcurrently(ctx, adds...)
	done := succeededIndexes(t, answers)
	ids := values(t.Read(ctx, g.Path(), "attributes", "displayName,members").Object(), "members", "value")
	// The findings do not name a member in their subject: which member a race loses differs when the check is repeated.
	lost, added := false, false
	var want []string
	for i, name := range names {
		is := slices.Contains(ids, users[name].ID)
		if slices.Contains(done, i) {
			want = append(want, name)
			lost = lost || !is
		} else if answers[i].Status < 500 { // after a 503 the change may be stored or not
			added = added || is
		}
	}
	t.Holds(!lost, "members after concurrent PATCHes that each add one", "at least those of successful PATCHes: "+strings.Join(want, ", "),
		labels(users, ids))
	t.Holds(!added, "members after rejected PATCHes that each add one", "only those of successful PATCHes: "+strings.Join(want, ", "),
		labels(users, ids))
	t.Expect("number of different members after adding them concurrently", len(labels(users, ids)), len(ids))
}

func concurrencyPatchAttributes(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "shared", doc{"name": doc{"givenName": "Old", "familyName": "Old"}})
	paths := []string{"name.givenName", "name.familyName", "displayName"}
	var changes []conformance.Request
	for _, p := range paths {
		changes = append(changes, patchRequestOf(u.Path(), doc{"op": "replace", "path": p, "value": "New"}))
	}
	done := succeededIndexes(t, t.CallConcurrently(ctx, changes...))
	o := t.Read(ctx, u.Path()).Object()
	var lost []string // which change a race loses differs when the check is repeated, so that the subject of the finding names none
	for _, i := range done {
		if value(o, paths[i]) != any("New") {
			lost = append(lost, paths[i])
		}
	}
	t.Holds(len(lost) == 0, "attributes without the value of their concurrent PATCH", "none", lost)
}

func concurrencyPutWhole(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "torn", nil)
	var puts []conformance.Request
	names := []string{"One", "Two", "Three", "Four"}
	for _, name := range names {
		puts = append(puts,
			conformance.Request{Method: "PUT", Path: u.Path(),
				Body: t.User("torn", doc{"name": doc{"givenName": name, "familyName": name}, "displayName": name})})
	}
	answers := t.CallConcurrently(ctx, puts...)
	succeededIndexes(t, answers)
	var accepted []string
	for i, res := range answers {
		if res.OK() || res.Status >= 500 { // after a 503 the replacement may be stored or not
			accepted = append(accepted, names[i])
		}
	}
	o := t.Read(ctx, u.Path()).Object()
	given := value(o, "name.givenName")
	t.Holds(slices.ContainsFunc(accepted, func(name string) bool { return name == given }), "name.givenName after concurrent PUTs",
		"the value of one of the accepted PUTs: "+strings.Join(accepted, " or "), given)
	t.Expect("name.familyName, compared with name.givenName", given, value(o, "name.familyName"))
	if has(o, "displayName") {
		t.Expect("displayName, compared with name.givenName", given, value(o, "displayName"))
	}
}

func concurrencyDelete(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "doomed", nil)
	gone := 0
	for _, res := range t.CallConcurrently(ctx, slices.Repeat([]conformance.Request{{Method: "DELETE", Path: u.Path()}}, 4)...) {
		t.About(res)
		if res.OK() {
			gone++
			continue
		}
		t.Holds(res.Status == 404 || isConflictStatus(res.Status), "status of one of several DELETEs", "204 or 404", res.Status)
	}
	t.Holds(gone >= 1, "number of DELETEs that succeeded", "at least 1", gone)
	t.Expect("status of GET after the concurrent requests", 404, t.Get(ctx, u.Path()).Status)
}

func concurrencyPatchAndDelete(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "revenant", nil)
	change := patchRequestOf(u.Path(), doc{"op": "replace", "path": "name.givenName", "value": "Ada"})
	answers := t.CallConcurrently(ctx, change, conformance.Request{Method: "DELETE", Path: u.Path()}, change)
	for _, res := range answers {
		t.About(res)
		t.Holds(res.OK() || res.Status == 404 || isConflictStatus(res.Status), "status of "+res.Name+" concurrent with other requests",
			"a success or 404", res.Status)
	}
	t.SkipIf(!answers[1].OK(), "blocked: the target rejected the DELETE")
	t.Expect("status of GET after the concurrent requests", 404, t.Get(ctx, u.Path()).Status)
}

func concurrencyReadYourWrites(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "fresh", nil)
	t.Expect("status of GET right after POST", 200, t.Get(ctx, u.Path()).Status)
	byName := "userName eq " + quote(t.UserName("fresh"))
	t.Expect("ids found by name right after POST", []string{u.ID}, t.Get(ctx, "/Users", "filter", byName).IDs())
	replaced := t.Put(ctx, u.Path(), renamedUser(t, "fresh", "Changed"))
	t.SkipIf(!replaced.OK(), "blocked: the user could not be replaced")
	want := any("Changed")
	if shown := value(replaced.Object(), "name.givenName"); shown != nil && shown != "Conformance" {
		want = shown // the PUT may store another value than sent, so the value in its response is expected
	}
	t.Expect("name.givenName right after PUT", want, value(t.Get(ctx, u.Path()).Object(), "name.givenName"))
	for _, o := range t.Get(ctx, "/Users", "filter", byName).Resources() {
		t.Expect("name.givenName in a list right after PUT", want, value(o, "name.givenName"))
	}
	t.SkipIf(!t.Delete(ctx, u.Path()).OK(), "blocked: the user could not be deleted")
	t.Expect("number of users found by name right after DELETE", 0, len(t.Get(ctx, "/Users", "filter", byName).IDs()))
}

// isConflictStatus reports whether a target rejected a request because of a concurrent one. Such a rejection is permitted: no change is
// lost.
func isConflictStatus(status int) bool {
	return slices.Contains(
		[]int{http.StatusConflict, http.StatusPreconditionFailed, http.StatusTooManyRequests, http.StatusServiceUnavailable}, status)
}

// succeededIndexes expects that each of several concurrent requests succeeded or was rejected because of another one, and returns the
// indexes of the successful ones.
func succeededIndexes(t *T, answers []*conformance.Response) (done []int) {
	for i, res := range answers {
		t.About(res)
		if res.OK() {
			done = append(done, i)
			continue
		}
		t.Holds(isConflictStatus(res.Status), "status of one of several concurrent "+res.Name, "a success, or 409, 412, 429 or 503", res.Status)
	}
	t.SkipIf(len(done) == 0, "blocked: the target rejected all requests")
	return done
}

// patchRequestOf returns a PATCH request.
func patchRequestOf(where string, operations ...doc) conformance.Request {
	return conformance.Request{Method: http.MethodPatch, Path: where,
		Body: doc{"schemas": []string{scim.PatchOpMessage}, "Operations": operations}}
}
