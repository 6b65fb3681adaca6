package mutants

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// untypedUser returns a wrapper that accepts any value of an attribute of a new user.
func untypedUser(name string) wrap {
	return func(next http.Handler) http.Handler {
		kept := &memory{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent, err := scim.Decode(readBody(r))
			rep := serve(next, r)
			if v, given := sent.Get(name); createUser(r) && err == nil && given {
				if rep.status == http.StatusBadRequest {
					sent.Delete(name)
					rep = as(next, r, sent)
				}
				if id := rep.object().Text("id"); rep.ok() && id != "" {
					kept.put(id, v)
				}
			}
			if o := rep.object(); o != nil && readUser(r) && rep.ok() && kept.at(o.Text("id")) != nil {
				o.Set(name, kept.at(o.Text("id")))
				rep.body = o.AppendJSON(nil)
			}
			rep.send(w)
		})
	}
}

// dropOnCreate returns a wrapper that removes members from the body of a POST of a user.
func dropOnCreate(names ...string) wrap {
	return before(createUser, func(o *scim.Object) {
		for _, name := range names {
			o.Delete(name)
		}
	})
}

func inExtension(m match, fn func(e *scim.Object)) wrap {
	return before(m, func(o *scim.Object) {
		if e := o.Complex(scim.EnterpriseUserSchema); e != nil {
			fn(e)
		}
	})
}

var createValues = []Mutant{
	{"create.no-schemas-500", "a user without schemas causes 500",
		refuse(createUser, func(o *scim.Object) bool { _, there := o.Get("schemas"); return !there }, func() *reply { return failure(500, "") })},
	{"create.no-schemas-kept", "a user without schemas is stored and returned without schemas", func(next http.Handler) http.Handler {
		kept := &memory{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			bare := false
			before(createUser, func(o *scim.Object) {
				if _, there := o.Get("schemas"); !there {
					bare = true
					o.Set("schemas", []any{scim.UserSchema})
				}
			})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				rep := serve(next, r)
				o := rep.object()
				if bare && rep.ok() {
					kept.put(o.Text("id"), true)
				}
				if rep.ok() && o != nil && kept.at(o.Text("id")) != nil {
					o.Delete("schemas")
					rep.body = o.AppendJSON(nil)
				}
				rep.send(w)
			})).ServeHTTP(w, r)
		})
	}},
	{"create.locale-lost", "locale is not stored", dropOnCreate("locale")},
	{"create.profile-url-slash", "a slash is appended to profileUrl", afterEach(readUser, func(o *scim.Object) {
		if at := o.Text("profileUrl"); at != "" {
			o.Set("profileUrl", at+"/")
		}
	})},
	{"create.name-formatted-anew", "name.formatted is replaced by a generated value", afterEach(readUser, func(o *scim.Object) {
		if name := o.Complex("name"); name.Text("formatted") != "" {
			name.Set("formatted", name.Text("familyName")+", "+name.Text("givenName"))
		}
	})},
	{"create.roles-lost", "roles are not stored", dropOnCreate("roles")},
	{"create.phone-types-lost", "the types of telephone numbers are not stored", before(createUser, func(o *scim.Object) {
		for _, v := range o.Array("phoneNumbers") {
			if p, ok := v.(*scim.Object); ok {
				p.Delete("type")
			}
		}
	})},
	{"create.address-lines-joined", "line breaks in addresses are replaced by spaces", afterEach(readUser, func(o *scim.Object) {
		for _, v := range o.Array("addresses") {
			a := objectOf(v)
			a.Set("streetAddress", strings.ReplaceAll(a.Text("streetAddress"), "\n", " "))
		}
	})},
	{"create.division-lost", "division is not stored", inExtension(createUser, func(e *scim.Object) { e.Delete("division") })},
	{"create.manager-lost", "the manager is not stored", inExtension(createUser, func(e *scim.Object) { e.Delete("manager") })},
	{"create.manager-reference-wrong", "manager.$ref is the URL of the collection", afterEach(readUser, func(o *scim.Object) {
		if m := o.Complex(scim.EnterpriseUserSchema).Complex("manager"); m != nil {
			m.Set("$ref", "https://example.com/scim/v2/Users")
		}
	})},
	{"create.plus-is-blank", "a percent-encoded plus sign in a filter is read as a space",
		filtering(listUsers, func(f string) string { return strings.ReplaceAll(f, "+", " ") })},
	{"create.decoded-twice", "a userName in a POST body is percent-decoded", before(createUser, func(o *scim.Object) {
		if name, err := url.PathUnescape(o.Text("userName")); err == nil && name != "" {
			o.Set("userName", name)
		}
	})},
	{"create.long-text-cut", "strings are truncated after 255 characters", before(createUser, func(o *scim.Object) {
		if text := o.Text("displayName"); len(text) > 255 {
			o.Set("displayName", text[:255])
		}
	})},
	{"create.long-text-500", "a long string causes 500",
		refuse(createUser, func(o *scim.Object) bool { return len(o.Text("displayName")) > 255 }, func() *reply { return failure(500, "") })},
	{"create.ten-emails", "only ten email addresses are stored", before(createUser, func(o *scim.Object) {
		if emails := o.Array("emails"); len(emails) > 10 {
			o.Set("emails", emails[:10])
		}
	})},
	{"create.null-name-taken", "null as userName is accepted", pretendCreated(withJSON(createUser, func(o *scim.Object) bool {
		v, ok := o.Get("userName")
		return ok && v == nil
	}))},
	{"create.schemas-echoed", "schemas is returned unchanged from the request", untypedUser("schemas")},
	{"create.unknown-schema-500", "an unknown schema URN causes 500", refuse(createUser, func(o *scim.Object) bool {
		return len(o.Array("schemas")) > 1 && o.Complex(scim.EnterpriseUserSchema) == nil
	}, func() *reply { return failure(500, "") })},
	{"create.extension-never-named", "schemas contains only the User schema",
		afterEach(readUser, func(o *scim.Object) { o.Set("schemas", []any{scim.UserSchema}) })},
	{"create.extension-always-named", "schemas of every user contains the URN of the enterprise extension",
		afterEach(readUser, func(o *scim.Object) { o.Set("schemas", []any{scim.UserSchema, scim.EnterpriseUserSchema}) })},
	{"create.unknown-returned", "an unknown attribute is stored and returned", untypedUser("scimconfUnknown")},
	{"create.untyped-text", "any value is accepted as displayName", untypedUser("displayName")},
	{"create.untyped-boolean", "any value is accepted as active", untypedUser("active")},
	{"create.untyped-complex", "any value is accepted as name", untypedUser("name")},
	{"create.untyped-list", "any value is accepted as emails", untypedUser("emails")},
	{"create.stored-before-checked", "a rejected user is stored",
		instead(createUser, func(next http.Handler, r *http.Request) *reply {
			sent, err := scim.Decode(readBody(r))
			rep := serve(next, r)
			if err == nil && rep.status == http.StatusBadRequest {
				sent.Delete("name")
				as(next, r, sent)
			}
			return rep
		})},
	{"create.external-id-unique", "a second user with the same externalId is rejected with 409", func(next http.Handler) http.Handler {
		posted := &names{}
		return refuse(createUser, func(o *scim.Object) bool { return o.Text("externalId") != "" && posted.add(o.Text("externalId")) },
			func() *reply { return failure(409, scim.Uniqueness) })(next)
	}},
	{"create.repeated-returned", "a duplicate email address is returned twice", untypedUser("emails")},
	{"create.schemas-first", "a body whose first member is the enterprise extension, not schemas, is rejected",
		refuse(createUser, func(o *scim.Object) bool {
			for name := range o.All() {
				return name == scim.EnterpriseUserSchema
			}
			return false
		}, func() *reply { return failure(400, scim.InvalidSyntax) })},
	{"create.groups-taken", "groups in the request body are stored", untypedUser("groups")},
	{"create.id-in-capitals-taken", "a value that the client sends in a member with the name ID, in upper case, is stored as the id",
		echo(createUser, func(sent, got *scim.Object) {
			for name, v := range sent.All() {
				if name == "ID" {
					got.Set("id", v)
				}
			}
		})},
}
