package mutants

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/scimwright/scimwright/scim"
)

// withoutPrecondition returns a wrapper that removes a precondition header, such as If-Match, from matching requests.
func withoutPrecondition(m match, header string) wrap {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if m(r) {
				r = r.Clone(r.Context())
				r.Header.Del(header)
			}
			next.ServeHTTP(w, r)
		})
	}
}

// changeTags returns a wrapper that changes the entity tag of matching responses, in the ETag header and in meta.version.
func changeTags(m match, fn func(tag string) string) wrap {
	return func(next http.Handler) http.Handler {
		inBody := afterEach(m, func(o *scim.Object) {
			if v := o.Complex("meta").Text("version"); v != "" {
				complexOf(o, "meta").Set("version", fn(v))
			}
		})
		return after(m, func(_ *http.Request, rep *reply) {
			if tag := rep.header.Get("ETag"); tag != "" {
				rep.header.Set("ETag", fn(tag))
			}
		})(inBody(next))
	}
}

// withHeader matches the requests of m with a header whose value satisfies cond.
func withHeader(m match, header string, cond func(value string) bool) match {
	return func(r *http.Request) bool { return m(r) && r.Header.Get(header) != "" && cond(r.Header.Get(header)) }
}

func anyValue(string) bool { return true }

// refusing returns a wrapper that rejects matching requests with a status.
func refusing(m match, status int) wrap {
	return instead(m, func(http.Handler, *http.Request) *reply { return failure(status, "") })
}

// changeStatus returns a wrapper that returns an error with the status replacement instead of matching responses with the status old.
func changeStatus(m match, old, replacement int) wrap {
	return after(m, func(_ *http.Request, rep *reply) {
		if rep.status == old {
			*rep = *failure(replacement, "")
		}
	})
}

var etag = []Mutant{
	{"etag.header-missing", "the GET response has no ETag header",
		after(readUser, func(_ *http.Request, rep *reply) { rep.header.Del("ETag") })},
	{"etag.version-missing", "meta has no version", afterEach(readUser, func(o *scim.Object) { o.Complex("meta").Delete("version") })},
	{"etag.version-differs", "meta.version lacks the W/ prefix", afterEach(readUser, func(o *scim.Object) {
		complexOf(o, "meta").Set("version", strings.TrimPrefix(o.Complex("meta").Text("version"), "W/"))
	})},
	{"etag.unquoted", "entity tags are not quoted", changeTags(users, func(tag string) string { return strings.ReplaceAll(tag, `"`, "") })},
	{"etag.weak-lower-case", "weak entity tags start with a lower-case w/",
		changeTags(users, func(tag string) string { return strings.Replace(tag, "W/", "w/", 1) })},
	{"etag.writes-untagged", "POST and PUT responses have no ETag header",
		after(either(createUser, putUser), func(_ *http.Request, rep *reply) { rep.header.Del("ETag") })},
	{"etag.put-tags-old", "the PUT response has the previous entity tag",
		after(putUser, func(_ *http.Request, rep *reply) { rep.header.Set("ETag", `W/"0"`) })},
	{"etag.frozen", "the entity tag never changes", changeTags(users, func(string) string { return `W/"1"` })},
	{"etag.moves-on-read", "the entity tag changes with every response", func(next http.Handler) http.Handler {
		var n atomic.Int64
		return after(users, func(_ *http.Request, rep *reply) {
			tag := fmt.Sprintf(`W/"%d"`, n.Add(1))
			if o := rep.object(); o != nil && rep.ok() && o.Complex("meta") != nil {
				complexOf(o, "meta").Set("version", tag)
				rep.body = o.AppendJSON(nil)
				rep.header.Set("ETag", tag)
			}
		})(next)
	}},
	{"etag.if-none-match-ignored", "If-None-Match is ignored", withoutPrecondition(readUser, "If-None-Match")},
	{"etag.if-none-match-body", "a 304 response has a body",
		instead(withHeader(readUser, "If-None-Match", anyValue), func(next http.Handler, r *http.Request) *reply {
			rep := serve(next, r)
			if rep.status == http.StatusNotModified {
				rep.body = stored(withoutPrecondition(readUser, "If-None-Match")(next), r).AppendJSON(nil)
			}
			return rep
		})},
	{"etag.if-none-match-always", "a GET with If-None-Match returns 304 for every entity tag",
		instead(withHeader(readUser, "If-None-Match", anyValue), func(http.Handler, *http.Request) *reply {
			return &reply{status: http.StatusNotModified, header: http.Header{}}
		})},
	{"etag.put-unchecked", "PUT ignores If-Match", withoutPrecondition(putUser, "If-Match")},
	{"etag.patch-unchecked", "PATCH ignores If-Match", withoutPrecondition(patchUser, "If-Match")},
	{"etag.delete-unchecked", "DELETE ignores If-Match", withoutPrecondition(deleteUser, "If-Match")},
	{"etag.stale-400", "If-Match with an outdated entity tag is rejected with 400",
		changeStatus(either(putUser, patchUser, deleteUser), 412, 400)},
	{"etag.weak-refused", "a weak entity tag in If-Match is rejected with 412",
		refusing(withHeader(either(putUser, patchUser, deleteUser), "If-Match", func(tag string) bool { return strings.HasPrefix(tag, "W/") }),
			412)},
	{"etag.any-refused", "If-Match: * is rejected with 412",
		refusing(withHeader(putUser, "If-Match", func(tag string) bool { return tag == "*" }), 412)},
	{"etag.lists-unread", "a list of entity tags in If-Match is rejected with 412",
		refusing(withHeader(putUser, "If-Match", func(tag string) bool { return strings.Contains(tag, ",") }), 412)},
	{"etag.lists-untagged", "items of a list have no meta.version",
		afterEach(listUsers, func(o *scim.Object) { o.Complex("meta").Delete("version") })},
	{"etag.members-uncounted", "the entity tag of a group does not change when the members change",
		changeTags(either(createGroup, readGroup, patchGroup), func(string) string { return `W/"1"` })},
	{"etag.group-unchecked", "PUT of a group ignores If-Match", withoutPrecondition(putGroup, "If-Match")},
	{"etag.unknown-500", "a PUT with If-Match for an unknown id causes 500", changeStatus(putUser, 404, 500)},
}

// ofMe matches requests to /Me.
func ofMe(r *http.Request) bool { _, collection, _ := place(r); return collection == "Me" }

func reads(m match) match {
	return func(r *http.Request) bool { return r.Method == http.MethodGet && m(r) }
}

var me = []Mutant{
	{"me.wrong-status", "/Me returns 400", refusing(reads(ofMe), 400)},
	{"me.broken", "/Me returns 500", refusing(reads(ofMe), 500)},
	{"me.redirects-nowhere", "/Me redirects without a Location header", instead(reads(ofMe), func(http.Handler, *http.Request) *reply {
		return &reply{status: http.StatusPermanentRedirect, header: http.Header{}}
	})},
	{"me.location-is-me", "meta.location of /Me is /Me", afterBody(reads(ofMe), func(o *scim.Object) {
		complexOf(o, "meta").Set("location", "https://example.com/scim/v2/Me")
	})},
	{"me.differs", "the response of /Me differs from the user that it represents",
		afterBody(reads(ofMe), func(o *scim.Object) { o.Set("userName", "me") })},
	{"me.projection-ignored", "the attributes parameter is ignored on /Me", func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if ofMe(r) {
				r = r.Clone(r.Context())
				r.URL.RawQuery = ""
			}
			next.ServeHTTP(w, r)
		})
	}},
	{"me.password-shown", "/Me returns the password",
		afterBody(reads(ofMe), func(o *scim.Object) { o.Set("password", "$2a$04$abcdefghijklmnopqrstuv") })},
	{"me.mistakes-500", "a malformed request to /Me causes 500", changeStatus(ofMe, 400, 500)},
}
