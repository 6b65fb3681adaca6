package checks

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

const whyRace = "Synchronisations run side by side; what is lost between them nobody notices."

var concurrency = []check{
	{
		ID:           "concurrency.create-once",
		Title:        "Of several POSTs of one userName at once exactly one succeeds; the others get 409",
		Requirements: reqs("RFC7644-3.3-09", "RFC7643-4.1.1-02"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     7,
		Why:          "Two accounts of one name cannot be told apart any more.",
		Fix:          "Let a unique index of the database decide, not a query before the insert; map its error to 409.",
		Run:          concurrencyCreateOnce,
	},
	{
		ID:           "concurrency.create-many",
		Title:        "Different users created at once get different ids",
		Requirements: reqs("RFC7643-3.1-06", "RFC7644-3.3-05"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     12,
		Why:          "An id that two accounts share gives one person the rights of the other.",
		Fix:          "Take ids from a generator that is safe for concurrent use.",
		Run:          concurrencyCreateMany,
	},
	{
		ID:           "concurrency.add-members",
		Title:        "Members that are added at once are all there afterwards",
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
		Title:        "Changes of different attributes at once are all there afterwards",
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
		Title:        "Of several PUTs at once one wins as a whole",
		Requirements: reqs("RFC7644-3.5.1-03"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     7,
		Why:          "A mixture of two states is a state that nobody wanted.",
		Fix:          "Store a replacement in one transaction.",
		Run:          concurrencyPutWhole,
	},
	{
		ID:           "concurrency.delete",
		Title:        "Of several DELETEs at once one answers 204 and none a server error",
		Requirements: reqs("RFC7644-3.6-04", "RFC7644-3.6-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     6,
		Why:          "A repeated request of a client that timed out is normal.",
		Fix:          "Answer 404 when the row is gone already.",
		Run:          concurrencyDelete,
	},
	{
		ID:           "concurrency.patch-and-delete",
		Title:        "A PATCH beside a DELETE brings nothing back",
		Requirements: reqs("RFC7644-3.6-01"),
		Level:        must,
		Needs:        patches,
		Requests:     5,
		Why:          "An account that returns after its deletion is a way in for somebody who left.",
		Fix:          "Update only what is there; never insert on update.",
		Run:          concurrencyPatchAndDelete,
	},
	{
		ID:           "concurrency.read-your-writes",
		Title:        "What was written is there for the next reader at once, by id and by name",
		Requirements: reqs("RFC7644-3.1-05"),
		Level:        must,
		Needs:        append(slices.Clone(writesUsers), conformance.NeedFilter),
		Requests:     8,
		Why:          "A client that does not find the account it has just made makes another one.",
		Fix:          "Read from where the write went, or wait for the index before answering.",
		Run:          concurrencyReadYourWrites,
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
		t.Holds(res.Status == 409 || res.Status == 429 || res.Status == 503, "status of one of several POSTs of one userName", "201 or 409",
			res.Status)
	}
	t.Expect("number of users of one userName", 1, created)
}

func concurrencyCreateMany(ctx context.Context, t *T) {
	var posts []conformance.Request
	for i := range 6 {
		posts = append(posts, conformance.Request{Method: "POST", Path: "/Users", Body: t.User(fmt.Sprint("n", i), nil)})
	}
	answers := t.CallConcurrently(ctx, posts...)
	ids := map[string]bool{}
	done := settled(t, answers)
	for _, i := range done {
		t.About(answers[i])
		ids[answers[i].Object().Text("id")] = true
		t.Expect("userName of a user created beside others", t.UserName(fmt.Sprint("n", i)), value(answers[i].Object(), "userName"))
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
	var want []string
	for _, i := range settled(t, t.CallConcurrently(ctx, adds...)) {
		want = append(want, names[i])
	}
	membersAre(ctx, t, "after adding them at once", g, users, want...)
}

func concurrencyPatchAttributes(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "shared", doc{"name": doc{"givenName": "Old", "familyName": "Old", "formatted": "Old"}})
	paths := []string{"name.givenName", "name.familyName", "displayName"}
	var changes []conformance.Request
	for _, p := range paths {
		changes = append(changes, patchRequestOf(u.Path(), doc{"op": "replace", "path": p, "value": "New"}))
	}
	done := settled(t, t.CallConcurrently(ctx, changes...))
	o := t.Read(ctx, u.Path()).Object()
	for _, i := range done {
		t.Expect(paths[i]+" after changes at once", "New", value(o, paths[i]))
	}
}

func concurrencyPutWhole(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "torn", nil)
	var puts []conformance.Request
	for _, name := range []string{"One", "Two", "Three", "Four"} {
		puts = append(puts,
			conformance.Request{Method: "PUT", Path: u.Path(),
				Body: t.User("torn", doc{"name": doc{"givenName": name, "familyName": name}, "displayName": name})})
	}
	settled(t, t.CallConcurrently(ctx, puts...))
	o := t.Read(ctx, u.Path()).Object()
	given := value(o, "name.givenName")
	t.Holds(given != "Conformance", "name.givenName after PUTs at once", "that of one of them", given)
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
		t.Holds(res.Status == 404 || yielded(res.Status), "status of one of several DELETEs", "204 or 404", res.Status)
	}
	t.Holds(gone >= 1, "number of DELETEs that succeeded", "at least 1", gone)
	t.Expect("status of GET afterwards", 404, t.Get(ctx, u.Path()).Status)
}

func concurrencyPatchAndDelete(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "revenant", nil)
	change := patchRequestOf(u.Path(), doc{"op": "replace", "path": "name.givenName", "value": "Ada"})
	answers := t.CallConcurrently(ctx, change, conformance.Request{Method: "DELETE", Path: u.Path()}, change)
	for _, res := range answers {
		t.About(res)
		t.Holds(res.OK() || res.Status == 404 || yielded(res.Status), "status of "+res.Name+" beside others", "a success or 404", res.Status)
	}
	t.SkipIf(!answers[1].OK(), "blocked: the target declined the DELETE")
	t.Expect("status of GET afterwards", 404, t.Get(ctx, u.Path()).Status)
}

func concurrencyReadYourWrites(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "fresh", nil)
	t.Expect("status of GET right after POST", 200, t.Get(ctx, u.Path()).Status)
	byName := "userName eq " + quote(t.UserName("fresh"))
	t.Expect("ids found by name right after POST", []string{u.ID}, t.Get(ctx, "/Users", "filter", byName).IDs())
	t.SkipIf(!t.Put(ctx, u.Path(), renaming(t, "fresh", "Changed")).OK(), "blocked: the user could not be replaced")
	t.Expect("name.givenName right after PUT", "Changed", value(t.Get(ctx, u.Path()).Object(), "name.givenName"))
	for _, o := range t.Get(ctx, "/Users", "filter", byName).Resources() {
		t.Expect("name.givenName in a list right after PUT", "Changed", value(o, "name.givenName"))
	}
	t.SkipIf(!t.Delete(ctx, u.Path()).OK(), "blocked: the user could not be deleted")
	t.Expect("number found by name right after DELETE", 0, len(t.Get(ctx, "/Users", "filter", byName).IDs()))
}

// yielded tells whether a target has declined a request because of another one, which is honest: nothing was lost.
func yielded(status int) bool {
	return slices.Contains(
		[]int{http.StatusConflict, http.StatusPreconditionFailed, http.StatusTooManyRequests, http.StatusServiceUnavailable}, status)
}

// settled expects that each of several requests at once succeeded or was declined, and returns which ones succeeded.
func settled(t *T, answers []*conformance.Response) (done []int) {
	for i, res := range answers {
		t.About(res)
		if res.OK() {
			done = append(done, i)
			continue
		}
		t.Holds(yielded(res.Status), "status of one of several "+res.Name+" at once", "a success, or 409, 412, 429 or 503", res.Status)
	}
	t.SkipIf(len(done) == 0, "blocked: the target declined all of them")
	return done
}

// patchRequestOf is a PATCH as a value.
func patchRequestOf(where string, operations ...doc) conformance.Request {
	return conformance.Request{Method: http.MethodPatch, Path: where,
		Body: doc{"schemas": []string{scim.PatchOpMessage}, "Operations": operations}}
}
