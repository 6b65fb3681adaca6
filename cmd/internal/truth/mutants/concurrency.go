package mutants

import (
	"net/http"
	"sync/atomic"

	"github.com/scimwright/scimwright/scim"
)

// The mutants of this area return the results of a race condition in every request, so that tests are deterministic.
var concurrency = []Mutant{
	{"concurrency.duplicates", "concurrent POST requests with the same userName all create a user",
		duplicates(func(bool) bool { return true })},
	{"concurrency.conflict-500", "a concurrent POST with a userName in use causes 500", changeStatus(createUser, 409, 500)},
	{"concurrency.ids-shared", "two users have the same id", afterBody(createUser, func(o *scim.Object) { o.Set("id", "1") })},
	{"concurrency.members-lost", "a concurrent change of members overwrites the other changes", edit(patchGroup, func(o *scim.Object) {
		if is(o, "add", "members") {
			o.Set("op", "replace")
		}
	})},
	{"concurrency.attributes-lost", "a concurrent PATCH overwrites other attributes with previous values",
		operations(patchUser, func(o *scim.Object) []*scim.Object {
			if is(o, "replace", "name.givenName") || is(o, "replace", "displayName") {
				return []*scim.Object{o, op("replace", "name.familyName", "Old"), op("replace", "name.formatted", "Old")}
			}
			if is(o, "replace", "name.familyName") {
				return []*scim.Object{o, op("replace", "name.givenName", "Old")}
			}
			return []*scim.Object{o}
		})},
	{"concurrency.put-mixed", "the stored user mixes attributes of several concurrent PUTs", before(putUser, func(o *scim.Object) {
		if name := o.Complex("name"); name != nil {
			name.Set("familyName", "Mixed")
		}
	})},
	{"concurrency.put-loses-all", "no PUT of a user is stored, also none of several concurrent ones", instead(putUser, unchanged)},
	{"concurrency.delete-500", "DELETE of a deleted user causes 500", changeStatus(deleteUser, 404, 500)},
	{"concurrency.still-there", "a deleted user can still be read",
		trackDeleted(func(next http.Handler, r *http.Request, g *deletedUsers) *reply {
			if o := g.at(r.URL.Path); o != nil && r.Method == http.MethodGet {
				return newReply(200, o)
			}
			return serve(next, r)
		})},
	{"concurrency.index-lags", "the first query after a POST does not find the new user", func(next http.Handler) http.Handler {
		var news atomic.Bool
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if createUser(r) {
				news.Store(true)
			}
			rep := serve(next, r)
			if o := rep.object(); o != nil && listUsers(r) && rep.ok() && news.Swap(false) {
				o.Set("Resources", []any{})
				o.Set("totalResults", 0)
				rep.body = o.AppendJSON(nil)
			}
			rep.send(w)
		})
	}},
	{"concurrency.replica-lags", "the first read after PUTs returns the state before the first of them", func(next http.Handler) http.Handler {
		old := &memory{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if putUser(r) {
				if was := stored(next, r); was != nil {
					old.putFirst(r.URL.Path, was)
				}
			}
			if was, _ := old.at(r.URL.Path).(*scim.Object); was != nil && readUser(r) {
				old.put(r.URL.Path, nil)
				newReply(200, was).send(w)
				return
			}
			next.ServeHTTP(w, r)
		})
	}},
}
