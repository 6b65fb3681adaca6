package checks

import (
	"context"

	"github.com/scimwright/scimwright/conformance"
)

var patchRemove = []check{
	{
		ID:           "patch.remove-simple",
		Title:        "The operation remove unassigns only the single-valued attribute or sub-attribute that it names",
		Requirements: reqs("RFC7644-3.5.2.2-02", "RFC7644-3.5.2.2-11"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why:          "If the value is not removed, the user keeps outdated data; if more is removed, the user loses data.",
		Fix:          "Unassign only the attribute at the path.",
		Run:          patchRemoveSimple,
	},
	{
		ID:           "patch.remove-external-id",
		Title:        "The operation remove with the path externalId and without a value removes externalId",
		Requirements: reqs("RFC7644-3.5.2.2-02"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why: "Clients remove externalId before another identity provider manages the account; if every remove is rejected, no value " +
			"can be unassigned.",
		Fix: "Accept the operation remove with a path and without a value.",
		Run: func(ctx context.Context, t *T) {
			id := t.Prefix() + "known"
			u := prepared(ctx, t, doc{"externalId": id})
			o := patched(ctx, t, u, doc{"op": "remove", "path": "externalId"})
			t.Holds(value(o, "externalId") != id, "externalId", "absent", value(o, "externalId"))
		},
	},
	{
		ID:           "patch.remove-value-path",
		Title:        "The operation remove with a value filter removes only the matching elements",
		Requirements: reqs("RFC7644-3.5.2.2-04", "RFC7644-3.5.2.2-05"),
		Level:        must,
		Needs:        patches,
		Requests:     6,
		Why: "If the server rejects the operation, the user keeps an outdated address. If it deletes all addresses, the user no longer " +
			"receives email.",
		Fix: "Accept a path that ends with the value filter, and remove only the elements that match; if no element remains, omit the " +
			"attribute from responses.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "pruned", twoEmails(t))
			o := patched(ctx, t, u, doc{"op": "remove", "path": `emails[type eq "home"]`})
			t.Expect("emails.value after removing the home address", []string{t.UserName("work")}, values(o, "emails", "value"))
			o = patched(ctx, t, u, doc{"op": "remove", "path": `emails[type eq "work"]`})
			t.Holds(!has(o, "emails"), "emails after removing the work address too", "absent", value(o, "emails"))
		},
	},
	{
		ID:           "patch.remove-multi-valued",
		Title:        "The operation remove of a multi-valued attribute without a filter removes all values",
		Requirements: reqs("RFC7644-3.5.2.2-03"),
		Level:        must,
		Needs:        patches,
		Requests:     6,
		Why:          "Clients clear all values this way; if values remain, the user keeps outdated addresses, phone numbers or rights.",
		Fix:          "Unassign the whole attribute.",
		Run:          patchRemoveMultiValued,
	},
	{
		ID:           "patch.remove-no-path",
		Title:        "The operation remove without a path fails with 400 noTarget",
		Requirements: reqs("RFC7644-3.5.2.2-01", "RFC7644-3.5.2-08"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why:          "A server that reads an absent path as the whole resource deletes the data of the account.",
		Fix:          "Return 400 with scimType noTarget and change nothing.",
		Run:          patchRemoveNoPath,
	},
	{
		ID:           "patch.remove-required",
		Title:        "The operation remove of a required attribute fails with 400 mutability and changes nothing",
		Requirements: reqs("RFC7644-3.5.2.2-07", "RFC7643-4.1.1-01"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why:          whyNameless,
		Fix:          "Return 400 with scimType mutability.",
		Run: func(ctx context.Context, t *T) {
			blockedIfNothingRemoved(ctx, t)
			u := t.CreateUser(ctx, "needed", nil)
			expectMutability(t, t.Patch(ctx, u.Path(), doc{"op": "remove", "path": "userName"}), "userName")
			t.Expect("userName", t.UserName("needed"), value(t.Read(ctx, u.Path()).Object(), "userName"))
		},
	},
}

// expectMutability expects that the removal of a required or readOnly attribute is rejected as RFC 7644 section 3.5.2.2 requires: with the
// status 400 and the scimType mutability.
func expectMutability(t *T, res *conformance.Response, attribute string) {
	if t.Expect("status of a PATCH that removes "+attribute, 400, res.Status) {
		t.Expect("scimType of a PATCH that removes "+attribute, "mutability", res.ScimType())
	}
}

func patchRemoveMultiValued(ctx context.Context, t *T) {
	body := twoEmails(t)
	body["phoneNumbers"] = []doc{{"value": "tel:+1-201-555-0101", "type": "work"}, {"value": "tel:+1-201-555-0102", "type": "mobile"}}
	u := t.CreateUser(ctx, "cleared", body)
	tried := 0
	for _, name := range []string{"emails", "phoneNumbers"} {
		if u.Resource != nil && len(u.Resource.Array(name)) == 0 {
			continue
		}
		tried++
		res := t.Patch(ctx, u.Path(), doc{"op": "remove", "path": name})
		if !t.Holds(res.Status == 200 || res.Status == 204, "status of a PATCH that removes "+name, "200 or 204", res.Status) {
			continue
		}
		o := t.Read(ctx, u.Path()).Object()
		t.Holds(!has(o, name), name+" after the PATCH that removes "+name, "absent", value(o, name))
	}
	t.SkipIf(tried == 0, "the target stores neither emails nor phoneNumbers")
}

func patchRemoveSimple(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "stripped", doc{"nickName": "Nick", "displayName": "Stays"})
	o := patched(ctx, t, u, doc{"op": "remove", "path": "nickName"}, doc{"op": "remove", "path": "name.givenName"})
	t.Holds(!has(o, "nickName"), "nickName", "absent", value(o, "nickName"))
	t.Holds(value(o, "name.givenName") == nil, "name.givenName", "absent", value(o, "name.givenName"))
	t.Expect("name.familyName", "Check", value(o, "name.familyName"))
	t.Expect("displayName", "Stays", value(o, "displayName"))
}

func patchRemoveNoPath(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "pathless", doc{"displayName": "Stays"})
	res := t.Patch(ctx, u.Path(), doc{"op": "remove"})
	t.Expect("status of the PATCH", 400, res.Status)
	if res.Status == 400 {
		t.Warn(res.ScimType() == "noTarget", "scimType of the PATCH", "noTarget", res.ScimType())
	}
	t.Expect("displayName", "Stays", value(t.Read(ctx, u.Path()).Object(), "displayName"))
}
