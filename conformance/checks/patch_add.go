package checks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// patches are the needs of the checks that PATCH users.
var patches = needs(conformance.NeedUser, conformance.NeedWrite, conformance.NeedPatch)

// patched sends the operations, requires 200 or 204, and returns the resource from a subsequent GET.
func patched(ctx context.Context, t *T, c *conformance.Created, operations ...doc) *scim.Object {
	succeeded(t, t.Patch(ctx, c.Path(), operations...), 200, 204)
	return readPatched(ctx, t, c.Path())
}

// twoEmails returns attributes for [T.User] with a work and a home address.
func twoEmails(t *T) doc {
	return doc{"emails": []doc{
		{"value": t.UserName("work"), "type": "work", "primary": true},
		{"value": t.UserName("home"), "type": "home"},
	}}
}

var patchAdd = []check{
	{
		ID:           "patch.add-multi-valued",
		Title:        "The operation add to a multi-valued attribute appends and does not remove existing values",
		Requirements: reqs("RFC7644-3.5.2.1-07"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why:          "A server that replaces the values instead deletes all addresses of the user except the last.",
		Fix:          "Append the new values to the stored ones.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "growing", nil)
			o := patched(ctx, t, u, doc{"op": "add", "path": "emails", "value": []doc{{"value": t.UserName("second"), "type": "home"}}})
			t.Expect("emails.value after add of an array", sorted(t.UserName("growing"), t.UserName("second")), values(o, "emails", "value"))
		},
	},
	{
		ID:           "patch.add-object",
		Title:        "The operation add to a multi-valued attribute accepts a single object without an array",
		Requirements: reqs("RFC7644-3.5.2.1-08"),
		Level:        should,
		Needs:        patches,
		Requests:     4,
		Why:          "Clients that add one address send it without an array; if it is rejected, the address is lost.",
		Fix:          "Treat an object in place of an array as an array with one element.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "growing", nil)
			o := patched(ctx, t, u, doc{"op": "add", "path": "emails", "value": doc{"value": t.UserName("third"), "type": "other"}})
			t.Expect("emails.value after add of an object", sorted(t.UserName("growing"), t.UserName("third")), values(o, "emails", "value"))
		},
	},
	{
		ID:           "patch.add-single-valued",
		Title:        "The operation add sets a single-valued attribute, with or without an existing value",
		Requirements: reqs("RFC7644-3.5.2.1-09", "RFC7644-3.5.2.1-04"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why:          "Entra ID sends Add for attributes with and without a value; if the server rejects it, the update is lost.",
		Fix:          "Set the value; accept the operation also if the attribute has a value.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "titled", doc{"displayName": "Before"})
			o := patched(ctx, t, u, doc{"op": "add", "path": "displayName", "value": "After"}, doc{"op": "add", "path": "nickName", "value": "Nick"})
			t.Expect("displayName", "After", value(o, "displayName"))
			t.Expect("nickName", "Nick", value(o, "nickName"))
		},
	},
	{
		ID:           "patch.add-no-path",
		Title:        "The operation add without a path adds each attribute in the value",
		Requirements: reqs("RFC7644-3.5.2.1-02"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why: "Clients send several attribute changes in one operation; if the server ignores some of them, the account has outdated " +
			"data.",
		Fix: "Treat every member of the value as a separate add.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "plural", nil)
			o := patched(ctx, t, u,
				doc{"op": "add", "value": doc{"nickName": "Nick", "emails": []doc{{"value": t.UserName("more"), "type": "home"}}}})
			right := t.Expect("nickName", "Nick", value(o, "nickName"))
			right = t.Expect("userName", t.UserName("plural"), value(o, "userName")) && right
			if !t.Expect("emails.value", sorted(t.UserName("plural"), t.UserName("more")), values(o, "emails", "value")) && right {
				blockedIfNotAppended(ctx, t)
			}
		},
	},
	{
		ID:           "patch.add-complex",
		Title:        "The operation add to a complex attribute does not change sub-attributes that are not in the value",
		Requirements: reqs("RFC7644-3.5.2.1-06", "RFC7644-3.5.2.1-05", "RFC7644-3.5.2.1-12"),
		Level:        should,
		Needs:        patches,
		Requests:     6,
		Why:          "If sub-attributes that the client did not send are removed, an add of the given name deletes the family name.",
		Fix:          "Set the sub-attributes that are in the value, and do not change the other stored sub-attributes.",
		Run:          patchAddComplex,
	},
	{
		ID:           "patch.add-existing",
		Title:        "The operation add of an existing value of a multi-valued attribute changes nothing, including lastModified",
		Requirements: reqs("RFC7644-3.5.2.1-10", "RFC7644-3.5.2.1-11"),
		Level:        should,
		Needs:        patches,
		Requests:     5,
		Why:          "Clients repeat operations; if the server does not compare the values, every repetition adds a duplicate.",
		Fix:          "Compare the new value with the stored values; if it is already stored, change nothing, including lastModified.",
		Run:          patchAddExisting,
	},
	{
		ID:           "patch.add-extension",
		Title:        "The operation add sets an extension attribute by its name with the URN, and adds the URN to schemas",
		Requirements: reqs("RFC7644-3.5.2-20", "RFC7644-3.5.2-23", "RFC7644-3.5.2-21"),
		Level:        must,
		Needs:        needs(conformance.NeedUser, conformance.NeedWrite, conformance.NeedPatch, conformance.NeedEnterprise),
		Requests:     4,
		Why:          "Clients send department and manager in every profile update; lost values break approvals and access rules.",
		Fix:          "Split the path at the last colon; add the URN to schemas when the extension gets its first value.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "promoted", nil)
			o := patched(ctx, t, u, doc{"op": "add", "path": scim.EnterpriseUserSchema + ":department", "value": "Engines"})
			t.Expect("department", "Engines", value(o.Complex(scim.EnterpriseUserSchema), "department"))
			t.Holds(slices.Contains(texts(o, "schemas"), scim.EnterpriseUserSchema), "schemas", scim.EnterpriseUserSchema+" in the list",
				value(o, "schemas"))
		},
	},
	{
		ID:           "patch.add-null",
		Title:        "The operation add of null is rejected or changes nothing, and null is never stored",
		Requirements: reqs("RFC7644-3.5.2.1-16"),
		Level:        should,
		Needs:        patches,
		Requests:     4,
		Why:          "If the server stores null as a value, clients cannot parse the resource.",
		Fix:          "Return 400 invalidValue, or ignore the operation.",
		Run:          patchAddNull,
	},
	{
		ID:           "patch.add-primary",
		Title:        "A PATCH that adds a primary value to a multi-valued attribute clears primary of the other values",
		Requirements: reqs("RFC7644-3.5.2-26", "RFC7644-3.5.2-27"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why:          "With two primary addresses, it is undefined which one receives email.",
		Fix:          "Set primary to false on all other elements of the attribute.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "moving", twoEmails(t))
			o := patched(ctx, t, u,
				doc{"op": "add", "path": "emails", "value": []doc{{"value": t.UserName("newest"), "type": "other", "primary": true}}})
			t.Expect("primary of the new address", true, value(element(o, "emails", "value", t.UserName("newest")), "primary"))
			old := value(element(o, "emails", "value", t.UserName("work")), "primary")
			t.Holds(old != true, "primary of the old address", "false or absent", old)
		},
	},
}

// blockedIfPrimaryKept blocks the check if another address remains primary after a PATCH that adds a primary one, which patch.add-primary
// reports.
func blockedIfPrimaryKept(ctx context.Context, t *T) {
	t.BlockedIf(func() string {
		u := t.CreateUser(ctx, "single", doc{"emails": []doc{{"value": t.UserName("main"), "type": "work", "primary": true}}})
		added := doc{"value": t.UserName("added"), "type": "other", "primary": true}
		if res := t.Patch(ctx, u.Path(), doc{"op": "add", "path": "emails", "value": []doc{added}}); res.OK() &&
			primaries(t.Read(ctx, u.Path()).Object(), "emails") > 1 {
			return "PATCH /Users/{id}, which adds a primary address, left another one primary"
		}
		return ""
	})
}

func patchAddComplex(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "named", nil)
	o := patched(ctx, t, u, doc{"op": "add", "path": "name", "value": doc{"givenName": "Ada"}})
	t.Expect("name.givenName after add of name", "Ada", value(o, "name.givenName"))
	t.Expect("name.familyName after add of name", "Check", value(o, "name.familyName"))
	if value(o, "name.familyName") == nil { // the next response would show the effect of this operation
		u = t.CreateUser(ctx, "renamed", nil)
	}
	o = patched(ctx, t, u, doc{"op": "add", "path": "name.givenName", "value": "Bob"})
	t.Expect("name.givenName after add of name.givenName", "Bob", value(o, "name.givenName"))
	t.Expect("name.familyName after add of name.givenName", "Check", value(o, "name.familyName"))
}

func patchAddExisting(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "same", doc{"emails": []doc{{"value": t.UserName("only"), "type": "work"}}})
	before := t.Read(ctx, u.Path()).Object()
	existing, _ := before.Array("emails")[0].(*scim.Object)
	o := patched(ctx, t, u, doc{"op": "add", "path": "emails", "value": []*scim.Object{existing}})
	t.Expect("emails.value", []string{t.UserName("only")}, values(o, "emails", "value"))
	t.Expect("meta.lastModified", value(before, "meta.lastModified"), value(o, "meta.lastModified"))
}

// blockedIfNotAppended blocks the check if the target does not append a value that an add with the path emails contains, which
// patch.add-multi-valued reports.
func blockedIfNotAppended(ctx context.Context, t *T) {
	t.BlockedIf(func() string {
		u := t.CreateUser(ctx, "appended", nil)
		res := t.Patch(ctx, u.Path(), doc{"op": "add", "path": "emails", "value": []doc{{"value": t.UserName("second"), "type": "home"}}})
		if !res.OK() {
			return fmt.Sprintf("PATCH /Users/{id}, with the operation add and the path emails, returned %d", res.Status)
		}
		want := sorted(t.UserName("appended"), t.UserName("second"))
		if !slices.Equal(want, values(t.Read(ctx, u.Path()).Object(), "emails", "value")) {
			return "PATCH /Users/{id}, with the operation add and the path emails, did not append the value"
		}
		return ""
	})
}

func patchAddNull(ctx context.Context, t *T) {
	u := prepared(ctx, t, doc{"nickName": "Nick"})
	res := t.Patch(ctx, u.Path(), doc{"op": "add", "path": "nickName", "value": nil})
	t.Holds(res.OK() || res.Status == 400, "status of "+res.Name, "400, or a success", res.Status)
	o := t.Read(ctx, u.Path()).Object()
	got, there := o.Get("nickName")
	t.Holds(!there || got == "Nick", "nickName after add of null", "Nick, or absent", cmp.Or(got, any(json.RawMessage("null"))))
	if res.OK() && !there {
		t.Inform("nickName after add of null", "Nick", "absent")
	}
}
