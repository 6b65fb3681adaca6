package checks

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
)

const (
	whyUnchanged = "After an error, the client assumes that nothing has changed; if operations were applied, the data differs."
	fixAtomic    = "Apply the operations to a copy of the resource, and store the copy only if all operations succeed."
	forgedTime   = "1999-12-31T23:59:59Z"
	// forgedType is a value of meta.resourceType that only the suite sends.
	forgedType = "ScimconfForged"
)

var patchRejected = rejectedPatches(
	rejectedPatch{
		id:     "add-no-value",
		title:  "The operation add without a value is rejected with 400",
		reqs:   reqs("RFC7644-3.5.2.1-01"),
		level:  must,
		before: always(doc{"displayName": "Stays"}),
		ops:    single(doc{"op": "add", "path": "displayName"}),
		types:  []string{"invalidValue", "invalidSyntax"},
		same:   []string{"displayName", "userName"},
		why:    "After a success, the client assumes that a value was added; a server may even remove the present value.",
		fix:    "Return 400 if an add operation has no value, and do not change the attribute.",
	},
	rejectedPatch{
		id:     "replace-no-value",
		title:  "The operation replace without a value is rejected with 400",
		reqs:   reqs("RFC7644-3.5.2.3-15"),
		level:  may,
		before: always(doc{"displayName": "Stays"}),
		ops:    single(doc{"op": "replace", "path": "displayName"}),
		types:  []string{"invalidValue", "invalidSyntax"},
		same:   []string{"displayName"},
		why:    "If the server clears an attribute because value is missing, a client with an incomplete request deletes data.",
		fix:    "Return 400 if a replace operation has no value; null counts as a value.",
	},
	rejectedPatch{
		id:    "add-no-path-text",
		title: "The operation add without a path and with a value that is not an object is rejected with 400",
		reqs:  reqs("RFC7644-3.5.2.1-03"),
		level: must,
		ops:   single(doc{"op": "add", "value": "Ada"}, doc{"op": "add", "value": []string{"displayName"}}),
		types: []string{"invalidValue", "invalidSyntax", "invalidPath", "noTarget"},
		same:  []string{"displayName", "userName"},
		why:   "Without a path, such a value names no attribute; after a success, the client assumes that it was stored.",
		fix:   "Return 400 if path is absent and value is not an object.",
	},
	rejectedPatch{
		id:    "replace-no-path-text",
		title: "The operation replace without a path and with a value that is not an object is rejected with 400",
		reqs:  reqs("RFC7644-3.5.2.3-01"),
		level: must,
		ops:   single(doc{"op": "replace", "value": "Ada"}),
		types: []string{"invalidValue", "invalidSyntax", "invalidPath", "noTarget"},
		same:  []string{"displayName", "userName"},
		why:   "Without a path, such a value names no attribute; after a success, the client assumes that it was stored.",
		fix:   "Return 400 if path is absent and value is not an object.",
	},
	rejectedPatch{
		id:     "remove-no-path-value",
		title:  "The operation remove with a value and without a path is rejected with 400",
		reqs:   reqs("RFC7644-3.5.2.2-01"),
		level:  must,
		before: always(doc{"displayName": "Stays"}),
		ops:    single(doc{"op": "remove", "value": doc{"displayName": "Stays"}}),
		types:  []string{"noTarget", "invalidPath", "invalidSyntax", "invalidValue"},
		same:   []string{"displayName", "userName"},
		why:    "Without a path, the server has to guess what to remove, and may delete other data of the user.",
		fix:    "Return 400 with scimType noTarget if a remove has no path.",
	},
	rejectedPatch{
		id:        "unknown-attribute",
		title:     "A PATCH of an attribute that no schema defines is rejected or ignored, and changes nothing",
		reqs:      reqs("RFC7644-3.5.2-13"),
		level:     must,
		mayIgnore: true,
		before:    always(doc{"displayName": "Stays"}),
		ops:       single(doc{"op": "replace", "path": "scimconfUnknown", "value": "x"}, doc{"op": "add", "value": doc{"scimconfUnknown": "x"}}),
		types:     []string{"invalidPath", "invalidValue", "noTarget", "invalidSyntax"},
		same:      []string{"scimconfUnknown", "displayName", "userName"},
		why:       "Clients cannot interpret an attribute that no schema describes; some cannot import the user.",
		fix:       "Return 400 with scimType invalidPath, or ignore the attribute.",
	},
	rejectedPatch{
		id:     "array-index",
		title:  "Array indexes and JSON Pointers are rejected as paths",
		reqs:   reqs("RFC7644-3.5.2-11"),
		level:  must,
		before: twoEmails,
		ops: single(doc{"op": "remove", "path": "emails[0]"}, doc{"op": "remove", "path": "/emails/0"},
			doc{"op": "replace", "path": "emails/0/value", "value": "x@example.com"}),
		types: []string{"invalidPath", "noTarget", "invalidFilter"},
		same:  []string{"emails.*"},
		why:   "Multi-valued attributes have no order, so a client that uses an index may change or delete the wrong value.",
		fix:   "Accept only the grammar of RFC 7644, and return 400 invalidPath.",
	},
	rejectedPatch{
		id:    "two-level-path",
		title: "A path with three names, such as name.familyName.value, is rejected",
		reqs:  reqs("RFC7644-3.5.2-09"),
		level: must,
		ops:   single(doc{"op": "replace", "path": "name.familyName.value", "value": "x"}),
		types: []string{"invalidPath", "noTarget"},
		same:  []string{"name.familyName"},
		why:   "If the server guesses the meaning of a path, it changes the wrong attribute.",
		fix:   "Return 400 with scimType invalidPath for a path with three or more names, such as name.familyName.value.",
	},
	rejectedPatch{
		id:        "unknown-urn",
		title:     "A path with a URN that the resource type does not have is rejected or ignored, and changes nothing",
		reqs:      reqs("RFC7644-3.5.2-13"),
		level:     must,
		mayIgnore: true,
		before:    always(doc{"displayName": "Stays"}),
		ops:       single(doc{"op": "replace", "path": "urn:example:scimconf:2.0:Unknown:displayName", "value": "x"}),
		types:     []string{"invalidPath", "invalidValue", "noTarget"},
		same:      []string{"displayName", "schemas"},
		why:       "A server that ignores the URN changes an attribute of the same name in another schema.",
		fix: "Compare the URN with the schemas of the resource type; if it is not one of them, return 400 invalidPath or ignore the " +
			"operation.",
	},
	rejectedPatch{
		id:        "read-only-no-path",
		title:     "readOnly attributes in the value of an operation without a path are rejected or ignored",
		reqs:      reqs("RFC7644-3.5.2-18", "RFC7644-3.5.2-14"),
		level:     must,
		mayIgnore: true,
		ops: single(
			doc{"op": "replace", "value": doc{"id": "scimconf-forged", "meta": doc{"created": forgedTime, "resourceType": forgedType}}}),
		types: []string{"mutability"},
		same:  []string{"id", "meta.created", "meta.resourceType"},
		why:   "Okta includes the id in its requests; a server that stores it changes the id and breaks every reference to the user.",
		fix:   "Check mutability for every member of the value; return 400 with scimType mutability, or ignore the readOnly members.",
	},
	rejectedPatch{
		id:        "groups-read-only",
		title:     "A PATCH of the attribute groups of a user is rejected or ignored",
		reqs:      reqs("RFC7643-4.1.2-13", "RFC7644-3.5.2-14"),
		level:     must,
		mayIgnore: true,
		ops: single(doc{"op": "add", "path": "groups", "value": []doc{{"value": "scimconf-no-such-id"}}},
			doc{"op": "replace", "value": doc{"groups": []doc{{"value": "scimconf-no-such-id"}}}}),
		types: []string{"mutability", "invalidValue", "invalidPath"},
		same:  []string{"groups.*"},
		why:   "A client that can write a user's groups can grant itself rights.",
		fix:   "Return 400 mutability; change memberships only through the group.",
	},
	rejectedPatch{
		id:      "remove-read-only",
		title:   "The operation remove of a readOnly attribute fails with 400 mutability",
		reqs:    reqs("RFC7644-3.5.2.2-08"),
		level:   must,
		ops:     single(doc{"op": "remove", "path": "id"}, doc{"op": "remove", "path": "meta.created"}),
		removes: true,
		expect: func(t *T, res *conformance.Response, operations []doc) {
			expectMutability(t, res, operations[0]["path"].(string))
		},
		same: []string{"id", "meta.created"},
		why:  "An account without id or creation time cannot be managed.",
		fix:  "Return 400 with scimType mutability.",
	},
	rejectedPatch{
		id:    "replace-required",
		title: "The operation replace of a required attribute with null is rejected",
		reqs:  reqs("RFC7644-3.5.2.3-14"),
		level: must,
		ops:   single(doc{"op": "replace", "path": "userName", "value": nil}, doc{"op": "replace", "value": doc{"userName": nil}}),
		types: []string{"invalidValue", "mutability"},
		same:  []string{"userName"},
		why:   whyNameless,
		fix:   "Apply the operations, then check required attributes in the result; return 400 invalidValue.",
	},
	rejectedPatch{
		id:    "replace-empty-user-name",
		title: "The operation replace of userName with an empty string is rejected",
		reqs:  reqs("RFC7643-4.1.1-01"),
		level: must,
		ops:   single(doc{"op": "replace", "path": "userName", "value": ""}),
		types: []string{"invalidValue", "mutability"},
		same:  []string{"userName"},
		why:   whyNameless,
		fix:   "Reject an empty userName on every write.",
	},
	rejectedPatch{
		id:    "wrong-type-boolean",
		title: "The operation replace of active with a value that is not a boolean is rejected",
		reqs:  reqs("RFC7644-3.5.2-34", "RFC7643-2.3.2-01"),
		level: must,
		ops: single(doc{"op": "replace", "path": "active", "value": doc{"value": false}},
			doc{"op": "replace", "path": "active", "value": "perhaps"}),
		types:     []string{"invalidValue", "invalidSyntax"},
		wrongType: true,
		same:      []string{"active"},
		why:       "A server that converts another value to true lets a deactivated user log in.",
		fix:       "Return 400 invalidValue.",
	},
	rejectedPatch{
		id:        "wrong-type-multi-valued",
		title:     "A PATCH of emails with a number as value is rejected",
		reqs:      reqs("RFC7644-3.5.2-34", "RFC7643-2.4-01"),
		level:     must,
		ops:       single(doc{"op": "replace", "path": "emails", "value": 5}, doc{"op": "add", "path": "emails", "value": []int{5}}),
		types:     []string{"invalidValue", "invalidSyntax", "invalidPath"},
		wrongType: true,
		same:      []string{"emails.*"},
		why:       "Clients cannot parse elements of emails that are not objects.",
		fix:       "Validate every element against the schema.",
	},
	rejectedPatch{
		id:     "wrong-type-text",
		title:  "A PATCH of a string attribute with an object or a number as value is rejected",
		reqs:   reqs("RFC7644-3.5.2-34", "RFC7643-2.3-02"),
		level:  should,
		before: always(doc{"displayName": "Stays"}),
		ops: single(doc{"op": "replace", "path": "displayName", "value": doc{"value": "x"}},
			doc{"op": "replace", "path": "displayName", "value": 5}),
		expect: displayNameRejected,
		same:   []string{"displayName"},
		why: "A client that sends a value of the wrong type has a fault; after a success, client and server have different values, and " +
			"other clients cannot parse a value that is not a string.",
		fix: "Return 400 invalidValue if the value of a string attribute is not a string; do not convert it.",
	},
	rejectedPatch{
		id:     "wrong-type-list",
		title:  "A PATCH of a string attribute with a list of strings as value is rejected",
		reqs:   reqs("RFC7644-3.5.2-34", "RFC7643-2.3-02"),
		level:  should,
		before: always(doc{"displayName": "Stays"}),
		ops: single(doc{"op": "replace", "path": "displayName", "value": []string{"x"}},
			doc{"op": "replace", "path": "displayName", "value": []string{"x", "y"}}),
		expect: displayNameRejected,
		same:   []string{"displayName"},
		why: "A client that sends a list for an attribute with one value has a fault; if the server takes one of the strings, or stores the " +
			"list, client and server have different values.",
		fix: "Return 400 invalidValue if the value of an attribute with one value is a list, also a list of one string.",
	},
	rejectedPatch{
		id:    "atomic-multi-valued",
		alone: "patch.remove-no-path",
		title: "If an operation of a PATCH fails, the values that its earlier operations add are not stored",
		reqs:  reqs("RFC7644-3.5.2-28"),
		level: must,
		ops: func() [][]doc {
			return [][]doc{{{"op": "add", "path": "emails", "value": []doc{{"value": "half-way@example.com", "type": "other"}}}, {"op": "remove"}}}
		},
		same: []string{"emails.*"},
		why:  whyUnchanged,
		fix:  fixAtomic,
	},
	rejectedPatch{
		id:     "atomic-removal",
		alone:  "patch.invalid-path",
		title:  "If an operation of a PATCH fails, the values that its earlier operations remove are still stored",
		reqs:   reqs("RFC7644-3.5.2-28"),
		level:  must,
		before: twoEmails,
		ops: func() [][]doc {
			return [][]doc{{{"op": "remove", "path": "emails"}, {"op": "replace", "path": "emails[", "value": "x"}}}
		},
		same: []string{"emails.*"},
		why:  whyUnchanged,
		fix:  fixAtomic,
	},
	rejectedPatch{
		id:     "atomic-read-only",
		alone:  "patch.read-only",
		title:  "If an operation of a PATCH on a readOnly attribute fails, the changes of its earlier operations are not stored",
		reqs:   reqs("RFC7644-3.5.2-28", "RFC7644-3.5.2-17"),
		level:  must,
		before: always(doc{"displayName": "Stays"}),
		ops: func() [][]doc {
			return [][]doc{
				{{"op": "replace", "path": "displayName", "value": "Half-way"}, {"op": "replace", "path": "meta.created", "value": forgedTime}}}
		},
		types: []string{"mutability"},
		same:  []string{"displayName", "meta.created"},
		why:   whyUnchanged,
		fix:   fixAtomic,
	},
	rejectedPatch{
		id:    "atomic-last-modified",
		alone: "patch.remove-no-path",
		title: "A rejected PATCH does not change lastModified or version",
		reqs:  reqs("RFC7644-3.5.2-28"),
		level: must,
		ops: func() [][]doc {
			return [][]doc{{{"op": "replace", "path": "displayName", "value": "Half-way"}, {"op": "remove"}}}
		},
		same: []string{"meta.lastModified", "meta.version", "displayName"},
		why:  "A changed lastModified makes clients import a change that did not happen.",
		fix:  fixAtomic,
	},
)

func rejectedPatches(list ...rejectedPatch) []check {
	var out []check
	for _, p := range list {
		out = append(out, p.check())
	}
	return out
}

var patchRules = []check{
	{
		ID:           "patch.advertised",
		Title:        "PATCH works if and only if the ServiceProviderConfig advertises it; otherwise the response is 501 or a 4xx",
		Requirements: reqs("RFC7644-3.5-03", "RFC7644-3.5.2-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why: "Clients choose between PATCH and PUT by patch.supported; if it is true by mistake, all their updates fail, and if it is " +
			"false by mistake, they replace whole resources.",
		Fix: "Set patch.supported to true if and only if the server supports PATCH; if it does not, return 501 to PATCH.",
		Run: patchAdvertised,
	},
	{
		ID:           "patch.no-operations",
		Title:        "A PATCH without Operations is rejected with 400",
		Requirements: reqs("RFC7644-3.5.2-03"),
		Level:        must,
		Needs:        patches,
		Requests:     3,
		Why:          "After a success, the client assumes that its changes are stored, although the body was incomplete.",
		Fix:          "Return 400 with scimType invalidSyntax if the body of a PATCH has no Operations.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "inoperative", nil)
			expectError(t, patchMessage(ctx, t, u.Path(), doc{"schemas": []string{scim.PatchOpMessage}}), 400, "invalidSyntax", "invalidValue")
		},
	},
	{
		ID:           "patch.empty-operations",
		Title:        "An empty list of operations is rejected or changes nothing",
		Requirements: reqs("RFC7644-3.5.2-03"),
		Level:        should,
		Needs:        patches,
		Requests:     5,
		Why: "Entra ID has been observed to send empty lists of operations; if the server changes the user in response to such a " +
			"request, data is lost.",
		Fix: "Return 400, or return 200 or 204 and change nothing.",
		Run: patchEmptyOperations,
	},
	{
		ID:           "patch.two-primaries",
		Title:        "Two primary values in one operation do not both remain primary",
		Requirements: reqs("RFC7644-3.5.2-27"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why:          "With two primary addresses, it is undefined which one receives email.",
		Fix:          "Return 400 invalidValue, or store primary as true for only one of the values.",
		Run:          patchTwoPrimaries,
	},
	{
		ID:           "patch.primary-last-wins",
		Title:        "If two operations each make a value primary, only the value of the second operation is primary",
		Requirements: reqs("RFC7644-3.5.2-27", "RFC7644-3.5.2-26"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why:          "If the value of the first operation remains primary, messages for the user go to the wrong email address.",
		Fix:          "After every operation that sets primary to true, set primary of all other values of the attribute to false.",
		Run: func(ctx context.Context, t *T) {
			u := prepared(ctx, t, twoEmails(t))
			blockedIfRejected(ctx, t, u, doc{"op": "replace", "path": `emails[type eq "home"].primary`, "value": true})
			blockedIfPrimaryKept(ctx, t)
			o := patched(ctx, t, u, doc{"op": "replace", "path": `emails[type eq "home"].primary`, "value": true},
				doc{"op": "add", "path": "emails", "value": []doc{{"value": t.UserName("third"), "type": "other", "primary": true}}})
			t.Expect("primary of the last address", true, value(element(o, "emails", "value", t.UserName("third")), "primary"))
			t.Expect("number of primary emails", 1, primaries(o, "emails"))
		},
	},
	{
		ID:           "patch.atomic-conflict",
		Title:        "If an operation of a PATCH replaces userName with a name in use, the changes of its earlier operations are not stored",
		Requirements: reqs("RFC7644-3.5.2-28", "RFC7644-3.5.2-33"),
		Level:        must,
		Needs:        patches,
		Requests:     6,
		Why:          whyUnchanged,
		Fix:          fixAtomic,
		Run:          patchAtomicConflict,
	},
	{
		ID:           "patch.last-modified",
		Title:        "A PATCH with a change updates meta.lastModified and does not change meta.created",
		Requirements: reqs("RFC7644-3.5.2-32", "RFC7643-3.1-22"),
		Level:        must,
		Needs:        patches,
		Requests:     5,
		Why: "Clients import only resources whose lastModified is later than their last import; without a new lastModified, they " +
			"miss the change.",
		Fix: "Set lastModified on every change, with a resolution of at least milliseconds.",
		Run: patchLastModified,
	},
	{
		ID:           "patch.no-change",
		Title:        "The operation add of the existing value of a single-valued attribute does not change lastModified or version",
		Requirements: reqs("RFC7644-3.5.2.1-11", "RFC7644-3.5.2.1-10"),
		Level:        must,
		Needs:        patches,
		Requests:     5,
		Why:          "Clients repeat operations; if a repetition changes lastModified, other clients import it as a change.",
		Fix:          "Compare the new value with the stored value; if they are equal, do not change lastModified and version.",
		Run:          patchNoChange,
	},
	{
		ID:           "patch.attributes-parameter",
		Title:        "A successful PATCH with the attributes parameter returns 200 with the resource",
		Requirements: reqs("RFC7644-3.5.2-30"),
		Level:        must,
		Needs:        patches,
		Requests:     3,
		Why:          "The client needs the attributes that it names in the parameter, for example the new version; a 204 does not contain them.",
		Fix:          "If the request has the parameter attributes, return 200 with these attributes, not 204.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "asked", nil)
			res := t.Call(ctx, conformance.Request{Method: http.MethodPatch, Path: u.Path(), Query: map[string][]string{"attributes": {"userName"}},
				Body: doc{"schemas": []string{scim.PatchOpMessage}, "Operations": []doc{{"op": "replace", "path": "name.givenName", "value": "Ada"}}}})
			t.Require("status of "+res.Name+" with attributes", 200, res.Status)
			t.Expect("userName in the response", t.UserName("asked"), value(res.Object(), "userName"))
		},
	},
	{
		ID:           "patch.rename",
		Title:        "A user with a replaced userName has the same id and is found only by the new name",
		Requirements: reqs("RFC7644-3.5.2.3-04", "RFC7643-3.1-07"),
		Level:        must,
		Needs:        append(slices.Clone(patches), conformance.NeedFilter),
		Requests:     6,
		Why: "Users are renamed after a marriage or a change of domain. If a lookup by the new name finds no account, the client " +
			"creates a second one.",
		Fix: "Treat userName as readWrite, do not change the id, and update the index for filters on userName together with the user.",
		Run: patchRename,
	},
	{
		ID:           "patch.inactive-stays",
		Title:        "A deactivated user is still readable by id and found by a filter",
		Requirements: reqs("RFC7644-3.5.2.3-04", "RFC7643-4.1.1-12", "RFC7643-3.1-07"),
		Level:        must,
		Needs:        append(slices.Clone(patches), conformance.NeedFilter),
		Requests:     5,
		Why: "Entra ID and Okta deactivate and reactivate users. If they do not find an inactive user, they create the account a " +
			"second time.",
		Fix: "Do not treat active:false as a deletion; return inactive users by id, in lists and for filters, as all others.",
		Run: patchInactiveStays,
	},
	{
		ID:           "patch.member-names",
		Title:        "The member names Operations, op, path and value of a PATCH body are case-insensitive",
		Requirements: reqs("RFC7644-3.5.2-35"),
		Level:        may,
		Needs:        patches,
		Requests:     4,
		Why: "Attribute names are case-insensitive, and these names are attributes of the PatchOp schema. If the server compares " +
			"them exactly, the updates of clients that write operations or Op are lost.",
		Fix: "Compare the names Operations, op, path and value case-insensitively.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "capitals", nil)
			res := patchMessage(ctx, t, u.Path(),
				doc{"schemas": []string{scim.PatchOpMessage}, "operations": []doc{{"Op": "replace", "Path": "name.givenName", "Value": "Ada"}}})
			t.Must(res.OK(), "status of a PATCH whose members are named operations, Op, Path and Value", "200 or 204", res.Status)
			t.Expect("name.givenName", "Ada", value(t.Read(ctx, u.Path()).Object(), "name.givenName"))
		},
	},
}

func patchAdvertised(ctx context.Context, t *T) {
	supported, known := t.Capabilities.Supports("patch")
	t.SkipIf(!known, "the ServiceProviderConfig does not have patch.supported")
	u := t.CreateUser(ctx, "advertised", nil)
	res := t.Patch(ctx, u.Path(), doc{"op": "replace", "path": "name.givenName", "value": "Ada"})
	if supported {
		t.Holds(res.OK(), "status of "+res.Name+", advertised as supported", "200 or 204", res.Status)
		return
	}
	t.Holds(res.Status == 501 || res.Status < 500, "status of "+res.Name+", advertised as not supported",
		"501 or a 4xx", res.Status)
	t.Warn(!res.OK(), "status of "+res.Name+", advertised as not supported", "501", res.Status)
}

func patchEmptyOperations(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "idle", nil)
	before := t.Read(ctx, u.Path()).Object()
	res := patchMessage(ctx, t, u.Path(), doc{"schemas": []string{scim.PatchOpMessage}, "Operations": []doc{}})
	t.Holds(res.OK() || res.Status == 400, "status of "+res.Name, "400, or a success without a change", res.Status)
	if res.OK() {
		t.Inform("status of "+res.Name, "400", res.Status)
	}
	after := t.Read(ctx, u.Path()).Object()
	for _, path := range []string{"userName", "name", "emails", "active"} {
		t.Expect(path+" after a PATCH with an empty list of operations", value(before, path), value(after, path))
	}
}

func patchTwoPrimaries(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "torn", nil)
	res := t.Patch(ctx, u.Path(), doc{"op": "add", "path": "emails", "value": []doc{
		{"value": t.UserName("first"), "type": "home", "primary": true}, {"value": t.UserName("second"), "type": "other", "primary": true}}})
	t.Holds(res.OK() || res.Status == 400, "status of "+res.Name, "400, 200 or 204", res.Status)
	n := primaries(t.Read(ctx, u.Path()).Object(), "emails")
	t.Holds(n <= 1, "number of primary emails", "at most 1", n)
}

func patchAtomicConflict(ctx context.Context, t *T) {
	t.CreateUser(ctx, "taken", nil)
	u := t.CreateUser(ctx, "mine", doc{"displayName": "Before"})
	res := t.Patch(ctx, u.Path(), doc{"op": "replace", "path": "displayName", "value": "Half-way"},
		doc{"op": "replace", "path": "userName", "value": t.UserName("taken")})
	t.SkipIf(res.OK(), "the target does not reject a userName in use, which another check reports")
	o := t.Read(ctx, u.Path()).Object()
	when := afterRejection("PATCH", res)
	t.Expect("displayName "+when, look(u.Resource, "displayName"), value(o, "displayName"))
	t.Expect("userName "+when, t.UserName("mine"), value(o, "userName"))
}

func patchLastModified(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "dated", nil)
	before := t.Read(ctx, u.Path()).Object()
	stamp, _ := value(before, "meta.lastModified").(string)
	t.SkipIf(stamp == "", "the target does not return meta.lastModified")
	later(ctx, t, stamp)
	o := patched(ctx, t, u, doc{"op": "replace", "path": "name.givenName", "value": "Ada"})
	from, errFrom := schema.ParseDateTime(stamp)
	to, errTo := schema.ParseDateTime(o.Complex("meta").Text("lastModified"))
	t.Holds(errFrom == nil && errTo == nil && to.After(from), "meta.lastModified after PATCH", "later than "+stamp,
		value(o, "meta.lastModified"))
	t.Expect("meta.created after PATCH", value(before, "meta.created"), value(o, "meta.created"))
}

func patchNoChange(ctx context.Context, t *T) {
	u := prepared(ctx, t, doc{"displayName": "Same"})
	before := t.Read(ctx, u.Path()).Object()
	stamp, _ := value(before, "meta.lastModified").(string)
	later(ctx, t, stamp)
	o := patched(ctx, t, u, doc{"op": "add", "path": "displayName", "value": "Same"})
	t.Expect("displayName", "Same", value(o, "displayName"))
	t.Expect("meta.lastModified", value(before, "meta.lastModified"), value(o, "meta.lastModified"))
	t.Expect("meta.version", value(before, "meta.version"), value(o, "meta.version"))
}

func patchRename(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "maiden", nil)
	o := patched(ctx, t, u, doc{"op": "replace", "path": "userName", "value": t.UserName("married")})
	if t.Expect("userName", t.UserName("married"), value(o, "userName")) && t.Expect("id", u.ID, value(o, "id")) {
		blockedIfLookupFails(ctx, t)
	}
	t.Expect("ids of the users found by the new userName", []string{u.ID},
		t.Get(ctx, "/Users", "filter", "userName eq "+quote(t.UserName("married"))).IDs())
	t.Expect("number of users found by the old userName", 0,
		len(t.Get(ctx, "/Users", "filter", "userName eq "+quote(t.UserName("maiden"))).IDs()))
}

func patchInactiveStays(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "sleeper", nil)
	change := t.Patch(ctx, u.Path(), doc{"op": "replace", "path": "active", "value": false})
	t.SkipIf(!change.OK(), fmt.Sprintf("blocked: %s, which deactivates the user, returned %d", change.Name, change.Status))
	res := t.Get(ctx, u.Path())
	t.Require("status of GET of an inactive user", 200, res.Status)
	t.SkipIf(value(res.Object(), "active") != false, "blocked: "+change.Name+" did not deactivate the user, which patch.deactivate reports")
	t.Expect("ids of the users found by the userName of an inactive user", []string{u.ID},
		t.Get(ctx, "/Users", "filter", "userName eq "+quote(t.UserName("sleeper"))).IDs())
}

// patchMessage sends a PATCH with the given body.
func patchMessage(ctx context.Context, t *T, path string, body doc) *conformance.Response {
	return t.Call(ctx, conformance.Request{Method: http.MethodPatch, Path: path, Body: body})
}

// primaries returns the number of primary elements of a multi-valued attribute.
func primaries(o *scim.Object, attribute string) int {
	n := 0
	for _, item := range o.Array(attribute) {
		e, _ := item.(*scim.Object)
		if primary, _ := e.Bool("primary"); primary {
			n++
		}
	}
	return n
}

// later waits until the target's clock has advanced by its resolution, which is derived from the timestamp: 5ms if the timestamp has
// fractions of a second, 1.1s otherwise.
func later(ctx context.Context, t *T, stamp string) {
	wait := 1100 * time.Millisecond
	if at, err := schema.ParseDateTime(stamp); err == nil && at.Nanosecond() != 0 {
		wait = 5 * time.Millisecond
	}
	t.Wait(ctx, wait)
}
