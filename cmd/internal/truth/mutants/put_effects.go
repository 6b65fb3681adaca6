package mutants

import (
	"net/http"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

var putEffects = []Mutant{
	{"put.echo-refused", "a PUT with meta is rejected with 400",
		refusing(withJSON(putUser, func(o *scim.Object) bool { return o.Complex("meta") != nil }), 400)},
	{"put.echo-clears", "a PUT of an unmodified GET response removes emails", before(putUser, func(o *scim.Object) {
		if o.Complex("meta") != nil {
			o.Delete("emails")
		}
	})},
	{"put.adds-again", "a PUT keeps the existing email addresses in addition to the new ones", merging(putUser, func(sent, has *scim.Object) {
		for _, v := range has.Array("emails") {
			e := objectOf(v).Clone()
			e.Delete("primary")
			e.Set("type", e.Text("type")+"-old")
			sent.Set("emails", append(sent.Array("emails"), e))
		}
	})},
	{"put.keeps-omitted", "a PUT keeps omitted attributes", merging(putUser, func(sent, has *scim.Object) {
		for name, v := range has.All() {
			if _, ok := sent.Get(name); !ok {
				sent.Set(name, v)
			}
		}
	})},
	{"put.takes-id", "a PUT changes the id to the id in the body",
		rememberAndShow(putUser, func(_ *http.Request, sent *scim.Object, rep *reply) any {
			if id := sent.Text("id"); rep.ok() && id != "" {
				return id
			}
			return nil
		}, func(o *scim.Object, kept any) { o.Set("id", kept) })},
	{"put.extension-ignored", "a PUT does not change the extension", merging(putUser, func(sent, has *scim.Object) {
		if e := has.Complex(scim.EnterpriseUserSchema); e != nil {
			sent.Set(scim.EnterpriseUserSchema, e)
		} else {
			sent.Delete(scim.EnterpriseUserSchema)
		}
	})},
	{"put.extension-null-ignored", "null in an extension does not remove the value", merging(putUser, func(sent, has *scim.Object) {
		old := has.Complex(scim.EnterpriseUserSchema)
		for name, v := range sent.Complex(scim.EnterpriseUserSchema).Clone().All() {
			if kept, ok := old.Get(name); ok && v == nil {
				complexOf(sent, scim.EnterpriseUserSchema).Set(name, kept)
			}
		}
	})},
	{"put.extension-unnamed", "schemas does not contain an extension that a PUT added",
		afterEach(readUser, func(o *scim.Object) { o.Set("schemas", []any{scim.UserSchema}) })},
	{"put.name-fixed", "a PUT does not change userName", merging(putUser, func(sent, has *scim.Object) {
		if sent.Text("userName") != "" {
			sent.Set("userName", has.Text("userName"))
		}
	})},
	{"put.old-name-found", "a renamed user is still found by the old userName",
		filtering(listUsers, func(f string) string { return strings.Replace(f, "maiden", "married", 1) })},
	{"put.external-id-fixed", "a PUT does not change externalId", merging(putUser, func(sent, has *scim.Object) {
		if old := has.Text("externalId"); old != "" {
			sent.Set("externalId", old)
		}
	})},
	{"put.never-inactive", "a PUT does not deactivate a user", before(putUser, func(o *scim.Object) { o.Set("active", true) })},
	{"put.inactive-hidden", "reading an inactive user returns 404", after(readUser, func(_ *http.Request, rep *reply) {
		if active, ok := rep.object().Bool("active"); rep.ok() && ok && !active {
			*rep = *failure(404, "")
		}
	})},
	{"put.null-name-kept", "null as userName keeps the old value", merging(putUser, func(sent, has *scim.Object) {
		if v, ok := sent.Get("userName"); ok && v == nil {
			sent.Set("userName", has.Text("userName"))
		}
	})},
	{"put.text-name-clears", "a string as name removes the name", before(putUser, func(o *scim.Object) {
		if o.Text("name") != "" {
			o.Delete("name")
		}
	})},
	{"put.text-name-stored", "a string as name is stored", rememberAndShow(putUser, func(_ *http.Request, sent *scim.Object, rep *reply) any {
		if sent.Text("name") == "" {
			return nil
		}
		*rep = *newReply(200, sent)
		return sent.Text("name")
	}, func(o *scim.Object, kept any) { o.Set("name", kept) })},
	{"put.all-primary", "every email address in a PUT becomes primary", afterEach(readUser, func(o *scim.Object) {
		for _, v := range o.Array("emails") {
			objectOf(v).Set("primary", true)
		}
	})},
	{"put.answer-without-id", "the PUT response has no id", afterBody(putUser, func(o *scim.Object) { o.Delete("id") })},
	{"put.location-of-collection", "meta.location in the PUT response is the URL of the collection", afterBody(putUser, func(o *scim.Object) {
		complexOf(o, "meta").Set("location", parentOf(o.Complex("meta").Text("location")))
	})},
}
