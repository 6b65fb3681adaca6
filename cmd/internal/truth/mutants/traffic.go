package mutants

import (
	"net/http"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/scim"
)

// afterError returns a wrapper that changes error responses.
func afterError(fn func(rep *reply)) wrap {
	return after(everything, func(_ *http.Request, rep *reply) {
		if rep.status >= 400 {
			fn(rep)
		}
	})
}

// errorMember returns a wrapper that sets a member of every error response.
func errorMember(name string, value any) wrap {
	return afterError(func(rep *reply) {
		if o := rep.object(); o != nil {
			o.Set(name, value)
			rep.body = o.AppendJSON(nil)
		}
	})
}

// raw returns a wrapper that sends matching responses with exactly the header and body that fn sets.
func raw(m match, fn func(rep *reply)) wrap {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !m(r) {
				next.ServeHTTP(w, r)
				return
			}
			rep := serve(next, r)
			fn(rep)
			for name, values := range rep.header {
				w.Header()[name] = values
			}
			w.WriteHeader(rep.status)
			_, _ = w.Write(rep.body) // after an error, the client of the test receives a truncated body
		})
	}
}

// mixUpUsers wraps next so that the users in all responses to GET of a single user have the same id, which is not the id of a user.
func mixUpUsers(next http.Handler) http.Handler {
	var mu sync.Mutex
	id := ""
	return afterBody(readUser, func(o *scim.Object) {
		mu.Lock()
		defer mu.Unlock()
		if id == "" {
			id = "0" + o.Text("id")
		}
		o.Set("id", id)
	})(next)
}

var usersAndGroups = either(users, createGroup, readGroup, listGroups, putGroup, patchGroup)

var traffic = []Mutant{
	{"traffic.list-500", "a malformed filter causes 500", after(with(listUsers, "filter"), func(_ *http.Request, rep *reply) {
		if rep.status == 400 {
			*rep = *failure(500, "")
		}
	})},
	{"traffic.unavailable", "an unknown endpoint returns 503", after(everything, func(r *http.Request, rep *reply) {
		if _, c, _ := place(r); c == "" && rep.status == 404 {
			*rep = *failure(503, "")
		}
	})},
	{"traffic.html", "users have the Content-Type text/html",
		after(readUser, func(_ *http.Request, rep *reply) { rep.header.Set("Content-Type", "text/html") })},
	{"traffic.untyped", "PATCH responses have no Content-Type",
		after(patchUser, func(_ *http.Request, rep *reply) { rep.header.Set("Content-Type", "") })},
	{"traffic.error-text", "error responses have the Content-Type text/plain",
		afterError(func(rep *reply) { rep.header.Set("Content-Type", "text/plain") })},
	{"traffic.latin-1-everywhere", "strings are encoded as ISO 8859-1", afterBodyBytes(usersAndGroups, func(body []byte) []byte {
		return []byte(strings.Replace(string(body), "Conformance", "Conformit\xe4t", 1))
	})},
	{"traffic.byte-order-mark", "bodies start with a byte order mark",
		afterBodyBytes(usersAndGroups, func(body []byte) []byte { return append([]byte("\uFEFF"), body...) })},
	{"traffic.two-values", "a newline and a second value follow the body",
		afterBodyBytes(readUser, func(body []byte) []byte { return append(body, "\nnull"...) })},
	{"traffic.no-schemas", "items of lists have no schemas", afterBody(listUsers, func(o *scim.Object) {
		for _, item := range o.Array("Resources") {
			objectOf(item).Delete("schemas")
		}
	})},
	{"traffic.extension-unnamed", "schemas contains only the core schema",
		afterEach(users, func(o *scim.Object) { o.Set("schemas", []any{scim.UserSchema}) })},
	{"traffic.password-hash", "PUT responses contain the hash of the password",
		afterEach(putUser, func(o *scim.Object) { o.Set("password", "$2a$04$abcdefghijklmnopqrstuv") })},
	{"traffic.password-echo", "a conflict error repeats the request body",
		instead(createUser, func(next http.Handler, r *http.Request) *reply {
			body := string(readBody(r))
			rep := serve(next, r)
			if o := rep.object(); rep.status == 409 && o != nil {
				o.Set("detail", "cannot store "+body)
				rep.body = o.AppendJSON(nil)
			}
			return rep
		})},
	{"traffic.token-echo", "a response header repeats the token", after(everything, func(r *http.Request, rep *reply) {
		rep.header.Set("X-Debug-Authorization", r.Header.Get("Authorization"))
	})},
	{"traffic.stack-trace", "errors contain a stack trace", errorMember("detail", "at com.example.Users.find(Users.java:42)")},
	{"traffic.error-unnamed", "errors have no schemas", errorMember("schemas", nil)},
	{"traffic.error-status-number", "the status of an error is a number", afterError(func(rep *reply) {
		if o := rep.object(); o != nil {
			o.Set("status", rep.status)
			rep.body = o.AppendJSON(nil)
		}
	})},
	{"traffic.error-status-other", "the status in the body of every error is 400", errorMember("status", "400")},
	{"traffic.scim-type-unknown", "scimType of every error is a nonstandard keyword", errorMember("scimType", "notFound")},
	{"traffic.scim-type-misplaced", "every error has the scimType noTarget", errorMember("scimType", "noTarget")},
	{"traffic.error-200", "an unknown user returns 200 with an error body", after(readUser, func(_ *http.Request, rep *reply) {
		if rep.status == 404 {
			rep.status = 200
		}
	})},
	{"traffic.refused-but-shown", "a conflict error shows the existing user", after(createUser, func(_ *http.Request, rep *reply) {
		if o := rep.object(); rep.status == 409 && o != nil {
			o.Set("userName", "somebody@example.com")
			rep.body = o.AppendJSON(nil)
		}
	})},
	{"traffic.two-locations", "Content-Location is relative and meta.location is not", after(readUser, func(r *http.Request, rep *reply) {
		if rep.ok() {
			rep.header.Set("Content-Location", r.URL.Path)
		}
	})},
	{"traffic.location-of-another", "meta.location is the URL of another resource", afterEach(usersAndGroups, func(o *scim.Object) {
		complexOf(o, "meta").Set("location", parentOf(o.Complex("meta").Text("location"))+"/1")
	})},
	{"traffic.inner-host", "meta.location contains another host than the request", afterEach(usersAndGroups, func(o *scim.Object) {
		if _, path, ok := strings.Cut(o.Complex("meta").Text("location"), "/scim/"); ok {
			complexOf(o, "meta").Set("location", "http://inner.example:8080/scim/"+path)
		}
	})},
	{"traffic.items-without-id", "items of lists have no id", afterBody(listUsers, func(o *scim.Object) {
		for _, item := range o.Array("Resources") {
			objectOf(item).Delete("id")
		}
	})},
	{"traffic.another-user", "reading a user returns another user", mixUpUsers},
	{"traffic.type-in-lower-case", "meta.resourceType of items of lists is in lower case", afterBody(listUsers, func(o *scim.Object) {
		for _, item := range o.Array("Resources") {
			meta := complexOf(objectOf(item), "meta")
			meta.Set("resourceType", strings.ToLower(meta.Text("resourceType")))
		}
	})},
	{"traffic.dates-in-lists", "timestamps in lists have no seconds", afterBody(listUsers, func(o *scim.Object) {
		for _, item := range o.Array("Resources") {
			meta := complexOf(objectOf(item), "meta")
			meta.Set("lastModified", cut(meta.Text("lastModified"), 16))
		}
	})},
	{"traffic.modified-in-the-past", "PATCH sets lastModified to the epoch",
		afterEach(patchUser, func(o *scim.Object) { complexOf(o, "meta").Set("lastModified", "1970-01-01T00:00:00Z") })},
	{"traffic.tag-and-version", "meta.version lacks the W/ prefix and the quotation marks of the ETag header",
		afterEach(readUser, func(o *scim.Object) {
			complexOf(o, "meta").Set("version", strings.Trim(strings.TrimPrefix(o.Complex("meta").Text("version"), "W/"), `"`))
		})},
	{"traffic.total-zero", "totalResults of a filtered list is 0",
		afterBody(with(listUsers, "filter"), func(o *scim.Object) { o.Set("totalResults", 0) })},
	{"traffic.length-of-nothing", "a 204 response has a Content-Length header", raw(everything, func(rep *reply) {
		if rep.status == http.StatusNoContent {
			rep.header.Set("Content-Length", "2")
		}
	})},
	{"traffic.no-challenge", "a wrong token is rejected without a WWW-Authenticate header",
		after(everything, func(_ *http.Request, rep *reply) { rep.header.Del("WWW-Authenticate") })},
	{"traffic.no-allow", "a 405 response has no Allow header",
		after(everything, func(_ *http.Request, rep *reply) { rep.header.Del("Allow") })},
	{"traffic.redirect", "lists are redirected to a URL with a trailing slash", after(listUsers, func(r *http.Request, rep *reply) {
		if rep.ok() && r.Method == http.MethodGet && r.URL.Query().Get("filter") != "" {
			*rep = reply{status: http.StatusMovedPermanently, header: http.Header{"Location": {r.URL.Path + "/"}}}
		}
	})},
	{"traffic.public", "users may be stored in shared caches",
		after(readUser, func(_ *http.Request, rep *reply) { rep.header.Set("Cache-Control", "public, max-age=60") })},
	{"traffic.two-primaries", "two email addresses are primary", afterEach(readUser, func(o *scim.Object) {
		second := scim.NewObject(scim.Member{Name: "value", Value: "second@example.com"}, scim.Member{Name: "primary", Value: true})
		o.Set("emails", append(o.Array("emails"), second))
	})},
	{"traffic.active-as-text", "active is a string in lists", afterBody(listUsers, func(o *scim.Object) {
		for _, item := range o.Array("Resources") {
			objectOf(item).Set("active", "true")
		}
	})},
	{"traffic.undeclared", "users have an attribute that no schema defines",
		afterEach(readUser, func(o *scim.Object) { o.Set("internalState", "x") })},
}

// afterBodyBytes returns a wrapper that changes the bytes of successful matching responses.
func afterBodyBytes(m match, fn func(body []byte) []byte) wrap {
	return after(m, func(_ *http.Request, rep *reply) {
		if rep.ok() && len(rep.body) > 0 {
			rep.body = fn(rep.body)
		}
	})
}
