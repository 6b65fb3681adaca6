package mutants

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// untypedUser stores whatever comes as the value of an attribute of a new user.
func untypedUser(name string) wrap {
	return func(next http.Handler) http.Handler {
		kept := &memory{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent, err := scim.Decode(readBody(r))
			rep := ask(next, r)
			if v, given := sent.Get(name); createUser(r) && err == nil && given {
				if rep.status == http.StatusBadRequest {
					sent.Delete(name)
					rep = as(next, r, sent)
				}
				if id := rep.object().Text("id"); rep.ok() && id != "" {
					kept.put(id, v)
				}
			}
			if o := rep.object(); readUser(r) && rep.ok() && kept.at(o.Text("id")) != nil {
				o.Set(name, kept.at(o.Text("id")))
				rep.body = o.AppendJSON(nil)
			}
			rep.send(w)
		})
	}
}

// lost keeps members of a new user's body from the server.
func lost(names ...string) wrap {
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

var createMore = []Mutant{
	{"create.no-schemas-500", "a user without schemas breaks the server",
		refuse(createUser, func(o *scim.Object) bool { _, there := o.Get("schemas"); return !there }, func() *reply { return failure(500, "") })},
	{"create.no-schemas-kept", "a user without schemas is taken, and shown without", func(next http.Handler) http.Handler {
		kept := &memory{}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			bare := false
			before(createUser, func(o *scim.Object) {
				if _, there := o.Get("schemas"); !there {
					bare = true
					o.Set("schemas", []any{scim.UserSchema})
				}
			})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				rep := ask(next, r)
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
	{"create.locale-lost", "locale is not stored", lost("locale")},
	{"create.profile-url-slash", "a slash is put behind profileUrl", afterEach(readUser, func(o *scim.Object) {
		if at := o.Text("profileUrl"); at != "" {
			o.Set("profileUrl", at+"/")
		}
	})},
	{"create.name-formatted-anew", "name.formatted is made up", afterEach(readUser, func(o *scim.Object) {
		if name := o.Complex("name"); name.Text("formatted") != "" {
			name.Set("formatted", name.Text("familyName")+", "+name.Text("givenName"))
		}
	})},
	{"create.roles-lost", "roles are not stored", lost("roles")},
	{"create.phone-types-lost", "the types of telephone numbers are not stored", before(createUser, func(o *scim.Object) {
		for _, v := range o.Array("phoneNumbers") {
			if p, ok := v.(*scim.Object); ok {
				p.Delete("type")
			}
		}
	})},
	{"create.address-lines-joined", "line breaks in addresses become blanks", afterEach(readUser, func(o *scim.Object) {
		for _, v := range o.Array("addresses") {
			a := v.(*scim.Object)
			a.Set("streetAddress", strings.ReplaceAll(a.Text("streetAddress"), "\n", " "))
		}
	})},
	{"create.division-lost", "division is not stored", inExtension(createUser, func(e *scim.Object) { e.Delete("division") })},
	{"create.manager-lost", "the manager is not stored", inExtension(createUser, func(e *scim.Object) { e.Delete("manager") })},
	{"create.manager-reference-wrong", "manager.$ref is the collection", afterEach(readUser, func(o *scim.Object) {
		if m := o.Complex(scim.EnterpriseUserSchema).Complex("manager"); m != nil {
			m.Set("$ref", "https://example.com/scim/v2/Users")
		}
	})},
	{"create.plus-is-blank", "a plus in a filter is a blank",
		filtering(listUsers, func(f string) string { return strings.ReplaceAll(f, "+", " ") })},
	{"create.decoded-twice", "percent signs in a userName are decoded", before(createUser, func(o *scim.Object) {
		if name, err := url.PathUnescape(o.Text("userName")); err == nil && name != "" {
			o.Set("userName", name)
		}
	})},
	{"create.long-text-cut", "texts are cut off after 255 characters", before(createUser, func(o *scim.Object) {
		if text := o.Text("displayName"); len(text) > 255 {
			o.Set("displayName", text[:255])
		}
	})},
	{"create.long-text-500", "a long text answers 500",
		refuse(createUser, func(o *scim.Object) bool { return len(o.Text("displayName")) > 255 }, func() *reply { return failure(500, "") })},
	{"create.ten-emails", "only ten e-mail addresses are kept", before(createUser, func(o *scim.Object) {
		if emails := o.Array("emails"); len(emails) > 10 {
			o.Set("emails", emails[:10])
		}
	})},
	{"create.null-name-taken", "null as userName is taken", swallowed(bodied(createUser, func(o *scim.Object) bool {
		v, ok := o.Get("userName")
		return ok && v == nil
	}))},
	{"create.schemas-echoed", "schemas are returned as they were sent", untypedUser("schemas")},
	{"create.unknown-schema-500", "an unknown schema answers 500", refuse(createUser, func(o *scim.Object) bool {
		return len(o.Array("schemas")) > 1 && o.Complex(scim.EnterpriseUserSchema) == nil
	}, func() *reply { return failure(500, "") })},
	{"create.extension-never-named", "schemas names the User schema only",
		afterEach(readUser, func(o *scim.Object) { o.Set("schemas", []any{scim.UserSchema}) })},
	{"create.extension-always-named", "schemas names the extension always",
		afterEach(readUser, func(o *scim.Object) { o.Set("schemas", []any{scim.UserSchema, scim.EnterpriseUserSchema}) })},
	{"create.unknown-returned", "an unknown attribute is stored and returned", untypedUser("scimconfUnknown")},
	{"create.untyped-text", "anything is a displayName", untypedUser("displayName")},
	{"create.untyped-boolean", "anything is active", untypedUser("active")},
	{"create.untyped-complex", "anything is a name", untypedUser("name")},
	{"create.untyped-list", "anything is a list of e-mail addresses", untypedUser("emails")},
	{"create.stored-before-checked", "a refused user is stored all the same",
		instead(createUser, func(next http.Handler, r *http.Request) *reply {
			sent, err := scim.Decode(readBody(r))
			rep := ask(next, r)
			if err == nil && rep.status == http.StatusBadRequest {
				sent.Delete("name")
				as(next, r, sent)
			}
			return rep
		})},
	{"create.external-id-unique", "a second user of one externalId answers 409", func(next http.Handler) http.Handler {
		posted := &names{}
		return refuse(createUser, func(o *scim.Object) bool { return o.Text("externalId") != "" && posted.add(o.Text("externalId")) },
			func() *reply { return failure(409, scim.Uniqueness) })(next)
	}},
	{"create.repeated-returned", "a repeated e-mail address is returned twice", untypedUser("emails")},
	{"create.schemas-first", "schemas must come first", refuse(createUser, func(o *scim.Object) bool {
		for name := range o.All() {
			return name == scim.EnterpriseUserSchema
		}
		return false
	}, func() *reply { return failure(400, scim.InvalidSyntax) })},
	{"create.groups-taken", "groups of the body are returned", untypedUser("groups")},
	{"create.id-in-capitals-taken", "ID of the client is taken", echo(createUser, func(sent, got *scim.Object) {
		for name, v := range sent.All() {
			if name == "ID" {
				got.Set("id", v)
			}
		}
	})},
}

var putMore = []Mutant{
	{"put.echo-refused", "a PUT with meta answers 400",
		refusing(bodied(putUser, func(o *scim.Object) bool { return o.Complex("meta") != nil }), 400)},
	{"put.echo-clears", "a PUT of what GET answered clears emails", before(putUser, func(o *scim.Object) {
		if o.Complex("meta") != nil {
			o.Delete("emails")
		}
	})},
	{"put.adds-again", "a PUT adds what it has", merging(putUser, func(sent, has *scim.Object) {
		for _, v := range has.Array("emails") {
			e := v.(*scim.Object).Clone()
			e.Delete("primary")
			e.Set("type", e.Text("type")+"-old")
			sent.Set("emails", append(sent.Array("emails"), e))
		}
	})},
	{"put.keeps-omitted", "a PUT keeps what it leaves out", merging(putUser, func(sent, has *scim.Object) {
		for name, v := range has.All() {
			if _, ok := sent.Get(name); !ok {
				sent.Set(name, v)
			}
		}
	})},
	{"put.takes-id", "a PUT takes the id of the body", stained(putUser, func(_ *http.Request, sent *scim.Object, rep *reply) any {
		if id := sent.Text("id"); rep.ok() && id != "" {
			return id
		}
		return nil
	}, func(o *scim.Object, kept any) { o.Set("id", kept) })},
	{"put.extension-ignored", "a PUT leaves the extension as it is", merging(putUser, func(sent, has *scim.Object) {
		if e := has.Complex(scim.EnterpriseUserSchema); e != nil {
			sent.Set(scim.EnterpriseUserSchema, e)
		} else {
			sent.Delete(scim.EnterpriseUserSchema)
		}
	})},
	{"put.extension-null-ignored", "null in an extension keeps the value", merging(putUser, func(sent, has *scim.Object) {
		old := has.Complex(scim.EnterpriseUserSchema)
		for name, v := range sent.Complex(scim.EnterpriseUserSchema).Clone().All() {
			if kept, ok := old.Get(name); ok && v == nil {
				sent.Complex(scim.EnterpriseUserSchema).Set(name, kept)
			}
		}
	})},
	{"put.extension-unnamed", "schemas does not name an extension that a PUT added",
		afterEach(readUser, func(o *scim.Object) { o.Set("schemas", []any{scim.UserSchema}) })},
	{"put.name-fixed", "a PUT does not change userName", merging(putUser, func(sent, has *scim.Object) {
		if sent.Text("userName") != "" {
			sent.Set("userName", has.Text("userName"))
		}
	})},
	{"put.old-name-found", "a renamed user is found by its old name",
		filtering(listUsers, func(f string) string { return strings.Replace(f, "maiden", "married", 1) })},
	{"put.external-id-fixed", "a PUT does not change externalId", merging(putUser, func(sent, has *scim.Object) {
		if old := has.Text("externalId"); old != "" {
			sent.Set("externalId", old)
		}
	})},
	{"put.never-inactive", "a PUT does not switch a user off", before(putUser, func(o *scim.Object) { o.Set("active", true) })},
	{"put.inactive-hidden", "users who are switched off answer 404", after(readUser, func(_ *http.Request, rep *reply) {
		if active, ok := rep.object().Bool("active"); rep.ok() && ok && !active {
			*rep = *failure(404, "")
		}
	})},
	{"put.null-name-kept", "null as userName keeps the old one", merging(putUser, func(sent, has *scim.Object) {
		if v, ok := sent.Get("userName"); ok && v == nil {
			sent.Set("userName", has.Text("userName"))
		}
	})},
	{"put.text-name-clears", "a text as name clears the name", before(putUser, func(o *scim.Object) {
		if o.Text("name") != "" {
			o.Delete("name")
		}
	})},
	{"put.text-name-stored", "a text as name is stored", stained(putUser, func(_ *http.Request, sent *scim.Object, rep *reply) any {
		if sent.Text("name") == "" {
			return nil
		}
		*rep = *answer(200, sent)
		return sent.Text("name")
	}, func(o *scim.Object, kept any) { o.Set("name", kept) })},
	{"put.all-primary", "every e-mail address of a PUT is primary", afterEach(readUser, func(o *scim.Object) {
		for _, v := range o.Array("emails") {
			v.(*scim.Object).Set("primary", true)
		}
	})},
	{"put.answer-without-id", "the answer to PUT has no id", afterBody(putUser, func(o *scim.Object) { o.Delete("id") })},
	{"put.location-of-collection", "meta.location in the answer to PUT is the collection", afterBody(putUser, func(o *scim.Object) {
		l := o.Complex("meta").Text("location")
		o.Complex("meta").Set("location", l[:strings.LastIndex(l, "/")])
	})},
}

var deleteMore = []Mutant{
	{"delete.takes-alike", "DELETE takes the users of the same externalId along",
		instead(deleteUser, func(next http.Handler, r *http.Request) *reply {
			was := stored(next, r)
			base, _, _ := place(r)
			if id := was.Text("externalId"); id != "" {
				list := ask(next, alike(r, http.MethodGet, base+"/Users", url.Values{"filter": {`externalId eq "` + id + `"`}}.Encode(), nil)).object()
				for _, v := range list.Array("Resources") {
					ask(next, alike(r, http.MethodDelete, base+"/Users/"+v.(*scim.Object).Text("id"), "", nil))
				}
				return &reply{status: http.StatusNoContent, header: http.Header{}}
			}
			return ask(next, r)
		})},
	{"delete.takes-reports", "DELETE of a manager takes the reports along",
		instead(deleteUser, func(next http.Handler, r *http.Request) *reply {
			base, _, id := place(r)
			filter := url.Values{"filter": {scim.EnterpriseUserSchema + `:manager.value eq "` + id + `"`}}
			list := ask(next, alike(r, http.MethodGet, base+"/Users", filter.Encode(), nil)).object()
			for _, v := range list.Array("Resources") {
				ask(next, alike(r, http.MethodDelete, base+"/Users/"+v.(*scim.Object).Text("id"), "", nil))
			}
			return ask(next, r)
		})},
	{"delete.still-searched", "a deleted user is still found by a search",
		trackDeleted(func(next http.Handler, r *http.Request, g *graves) *reply {
			_, _, id := place(r)
			var sent *scim.Object
			if id == ".search" {
				sent, _ = scim.Decode(readBody(r))
			}
			rep := ask(next, r)
			if m := userNameOperand.FindStringSubmatch(sent.Text("filter")); m != nil && rep.ok() && g.named(m[1]) != nil {
				list := rep.object()
				list.Set("Resources", append(slices.Clone(list.Array("Resources")), g.named(m[1])))
				rep.body = list.AppendJSON(nil)
			}
			return rep
		})},
	{"delete.external-id-found", "a deleted user is still found by its externalId",
		trackDeleted(func(next http.Handler, r *http.Request, g *graves) *reply {
			rep := ask(next, r)
			if f := r.URL.Query().Get("filter"); listUsers(r) && rep.ok() && strings.HasPrefix(f, "externalId eq") {
				if o := g.with("externalId", strings.Trim(strings.TrimPrefix(f, "externalId eq "), `"`)); o != nil {
					list := rep.object()
					list.Set("Resources", append(slices.Clone(list.Array("Resources")), o))
					rep.body = list.AppendJSON(nil)
				}
			}
			return rep
		})},
}
