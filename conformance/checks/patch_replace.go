package checks

import "context"

var patchReplace = []check{
	{
		ID:           "patch.replace-simple",
		Title:        "The operation replace changes only the single-valued attribute that it names",
		Requirements: reqs("RFC7644-3.5.2.3-04", "RFC7644-3.5.2.3-06", "RFC7644-3.5.2-32"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why:          "Clients send this operation most often; if it fails or changes other attributes, accounts have outdated or wrong data.",
		Fix:          "Set the value of the attribute, whether or not it has one, and change no other attribute except meta.",
		Run:          patchReplaceSimple,
	},
	{
		ID:           "patch.replace-no-path",
		Title:        "The operation replace without a path changes only the attributes in the value",
		Requirements: reqs("RFC7644-3.5.2.3-01", "RFC7644-3.5.2.3-02", "RFC7644-3.5.2.3-03"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why: "Okta, and Entra ID with its compliance flag, send updates in this form; if the server removes attributes that are not " +
			"in the value, users lose data.",
		Fix: "Treat every member of the value as a separate replace.",
		Run: patchReplaceNoPath,
	},
	{
		ID:           "patch.deactivate",
		Title:        "A user is deactivated and reactivated by replacing active, with and without a path",
		Requirements: reqs("RFC7644-3.5.2.3-04", "RFC7643-4.1.1-12", "RFC7643-2.3.2-01"),
		Level:        must,
		Needs:        patches,
		Requests:     6,
		Why: "By this operation, identity providers deactivate users who leave. If the server returns a success without a change, a " +
			"former user still has access.",
		Fix: "Store active as a boolean for {\"path\":\"active\"} and for {\"value\":{\"active\":...}}; keep inactive users readable.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "leaver", nil)
			o := patched(ctx, t, u, doc{"op": "replace", "value": doc{"active": false}})
			t.Expect("active after replace without a path", false, value(o, "active"))
			o = patched(ctx, t, u, doc{"op": "replace", "path": "active", "value": true})
			t.Expect("active after replace with a path", true, value(o, "active"))
		},
	},
	{
		ID:           "patch.replace-multi-valued",
		Title:        "The operation replace of a multi-valued attribute without a filter replaces all values",
		Requirements: reqs("RFC7644-3.5.2.3-05"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why:          "If an old email address remains in addition to the new one, messages for the user still go to the old address.",
		Fix:          "Store the new list instead of appending it to the stored one.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "swapped", twoEmails(t))
			o := patched(ctx, t, u, doc{"op": "replace", "path": "emails", "value": []doc{{"value": t.UserName("one-left"), "type": "work"}}})
			t.Expect("emails.value", []string{t.UserName("one-left")}, values(o, "emails", "value"))
		},
	},
	{
		ID:           "patch.replace-complex",
		Title:        "The operation replace of a complex attribute does not change sub-attributes that are not in the value",
		Requirements: reqs("RFC7644-3.5.2.3-08", "RFC7644-3.5.2.3-07"),
		Level:        must,
		Needs:        patches,
		Requests:     6,
		Why:          "If sub-attributes that the client did not send are removed, a replace of the given name deletes the family name.",
		Fix:          "Set the sub-attributes that are in the value, and do not change the other stored sub-attributes.",
		Run:          patchReplaceComplex,
	},
	{
		ID:           "patch.replace-value-path",
		Title:        "The operation replace with a value filter changes only the matching element",
		Requirements: reqs("RFC7644-3.5.2.3-10", "RFC7644-3.5.2.3-09"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why:          "Entra ID updates addresses by emails[type eq \"work\"].value; a wrong match overwrites another address.",
		Fix:          "Apply the operation only to the matching elements.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "precise", twoEmails(t))
			o := patched(ctx, t, u, doc{"op": "replace", "path": `emails[type eq "work"].value`, "value": t.UserName("changed")})
			t.Expect("emails.value", sorted(t.UserName("changed"), t.UserName("home")), values(o, "emails", "value"))
			t.Expect("type of the changed address", "work", value(element(o, "emails", "value", t.UserName("changed")), "type"))
		},
	},
	{
		ID:           "patch.replace-no-target",
		Title:        "The operation replace with a value filter that matches nothing fails with 400 noTarget",
		Requirements: reqs("RFC7644-3.5.2.3-11"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why: "After a success, the client assumes that the new value is stored. A server that ignores the operation loses the value; a server " +
			"that adds an element stores data that the client does not expect.",
		Fix: "If no element matches the filter of the path, return 400 with scimType noTarget and change nothing.",
		Run: patchReplaceNoTarget,
	},
	{
		ID:           "patch.replace-null",
		Title:        "The operation replace with null or [] unassigns the attribute",
		Requirements: reqs("RFC7644-3.5.2.3-13", "RFC7643-2.5-01"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why:          "If the server stores null as a value, clients cannot parse the resource. If it rejects null, they cannot remove values.",
		Fix:          "Treat a replace with null or [] like a remove of the attribute.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "emptied", doc{"nickName": "Nick", "displayName": "Stays"})
			null, none := doc{"op": "replace", "path": "nickName", "value": nil}, doc{"op": "replace", "path": "emails", "value": []doc{}}
			if res := t.Patch(ctx, u.Path(), null, none); res.Status != 200 && res.Status != 204 {
				// Separate requests show which of the two operations the target rejects: it may require an email address.
				succeeded(t, t.Patch(ctx, u.Path(), null), 200, 204)
				succeeded(t, t.Patch(ctx, u.Path(), none), 200, 204)
			}
			o := t.Read(ctx, u.Path()).Object()
			t.Holds(!has(o, "nickName"), "nickName", "absent", value(o, "nickName"))
			t.Holds(!has(o, "emails"), "emails", "absent", value(o, "emails"))
			t.Expect("displayName", "Stays", value(o, "displayName"))
		},
	},
	{
		ID:           "patch.replace-names-ignore-case",
		Title:        "Paths with attribute names in any case are recognized",
		Requirements: reqs("RFC7644-3.5.2-19", "RFC7644-3.10-03"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why:          "Clients write attribute names in different case; if a path is not recognized, the update is lost.",
		Fix:          "Resolve paths in the same way as attribute names in filters.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "spelled", doc{"displayName": "Before", "nickName": "Before"})
			o := patched(ctx, t, u, doc{"op": "replace", "path": "DISPLAYNAME", "value": "After"},
				doc{"op": "replace", "path": "Nickname", "value": "After"})
			t.Expect("displayName after replace of DISPLAYNAME", "After", value(o, "displayName"))
			t.Expect("nickName after replace of Nickname", "After", value(o, "nickName"))
		},
	},
	{
		ID:           "patch.replace-conflict",
		Title:        "The operation replace of userName with a name in use is rejected",
		Requirements: reqs("RFC7643-4.1.1-02", "RFC7644-3.5.2-33"),
		Level:        must,
		Needs:        patches,
		Requests:     6,
		Why:          "With two accounts of the same name, clients change or deactivate the wrong one.",
		Fix:          "Check uniqueness on every write; return 409 uniqueness.",
		Run: func(ctx context.Context, t *T) {
			t.CreateUser(ctx, "occupied", nil)
			u := t.CreateUser(ctx, "wants-it", nil)
			res := t.Patch(ctx, u.Path(), doc{"op": "replace", "path": "userName", "value": t.UserName("occupied")})
			t.Holds(res.Status == 409 || res.Status == 400, "status of the PATCH", "409 (or 400)", res.Status)
			t.Expect("userName read back", t.UserName("wants-it"), value(t.Read(ctx, u.Path()).Object(), "userName"))
		},
	},
}

func patchReplaceSimple(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "renamed", doc{"displayName": "Before"})
	o := patched(ctx, t, u, doc{"op": "replace", "path": "displayName", "value": "After"},
		doc{"op": "replace", "path": "nickName", "value": "Nick"})
	t.Expect("displayName", "After", value(o, "displayName"))
	t.Expect("nickName, which had no value", "Nick", value(o, "nickName"))
	t.Expect("userName", t.UserName("renamed"), value(o, "userName"))
	t.Expect("emails.value", []string{t.UserName("renamed")}, values(o, "emails", "value"))
}

func patchReplaceNoPath(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "bundle", doc{"displayName": "Before", "nickName": "Stays"})
	o := patched(ctx, t, u,
		doc{"op": "replace", "value": doc{"displayName": "After", "emails": []doc{{"value": t.UserName("fresh"), "type": "work"}}}})
	t.Expect("displayName", "After", value(o, "displayName"))
	t.Expect("emails.value", []string{t.UserName("fresh")}, values(o, "emails", "value"))
	t.Expect("nickName", "Stays", value(o, "nickName"))
	t.Expect("userName", t.UserName("bundle"), value(o, "userName"))
}

func patchReplaceComplex(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "married", nil)
	o := patched(ctx, t, u, doc{"op": "replace", "path": "name", "value": doc{"familyName": "Lovelace"}})
	t.Expect("name.familyName after replace of name", "Lovelace", value(o, "name.familyName"))
	t.Expect("name.givenName after replace of name", "Conformance", value(o, "name.givenName"))
	if value(o, "name.givenName") == nil { // the next response would show the effect of this operation
		u = t.CreateUser(ctx, "widowed", nil)
	}
	o = patched(ctx, t, u, doc{"op": "replace", "path": "name.familyName", "value": "Byron"})
	t.Expect("name.familyName after replace of name.familyName", "Byron", value(o, "name.familyName"))
	t.Expect("name.givenName after replace of name.familyName", "Conformance", value(o, "name.givenName"))
}

func patchReplaceNoTarget(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "missed", nil)
	res := t.Patch(ctx, u.Path(), doc{"op": "replace", "path": `emails[type eq "scimconf-none"].value`, "value": t.UserName("nowhere")})
	t.Expect("status of the PATCH", 400, res.Status)
	if res.Status == 400 {
		t.Warn(res.ScimType() == "noTarget", "scimType of the PATCH", "noTarget", res.ScimType())
	}
	t.Expect("emails.value", []string{t.UserName("missed")}, values(t.Read(ctx, u.Path()).Object(), "emails", "value"))
}
