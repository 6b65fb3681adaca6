package mutants

import (
	"crypto/rand"
	"net/http"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/scim"
)

// names is a set of values of earlier POST requests, such as the userName of each.
type names struct {
	mu   sync.Mutex
	seen map[string]bool
}

// add adds a name and reports whether an earlier call has added the same name.
func (n *names) add(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	known := n.seen[name]
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	n.seen[name] = true
	return known
}

// duplicates returns a wrapper that accepts a user whose userName is already in use, if allowed(known) is true. known reports whether an
// earlier POST contained an identical userName. The server stores the user with another userName. The response contains the userName of the
// request.
func duplicates(allowed func(known bool) bool) wrap {
	return func(next http.Handler) http.Handler {
		posted := &names{}
		return instead(createUser, func(next http.Handler, r *http.Request) *reply {
			o, err := scim.Decode(readBody(r))
			if err != nil {
				return serve(next, r)
			}
			name := o.Text("userName")
			known := posted.add(name)
			rep := serve(next, r)
			if rep.status != http.StatusConflict || !allowed(known) {
				return rep
			}
			return storeRenamed(next, r, o)
		})(next)
	}
}

// storeRenamed creates a user whose userName is in use. The server stores the user with another userName. The response contains the
// userName of the body.
func storeRenamed(next http.Handler, r *http.Request, body *scim.Object) *reply {
	name := body.Text("userName")
	body.Set("userName", name+"."+rand.Text()[:6])
	rep := serve(next, derivedRequest(r, http.MethodPost, r.URL.Path, r.URL.RawQuery, body.AppendJSON(nil)))
	if created := rep.object(); created != nil {
		created.Set("userName", name)
		rep.body = created.AppendJSON(nil)
	}
	return rep
}

// echo returns a wrapper that changes the bodies of successful responses with put. put receives the body of the request, sent, and changes
// the body of the response, got.
func echo(m match, put func(sent, got *scim.Object)) wrap {
	return instead(m, func(next http.Handler, r *http.Request) *reply {
		sent, err := scim.Decode(readBody(r))
		rep := serve(next, r)
		if got := rep.object(); err == nil && rep.ok() && got != nil {
			put(sent, got)
			rep.body = got.AppendJSON(nil)
		}
		return rep
	})
}

func echoMember(name string) func(sent, got *scim.Object) {
	return func(sent, got *scim.Object) {
		if v, ok := sent.Get(name); ok {
			got.Set(name, v)
		}
	}
}

var users = either(createUser, readUser, listUsers, putUser, patchUser)

var create = []Mutant{
	{"create.status-200", "POST of a user returns 200", after(createUser, func(_ *http.Request, rep *reply) {
		if rep.status == 201 {
			rep.status = 200
		}
	})},
	{"create.no-id", "the POST response has no id", afterBody(createUser, func(o *scim.Object) { o.Delete("id") })},
	{"create.no-location", "a 201 response has no Location header",
		after(createUser, func(_ *http.Request, rep *reply) { rep.header.Del("Location") })},
	{"create.location-of-collection", "Location is the URL of the collection", after(createUser, func(_ *http.Request, rep *reply) {
		if l := rep.header.Get("Location"); l != "" {
			rep.header.Set("Location", parentOf(l))
		}
	})},
	{"create.no-meta-location", "meta has no location", afterBody(createUser, func(o *scim.Object) { o.Complex("meta").Delete("location") })},
	{"create.resource-type-case", "meta.resourceType is \"user\" instead of \"User\"",
		afterEach(users, func(o *scim.Object) { complexOf(o, "meta").Set("resourceType", "user") })},
	{"create.date-only", "meta.created is a date without a time", afterEach(users, func(o *scim.Object) {
		complexOf(o, "meta").Set("created", cut(o.Complex("meta").Text("created"), 10))
	})},
	{"create.modified-early", "lastModified of a new user is before created",
		afterEach(createUser, func(o *scim.Object) { complexOf(o, "meta").Set("lastModified", "2001-01-01T00:00:00Z") })},
	{"create.client-id", "an id sent by the client is stored", echo(createUser, echoMember("id"))},
	{"create.client-meta", "meta sent by the client is stored", echo(createUser, echoMember("meta"))},
	{"create.active-text", "active is returned as a string", afterEach(users, func(o *scim.Object) {
		if active, ok := o.Bool("active"); ok {
			o.Set("active", map[bool]string{true: "true", false: "false"}[active])
		}
	})},
	{"create.active-dropped", "new users are always active", before(createUser, func(o *scim.Object) { o.Set("active", true) })},
	{"create.emails-single", "only the first email address is stored", before(createUser, func(o *scim.Object) {
		if emails := o.Array("emails"); len(emails) > 1 {
			o.Set("emails", emails[:1])
		}
	})},
	{"create.emails-object", "a single email address is returned as an object", afterEach(readUser, func(o *scim.Object) {
		if emails := o.Array("emails"); len(emails) > 0 {
			o.Set("emails", emails[0])
		}
	})},
	{"create.ascii-only", "non-ASCII letters are replaced by question marks", before(createUser, func(o *scim.Object) {
		if name := o.Complex("name"); name != nil {
			name.Set("givenName", strings.Map(func(r rune) rune {
				if r > 127 {
					return '?'
				}
				return r
			}, name.Text("givenName")))
		}
	})},
	{"create.external-id-lost", "externalId is not stored", before(createUser, func(o *scim.Object) { o.Delete("externalId") })},
	{"create.external-id-lower-case", "externalId is stored in lower case", before(createUser, func(o *scim.Object) {
		if id := o.Text("externalId"); id != "" {
			o.Set("externalId", strings.ToLower(id))
		}
	})},
	{"create.external-id-invented", "a user without externalId is returned with the id as externalId", afterEach(users, func(o *scim.Object) {
		if o.Text("externalId") == "" {
			o.Set("externalId", o.Text("id"))
		}
	})},
	{"create.schemas-missing", "users have no schemas", afterEach(users, func(o *scim.Object) { o.Delete("schemas") })},
	{"create.schemas-twice", "schemas contains the User schema twice",
		afterEach(users, func(o *scim.Object) { o.Set("schemas", append(o.Array("schemas"), scim.UserSchema)) })},
	{"create.extension-lost", "enterprise attributes are not stored",
		before(createUser, func(o *scim.Object) { o.Delete(scim.EnterpriseUserSchema) })},
	{"create.extension-unnamed", "schemas does not contain the URN of the enterprise extension",
		afterEach(readUser, func(o *scim.Object) { o.Set("schemas", []any{scim.UserSchema}) })},
	{"create.duplicates", "two users may have the same userName", duplicates(func(bool) bool { return true })},
	{"create.duplicates-other-case", "two userNames may differ only in case", duplicates(func(known bool) bool { return !known })},
	{"create.conflict-400", "a duplicate userName is rejected with 400", after(createUser, func(_ *http.Request, rep *reply) {
		if rep.status == 409 {
			*rep = *failure(400, scim.Uniqueness)
		}
	})},
	{"create.conflict-without-type", "a 409 response has no scimType", after(createUser, func(_ *http.Request, rep *reply) {
		if rep.status == 409 {
			*rep = *failure(409, "")
		}
	})},
	{"create.nameless", "a user without userName gets a generated one", before(createUser, func(o *scim.Object) {
		if o.Text("userName") == "" && len(o.Array("userName")) <= 1 {
			if v, ok := o.Get("userName"); !ok || v == "" {
				o.Set("userName", "user-"+rand.Text())
			}
		}
	})},
	{"create.malformed-500", "malformed JSON causes 500", instead(createUser, func(next http.Handler, r *http.Request) *reply {
		if _, err := scim.Decode(readBody(r)); err != nil {
			return failure(500, "")
		}
		return serve(next, r)
	})},
	{"create.type-ignored", "a name that is a string is dropped", before(createUser, func(o *scim.Object) {
		if o.Text("name") != "" {
			o.Delete("name")
		}
	})},
	{"create.null-refused", "an attribute with the value null is rejected with 400", refuse(createUser, func(o *scim.Object) bool {
		for _, v := range o.All() {
			if v == nil {
				return true
			}
		}
		return false
	}, func() *reply { return failure(400, scim.InvalidValue) })},
	{"create.names-exact", "attribute names are case-sensitive", before(createUser, func(o *scim.Object) {
		for name := range o.Clone().All() {
			if name == strings.ToUpper(name) {
				o.Delete(name)
			}
		}
	})},
	{"create.password-echoed", "the POST response contains the password", echo(createUser, echoMember("password"))},
	{"create.password-readable", "the password is returned when the attributes parameter names it",
		afterEach(with(readUser, "attributes"), func(o *scim.Object) { o.Set("password", "$2a$04$abcdefghijklmnopqrstuv") })},
	{"create.json-unsupported", "application/json is rejected with 415", instead(createUser, func(next http.Handler, r *http.Request) *reply {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			return failure(415, "")
		}
		return serve(next, r)
	})},
}
