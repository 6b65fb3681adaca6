package mutants

import (
	"net/http"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// unlessSameAddress returns a wrapper that accepts a user whose userName is already in use, unless an earlier POST contained the same
// userName, compared by fold, together with the same first email address.
func unlessSameAddress(fold func(string) string) wrap {
	return func(next http.Handler) http.Handler {
		posted := &names{}
		return instead(createUser, func(next http.Handler, r *http.Request) *reply {
			o, err := scim.Decode(readBody(r))
			if err != nil {
				return serve(next, r)
			}
			address := ""
			if list := o.Array("emails"); len(list) > 0 {
				if first, ok := list[0].(*scim.Object); ok {
					address = first.Text("value")
				}
			}
			known := posted.add(fold(o.Text("userName")) + " " + address)
			rep := serve(next, r)
			if rep.status != http.StatusConflict || known {
				return rep
			}
			return storeRenamed(next, r, o)
		})(next)
	}
}

// alsoReturn returns a wrapper that adds a member of the whole resource to the response to a GET of a user with the attributes parameter.
func alsoReturn(member string) wrap {
	return instead(with(readUser, "attributes"), func(next http.Handler, r *http.Request) *reply {
		rep := serve(next, r)
		whole := serve(next, derivedRequest(r, http.MethodGet, r.URL.Path, "", nil)).object()
		o := rep.object()
		if v, ok := whole.Get(member); rep.ok() && ok && o != nil {
			o.Set(member, v)
			rep.body = o.AppendJSON(nil)
		}
		return rep
	})
}

// textOfBoolean returns the string in the last operation that replaces active by a string, nil if there is none.
func textOfBoolean(message *scim.Object) any {
	var found any
	for _, item := range message.Array("Operations") {
		op, _ := item.(*scim.Object)
		if text := op.Text("value"); strings.EqualFold(op.Text("op"), "replace") && op.Text("path") == "active" && text != "" {
			found = text
		}
	}
	return found
}

// booleanAsText is a wrapper that stores a string that replaces active, and returns it until a PATCH without such an operation.
func booleanAsText(next http.Handler) http.Handler {
	kept := &memory{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _, id := place(r)
		message, err := scim.Decode(readBody(r))
		rep := serve(next, r)
		if patchUser(r) && err == nil && rep.ok() {
			kept.put(id, textOfBoolean(message))
		}
		if o := rep.object(); rep.ok() && o != nil {
			shown := o.Array("Resources")
			if shown == nil {
				shown = []any{o}
			}
			for _, item := range shown {
				user, _ := item.(*scim.Object)
				if text := kept.at(user.Text("id")); text != nil {
					user.Set("active", text)
				}
			}
			rep.body = o.AppendJSON(nil)
		}
		rep.send(w)
	})
}

// withoutBody removes the body of errors with a status.
func withoutBody(status int) wrap {
	return after(everything, func(_ *http.Request, rep *reply) {
		if rep.status == status {
			rep.body = nil
			rep.header.Del("Content-Type")
		}
	})
}

// removalType returns a wrapper that replaces the scimType with which the server rejects the removal of an attribute.
func removalType(path string, kind scim.Type) wrap {
	return after(withJSON(patchUser, anyOp(func(op *scim.Object) bool { return is(op, "remove", path) })), func(_ *http.Request, rep *reply) {
		if rep.status == http.StatusBadRequest {
			*rep = *failure(http.StatusBadRequest, kind)
		}
	})
}

// ofClients returns the faults of [Incompatible] with the given ids. Their area becomes that of the checks that must detect them.
func ofClients(area string, ids ...string) []Mutant {
	var out []Mutant
	for _, m := range Incompatible() {
		if slices.Contains(ids, m.ID) {
			_, name, _ := strings.Cut(m.ID, ".")
			m.ID = area + ".client-" + name
			out = append(out, m)
		}
	}
	return out
}

// clientFaults are faults that break the flows of known clients. A run without profiles must detect them too.
var clientFaults = slices.Concat(
	ofClients("create", "create.address-required", "create.unknown-schemas-refused"),
	ofClients("filter", "lookup.no-external-id", "lookup.no-value-path"),
	ofClients("patch", "update.boolean-texts-refused", "update.dotted-keys-refused", "update.no-target-refused",
		"update.manager-object-only", "update.password-refused"),
	ofClients("groups", "groups.own-id-refused", "groups.references-refused", "groups.remove-list-empties", "groups.remove-list-ignored"),
	ofClients("projection", "groups.exclusion-refused"),
)

// missed are faults of known servers that earlier versions of the checks did not detect.
var missed = []Mutant{
	{"patch.schemas-not-needed", "a PATCH without schemas is accepted", before(patchUser, func(o *scim.Object) {
		if _, given := o.Get("schemas"); !given {
			o.Set("schemas", []any{scim.PatchOpMessage})
		}
	})},
	{"patch.remove-required-value", "the removal of userName is rejected with invalidValue", removalType("userName", scim.InvalidValue)},
	{"patch.remove-required-untyped", "the removal of userName is rejected without scimType", removalType("userName", "")},
	{"patch.remove-read-only-untyped", "the removal of id is rejected without scimType", removalType("id", "")},
	{"patch.boolean-as-text", "a string that replaces active is stored as a string", booleanAsText},
	{"patch.boolean-text-ignored", "a string that replaces active is ignored", drop(patchUser, func(o *scim.Object) bool {
		return o.Text("path") == "active" && o.Text("value") != ""
	})},
	{"patch.replace-primary-adds",
		"after a replace of primary in an element that a value filter selects, the previous primary element stays primary",
		rememberAndShow(patchUser, func(_ *http.Request, sent *scim.Object, rep *reply) any {
			list := sent.Array("Operations")
			if len(list) == 1 && rep.ok() && strings.HasSuffix(objectOf(list[0]).Text("path"), "].primary") {
				return true
			}
			return nil
		}, func(o *scim.Object, _ any) {
			if work := find(o, "emails", "type", "work"); work != nil {
				work.Set("primary", true)
			}
		})},
	{"patch.extension-stays-empty", "after the removal of the last attribute of an extension, responses contain the extension as {}",
		rememberAndShow(patchUser, func(_ *http.Request, sent *scim.Object, rep *reply) any {
			if rep.ok() && anyOp(func(op *scim.Object) bool {
				return op.Text("op") == "remove" && strings.HasPrefix(op.Text("path"), scim.EnterpriseUserSchema)
			})(sent) {
				return true
			}
			return nil
		}, func(o *scim.Object, _ any) {
			if _, there := o.Get(scim.EnterpriseUserSchema); !there {
				o.Set(scim.EnterpriseUserSchema, scim.NewObject())
			}
		})},
	{"projection.meta-always", "a user read with the attributes parameter has meta even if the parameter does not name it",
		alsoReturn("meta")},
	{"projection.external-id-always", "a user read with the attributes parameter has externalId even if the parameter does not name it",
		alsoReturn("externalId")},
	{"projection.meta-in-lists", "the items of a list with the attributes parameter have meta even if the parameter does not name it",
		afterEach(with(listUsers, "attributes"), func(o *scim.Object) {
			o.Set("meta", scim.NewObject(scim.Member{Name: "resourceType", Value: "User"}))
		})},
	{"projection.meta-on-post", "the response to a POST with the attributes parameter has meta even if the parameter does not name it",
		afterBody(with(createUser, "attributes"), func(o *scim.Object) {
			o.Set("meta", scim.NewObject(scim.Member{Name: "resourceType", Value: "User"}))
		})},
	{"create.duplicates-other-address", "a userName in use is accepted if the email address is not in use",
		unlessSameAddress(func(name string) string { return name })},
	{"create.duplicates-other-case-address",
		"a userName that differs from one in use only in case is accepted if the email address is not in use",
		func(next http.Handler) http.Handler {
			exact := &names{}
			lenient := unlessSameAddress(strings.ToLower)(next)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if o, err := scim.Decode(readBody(r)); createUser(r) && err == nil && exact.add(o.Text("userName")) {
					next.ServeHTTP(w, r)
					return
				}
				lenient.ServeHTTP(w, r)
			})
		}},
	{"discovery.documentation-empty", "documentationUri is an empty string",
		afterBody(config, func(o *scim.Object) { o.Set("documentationUri", "") })},
	{"discovery.scheme-documentation-relative", "specUri of an authentication scheme is a path", afterBody(config, func(o *scim.Object) {
		for _, item := range o.Array("authenticationSchemes") {
			objectOf(item).Set("specUri", "/docs/authentication")
		}
	})},
	{"traffic.conflict-empty", "a 409 has no body", withoutBody(http.StatusConflict)},
	{"traffic.wrong-method-empty", "a 405 has no body", withoutBody(http.StatusMethodNotAllowed)},
	{"list.beyond-total", "if startIndex is past the end of the list, totalResults is startIndex-1",
		after(listUsers, func(r *http.Request, rep *reply) {
			o := rep.object()
			if n, ok := integerOf(r, "startIndex"); ok && n > 1 && rep.ok() && len(o.Array("Resources")) == 0 {
				o.Set("totalResults", n-1)
				rep.body = o.AppendJSON(nil)
			}
		})},
	{"me.mistakes-422", "a malformed request to /Me is rejected with 422", changeStatus(ofMe, 400, 422)},
}
