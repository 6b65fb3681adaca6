package checks

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// A refusedPatch is a PATCH that has to fail, or at least must not do what it asks for.
type refusedPatch struct {
	id, title string
	reqs      []string
	level     conformance.Level
	before    func(t *T) doc
	// ops are sent one request each; a request may have several.
	ops func() [][]doc
	// types are the fitting scimTypes.
	types []string
	// ignorable says that a success which changes nothing is permitted too.
	ignorable bool
	// same lists what must be as it was, by the paths of look.
	same     []string
	why, fix string
}

func (p refusedPatch) check() check {
	n := patches
	return check{
		ID:           "patch." + p.id,
		Title:        p.title,
		Requirements: p.reqs,
		Level:        p.level,
		Needs:        n,
		Requests:     4 + len(p.ops()),
		Why:          p.why,
		Fix:          p.fix,
		Run: func(ctx context.Context, t *T) {
			var extra doc
			if p.before != nil {
				extra = p.before(t)
			}
			u := prepared(ctx, t, extra)
			before := t.Read(ctx, u.Path()).Object()
			for _, operations := range p.ops() {
				res := t.Patch(ctx, u.Path(), operations...)
				if !p.ignorable || !res.OK() {
					refused(t, res, 400, p.types...)
				}
			}
			after := t.Get(ctx, u.Path())
			if !t.Expect("status of "+after.Name+" after the refused PATCH", 200, after.Status) {
				return
			}
			for _, path := range p.same {
				t.Expect(path+" after the refused PATCH", look(before, path), look(after.Object(), path))
			}
		},
	}
}

func single(list ...doc) func() [][]doc {
	var out [][]doc
	for _, op := range list {
		out = append(out, []doc{op})
	}
	return func() [][]doc { return out }
}

const (
	whyUnchanged = "After an error the client believes that nothing has changed."
	fixAtomic    = "Apply the operations to a copy and store it only when all of them succeeded."
	forgedTime   = "1999-12-31T23:59:59Z"
)

var patchRefused = refusals(
	refusedPatch{
		id:    "add-no-value",
		title: "add without a value is refused with 400",
		reqs:  reqs("RFC7644-3.5.2.1-01"),
		level: must,
		ops:   single(doc{"op": "add", "path": "displayName"}),
		types: []string{"invalidValue", "invalidSyntax"},
		same:  []string{"displayName", "userName"},
		why:   "A success would tell the client that something was added.",
		fix:   "Require value in add operations.",
	},
	refusedPatch{
		id:     "replace-no-value",
		title:  "replace without a value is refused with 400",
		reqs:   reqs("RFC7644-3.5.2.3-15"),
		level:  should,
		before: always(doc{"displayName": "Stays"}),
		ops:    single(doc{"op": "replace", "path": "displayName"}),
		types:  []string{"invalidValue", "invalidSyntax"},
		same:   []string{"displayName"},
		why:    "A forgotten value must not clear the attribute.",
		fix:    "Require value in replace operations; null is a value.",
	},
	refusedPatch{
		id:    "add-no-path-text",
		title: "add without a path and with a value that is no object is refused with 400",
		reqs:  reqs("RFC7644-3.5.2.1-03"),
		level: must,
		ops:   single(doc{"op": "add", "value": "Ada"}, doc{"op": "add", "value": []string{"displayName"}}),
		types: []string{"invalidValue", "invalidSyntax", "invalidPath", "noTarget"},
		same:  []string{"displayName", "userName"},
		why:   "There is nothing that the value could belong to.",
		fix:   "Require an object when there is no path.",
	},
	refusedPatch{
		id:    "replace-no-path-text",
		title: "replace without a path and with a value that is no object is refused with 400",
		reqs:  reqs("RFC7644-3.5.2.3-01"),
		level: must,
		ops:   single(doc{"op": "replace", "value": "Ada"}),
		types: []string{"invalidValue", "invalidSyntax", "invalidPath", "noTarget"},
		same:  []string{"displayName", "userName"},
		why:   "There is nothing that the value could belong to.",
		fix:   "Require an object when there is no path.",
	},
	refusedPatch{
		id:     "remove-no-path-value",
		title:  "remove with a value and without a path is refused with 400",
		reqs:   reqs("RFC7644-3.5.2.2-01"),
		level:  must,
		before: always(doc{"displayName": "Stays"}),
		ops:    single(doc{"op": "remove", "value": doc{"displayName": "Stays"}}),
		types:  []string{"noTarget", "invalidPath", "invalidSyntax", "invalidValue"},
		same:   []string{"displayName", "userName"},
		why:    "remove takes what it removes from the path alone.",
		fix:    "Answer 400 noTarget.",
	},
	refusedPatch{
		id:        "unknown-attribute",
		title:     "An attribute that no schema has is refused or ignored, and changes nothing",
		reqs:      reqs("RFC7644-3.5.2-13"),
		level:     must,
		ignorable: true,
		before:    always(doc{"displayName": "Stays"}),
		ops:       single(doc{"op": "replace", "path": "scimconfUnknown", "value": "x"}, doc{"op": "add", "value": doc{"scimconfUnknown": "x"}}),
		types:     []string{"invalidPath", "invalidValue", "noTarget", "invalidSyntax"},
		same:      []string{"scimconfUnknown", "displayName", "userName"},
		why:       "What is stored outside the schema cannot be read by anybody.",
		fix:       "Answer 400 invalidPath.",
	},
	refusedPatch{
		id:     "array-index",
		title:  "Array indices and JSON Pointers are no paths",
		reqs:   reqs("RFC7644-3.5.2-11"),
		level:  must,
		before: twoEmails,
		ops: single(doc{"op": "remove", "path": "emails[0]"}, doc{"op": "remove", "path": "/emails/0"},
			doc{"op": "replace", "path": "emails/0/value", "value": "x@example.com"}),
		types: []string{"invalidPath", "noTarget", "invalidFilter"},
		same:  []string{"emails.*"},
		why:   "The order of values means nothing: an index names another value tomorrow.",
		fix:   "Accept the grammar of RFC 7644 only and answer 400 invalidPath.",
	},
	refusedPatch{
		id:    "two-level-path",
		title: "A path of three names is refused",
		reqs:  reqs("RFC7644-3.5.2-09"),
		level: must,
		ops:   single(doc{"op": "replace", "path": "name.familyName.value", "value": "x"}),
		types: []string{"invalidPath", "noTarget"},
		same:  []string{"name.familyName"},
		why:   "A path that is guessed at changes something else.",
		fix:   "Answer 400 invalidPath.",
	},
	refusedPatch{
		id:        "unknown-urn",
		title:     "A path with a URN that the resource type does not have is refused or ignored, and changes nothing",
		reqs:      reqs("RFC7644-3.5.2-13"),
		level:     must,
		ignorable: true,
		before:    always(doc{"displayName": "Stays"}),
		ops:       single(doc{"op": "replace", "path": "urn:example:scimconf:2.0:Unknown:displayName", "value": "x"}),
		types:     []string{"invalidPath", "invalidValue", "noTarget"},
		same:      []string{"displayName", "schemas"},
		why:       "An attribute of another schema is another attribute.",
		fix:       "Compare the URN with those of the resource type; do not drop it.",
	},
	refusedPatch{
		id:        "read-only-no-path",
		title:     "readOnly attributes in a value without path are refused or ignored",
		reqs:      reqs("RFC7644-3.5.2-18", "RFC7644-3.5.2-14"),
		level:     must,
		ignorable: true,
		ops: single(
			doc{"op": "replace", "value": doc{"id": "scimconf-forged", "meta": doc{"created": forgedTime, "resourceType": "Group"}}}),
		types: []string{"mutability"},
		same:  []string{"id", "meta.created", "meta.resourceType"},
		why:   "Okta sends the id along; it must not be taken over.",
		fix:   "Check mutability for every member of the value.",
	},
	refusedPatch{
		id:        "groups-read-only",
		title:     "groups of a user cannot be changed by PATCH",
		reqs:      reqs("RFC7643-4.1.2-13", "RFC7644-3.5.2-14"),
		level:     must,
		ignorable: true,
		ops: single(doc{"op": "add", "path": "groups", "value": []doc{{"value": "scimconf-no-such-id"}}},
			doc{"op": "replace", "value": doc{"groups": []doc{{"value": "scimconf-no-such-id"}}}}),
		types: []string{"mutability", "invalidValue", "invalidPath"},
		same:  []string{"groups.*"},
		why:   "Whoever can write groups at the user gives himself rights.",
		fix:   "Answer 400 mutability; membership belongs to the group.",
	},
	refusedPatch{
		id:    "remove-read-only",
		title: "remove of a readOnly attribute fails",
		reqs:  reqs("RFC7644-3.5.2.2-08"),
		level: must,
		ops:   single(doc{"op": "remove", "path": "id"}, doc{"op": "remove", "path": "meta.created"}),
		types: []string{"mutability"},
		same:  []string{"id", "meta.created"},
		why:   "An account without id or history cannot be managed.",
		fix:   "Answer 400 with scimType mutability.",
	},
	refusedPatch{
		id:    "replace-required",
		title: "null for a required attribute is refused",
		reqs:  reqs("RFC7644-3.5.2.3-14"),
		level: must,
		ops:   single(doc{"op": "replace", "path": "userName", "value": nil}, doc{"op": "replace", "value": doc{"userName": nil}}),
		types: []string{"invalidValue", "mutability"},
		same:  []string{"userName"},
		why:   "A user without a userName cannot be found any more.",
		fix:   "Check required attributes on the result.",
	},
	refusedPatch{
		id:    "replace-empty-user-name",
		title: "An empty userName is refused",
		reqs:  reqs("RFC7643-4.1.1-01"),
		level: must,
		ops:   single(doc{"op": "replace", "path": "userName", "value": ""}),
		types: []string{"invalidValue", "mutability"},
		same:  []string{"userName"},
		why:   "A user without a userName cannot be found any more.",
		fix:   "Check that userName is not empty on every write.",
	},
	refusedPatch{
		id:    "wrong-type-boolean",
		title: "A value that is no boolean does not become active",
		reqs:  reqs("RFC7644-3.5.2-34", "RFC7643-2.3.2-01"),
		level: must,
		ops: single(doc{"op": "replace", "path": "active", "value": doc{"value": false}},
			doc{"op": "replace", "path": "active", "value": "perhaps"}),
		types: []string{"invalidValue", "invalidSyntax"},
		same:  []string{"active"},
		why:   "Whether somebody may log in must not depend on a guess.",
		fix:   "Answer 400 invalidValue.",
	},
	refusedPatch{
		id:    "wrong-type-multi-valued",
		title: "A number does not become a list of addresses",
		reqs:  reqs("RFC7644-3.5.2-34", "RFC7643-2.4-01"),
		level: must,
		ops:   single(doc{"op": "replace", "path": "emails", "value": 5}, doc{"op": "add", "path": "emails", "value": []int{5}}),
		types: []string{"invalidValue", "invalidSyntax", "invalidPath"},
		same:  []string{"emails.*"},
		why:   "A list of something else breaks every reader after it.",
		fix:   "Validate every element against the schema.",
	},
	refusedPatch{
		id:     "wrong-type-text",
		title:  "An object does not become a text",
		reqs:   reqs("RFC7644-3.5.2-34", "RFC7643-2.3-02"),
		level:  must,
		before: always(doc{"displayName": "Stays"}),
		ops: single(doc{"op": "replace", "path": "displayName", "value": doc{"value": "x"}},
			doc{"op": "replace", "path": "displayName", "value": []string{"x"}}),
		types: []string{"invalidValue", "invalidSyntax", "invalidPath"},
		same:  []string{"displayName"},
		why:   "A text that is an object breaks every reader after it.",
		fix:   "Answer 400 invalidValue.",
	},
	refusedPatch{
		id:    "atomic-multi-valued",
		title: "A failing operation undoes values that were added before it",
		reqs:  reqs("RFC7644-3.5.2-28"),
		level: must,
		ops: func() [][]doc {
			return [][]doc{{{"op": "add", "path": "emails", "value": []doc{{"value": "half-way@example.com", "type": "other"}}}, {"op": "remove"}}}
		},
		same: []string{"emails.*"},
		why:  whyUnchanged,
		fix:  fixAtomic,
	},
	refusedPatch{
		id:     "atomic-removal",
		title:  "A failing operation undoes what was removed before it",
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
	refusedPatch{
		id:     "atomic-read-only",
		title:  "An operation that mutability forbids undoes those before it",
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
	refusedPatch{
		id:    "atomic-last-modified",
		title: "A refused PATCH does not move lastModified or version",
		reqs:  reqs("RFC7644-3.5.2-28"),
		level: must,
		ops: func() [][]doc {
			return [][]doc{{{"op": "replace", "path": "displayName", "value": "Half-way"}, {"op": "remove"}}}
		},
		same: []string{"meta.lastModified", "meta.version", "displayName"},
		why:  "A moved time makes clients import a change that did not happen.",
		fix:  fixAtomic,
	},
)

func refusals(list ...refusedPatch) []check {
	var out []check
	for _, p := range list {
		out = append(out, p.check())
	}
	return out
}

var patchRules = []check{
	{
		ID:           "patch.advertised",
		Title:        "PATCH works when the ServiceProviderConfig says so, and is refused without a server error when it says not",
		Requirements: reqs("RFC7644-3.5-03", "RFC7644-3.5.2-01"),
		Level:        must,
		Needs:        writesUsers,
		Requests:     3,
		Why:          "Clients choose between PATCH and PUT by it.",
		Fix:          "Set patch.supported to what is true; answer 501 when PATCH is not supported.",
		Run:          patchAdvertised,
	},
	{
		ID:           "patch.no-operations",
		Title:        "A PATCH without Operations is refused with 400",
		Requirements: reqs("RFC7644-3.5.2-03"),
		Level:        must,
		Needs:        patches,
		Requests:     3,
		Why:          "A message that was cut short must not look like a success.",
		Fix:          "Require Operations.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "inoperative", nil)
			refused(t, patchMessage(ctx, t, u.Path(), doc{"schemas": []string{scim.PatchOpMessage}}), 400, "invalidSyntax", "invalidValue")
		},
	},
	{
		ID:           "patch.empty-operations",
		Title:        "An empty list of operations is refused, or changes nothing",
		Requirements: reqs("RFC7644-3.5.2-03"),
		Level:        should,
		Needs:        patches,
		Requests:     5,
		Why:          "Entra ID has been seen to send empty lists; nothing may be lost by them.",
		Fix:          "Answer 400, or succeed without a change.",
		Run:          patchEmptyOperations,
	},
	{
		ID:           "patch.two-primaries",
		Title:        "Two primary values in one operation do not both stay primary",
		Requirements: reqs("RFC7644-3.5.2-27"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why:          "Two primary addresses leave it to chance where mail goes.",
		Fix:          "Answer 400 invalidValue, or keep one of them.",
		Run:          patchTwoPrimaries,
	},
	{
		ID:           "patch.primary-last-wins",
		Title:        "Of two operations that make a value primary the second one counts",
		Requirements: reqs("RFC7644-3.5.2-27", "RFC7644-3.5.2-26"),
		Level:        must,
		Needs:        patches,
		Requests:     4,
		Why:          "Operations work on each other's results.",
		Fix:          "Take primary from the others after every operation.",
		Run: func(ctx context.Context, t *T) {
			u := prepared(ctx, t, twoEmails(t))
			o := patched(ctx, t, u, doc{"op": "replace", "path": `emails[type eq "home"].primary`, "value": true},
				doc{"op": "add", "path": "emails", "value": []doc{{"value": t.UserName("third"), "type": "other", "primary": true}}})
			t.Expect("primary of the last address", true, value(element(o, "emails", "value", t.UserName("third")), "primary"))
			t.Expect("number of primary emails", 1, primaries(o, "emails"))
		},
	},
	{
		ID:           "patch.atomic-conflict",
		Title:        "A name that is taken undoes the operations before it",
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
		Title:        "A PATCH that changes something moves meta.lastModified and keeps meta.created",
		Requirements: reqs("RFC7644-3.5.2-32", "RFC7643-3.1-22"),
		Level:        must,
		Needs:        patches,
		Requests:     5,
		Why:          "Clients import only what has changed since the last time.",
		Fix:          "Set lastModified on every change, with a resolution of at least milliseconds.",
		Run:          patchLastModified,
	},
	{
		ID:           "patch.no-change",
		Title:        "add of the value that a single-valued attribute has does not move lastModified or version",
		Requirements: reqs("RFC7644-3.5.2.1-11", "RFC7644-3.5.2.1-10"),
		Level:        must,
		Needs:        patches,
		Requests:     5,
		Why:          "Clients repeat operations; each would be imported as a change by everybody else.",
		Fix:          "Compare before storing.",
		Run:          patchNoChange,
	},
	{
		ID:           "patch.add-null",
		Title:        "add of null is refused or changes nothing, and is never stored",
		Requirements: reqs("RFC7644-3.5.2.1-16"),
		Level:        should,
		Needs:        patches,
		Requests:     4,
		Why:          "A null that is stored as a value breaks readers.",
		Fix:          "Answer 400 invalidValue, or take it for nothing to add.",
		Run:          patchAddNull,
	},
	{
		ID:           "patch.attributes-parameter",
		Title:        "A successful PATCH with the attributes parameter answers 200 with the resource",
		Requirements: reqs("RFC7644-3.5.2-30"),
		Level:        must,
		Needs:        patches,
		Requests:     3,
		Why:          "The client asks for these attributes and gets nothing from a 204.",
		Fix:          "Answer 200 when attributes is given.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "asked", nil)
			res := t.Call(ctx, conformance.Request{Method: http.MethodPatch, Path: u.Path(), Query: map[string][]string{"attributes": {"userName"}},
				Body: doc{"schemas": []string{scim.PatchOpMessage}, "Operations": []doc{{"op": "replace", "path": "name.givenName", "value": "Ada"}}}})
			t.Require("status of "+res.Name+" with attributes", 200, res.Status)
			t.Expect("userName in the answer", t.UserName("asked"), value(res.Object(), "userName"))
		},
	},
	{
		ID:           "patch.rename",
		Title:        "A user whose userName was replaced keeps its id and is found by the new name only",
		Requirements: reqs("RFC7644-3.5.2.3-04", "RFC7643-3.1-07"),
		Level:        must,
		Needs:        append(slices.Clone(patches), conformance.NeedFilter),
		Requests:     6,
		Why:          "A marriage or a new domain renames accounts; a lookup by the new name has to find the old account.",
		Fix:          "Treat userName as readWrite, and keep the index of names with it.",
		Run:          patchRename,
	},
	{
		ID:           "patch.inactive-stays",
		Title:        "A user who was switched off is still read by id and found by a filter",
		Requirements: reqs("RFC7644-3.5.2.3-04", "RFC7643-4.1.1-12", "RFC7643-3.1-07"),
		Level:        must,
		Needs:        append(slices.Clone(patches), conformance.NeedFilter),
		Requests:     5,
		Why:          "Entra ID and Okta switch people off and on again; an account that vanishes in between is created twice.",
		Fix:          "active:false is no deletion: leave inactive users in every answer.",
		Run:          patchInactiveStays,
	},
	{
		ID:           "patch.member-names",
		Title:        "The members of a PATCH message are recognised in any letter case",
		Requirements: reqs("RFC7644-3.5.2-35"),
		Level:        may,
		Needs:        patches,
		Requests:     4,
		Why:          "They are attribute names of the message schema.",
		Fix:          "Look the members up without regard to case.",
		Run: func(ctx context.Context, t *T) {
			u := t.CreateUser(ctx, "capitals", nil)
			res := patchMessage(ctx, t, u.Path(),
				doc{"schemas": []string{scim.PatchOpMessage}, "operations": []doc{{"Op": "replace", "Path": "name.givenName", "Value": "Ada"}}})
			t.Must(res.OK(), "status of a PATCH with operations, Op, Path and Value", "200 or 204", res.Status)
			t.Expect("name.givenName", "Ada", value(t.Read(ctx, u.Path()).Object(), "name.givenName"))
		},
	},
}

func patchAdvertised(ctx context.Context, t *T) {
	supported, known := t.Capabilities.Supports("patch")
	t.SkipIf(!known, "the ServiceProviderConfig does not say whether PATCH is supported")
	u := t.CreateUser(ctx, "advertised", nil)
	res := t.Patch(ctx, u.Path(), doc{"op": "replace", "path": "name.givenName", "value": "Ada"})
	if supported {
		t.Holds(res.OK(), "status of "+res.Name+", advertised as supported", "200 or 204", res.Status)
		return
	}
	t.Holds(res.Status == 501 || res.Status < 500, "status of "+res.Name+", advertised as not supported", "501", res.Status)
	if res.OK() {
		t.Inform("status of "+res.Name+", advertised as not supported", "501", res.Status)
	}
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
		t.Expect(path+" after a PATCH without operations", value(before, path), value(after, path))
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
	t.SkipIf(res.OK(), "the target does not refuse a userName in use, which is another check's finding")
	o := t.Read(ctx, u.Path()).Object()
	t.Expect("displayName after the refused PATCH", look(u.Resource, "displayName"), value(o, "displayName"))
	t.Expect("userName after the refused PATCH", t.UserName("mine"), value(o, "userName"))
}

func patchLastModified(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "dated", nil)
	before := t.Read(ctx, u.Path()).Object()
	stamp, _ := value(before, "meta.lastModified").(string)
	t.SkipIf(stamp == "", "the target does not return meta.lastModified")
	later(ctx, t, stamp)
	o := patched(ctx, t, u, doc{"op": "replace", "path": "name.givenName", "value": "Ada"})
	from, errFrom := time.Parse(time.RFC3339, stamp)
	to, errTo := time.Parse(time.RFC3339, o.Complex("meta").Text("lastModified"))
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

func patchAddNull(ctx context.Context, t *T) {
	u := prepared(ctx, t, doc{"nickName": "Nick"})
	res := t.Patch(ctx, u.Path(), doc{"op": "add", "path": "nickName", "value": nil})
	t.Holds(res.OK() || res.Status == 400, "status of "+res.Name, "400, or a success", res.Status)
	o := t.Read(ctx, u.Path()).Object()
	got, there := o.Get("nickName")
	t.Holds(!there || got == "Nick", "nickName after add of null", "Nick, or absent", got)
	if res.OK() && !there {
		t.Inform("nickName after add of null", "Nick", "absent")
	}
}

func patchRename(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "maiden", nil)
	o := patched(ctx, t, u, doc{"op": "replace", "path": "userName", "value": t.UserName("married")})
	t.Expect("userName", t.UserName("married"), value(o, "userName"))
	t.Expect("id", u.ID, value(o, "id"))
	t.Expect("ids found by the new name", []string{u.ID}, t.Get(ctx, "/Users", "filter", "userName eq "+quote(t.UserName("married"))).IDs())
	t.Expect("number found by the old name", 0, len(t.Get(ctx, "/Users", "filter", "userName eq "+quote(t.UserName("maiden"))).IDs()))
}

func patchInactiveStays(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "sleeper", nil)
	succeeded(t, t.Patch(ctx, u.Path(), doc{"op": "replace", "path": "active", "value": false}), 200, 204)
	res := t.Get(ctx, u.Path())
	t.Require("status of GET of an inactive user", 200, res.Status)
	t.Expect("active", false, value(res.Object(), "active"))
	t.Expect("ids found by the name of an inactive user", []string{u.ID},
		t.Get(ctx, "/Users", "filter", "userName eq "+quote(t.UserName("sleeper"))).IDs())
}

// patchMessage sends a PATCH whose body is written by hand.
func patchMessage(ctx context.Context, t *T, path string, body doc) *conformance.Response {
	return t.Call(ctx, conformance.Request{Method: http.MethodPatch, Path: path, Body: body})
}

// primaries counts the primary elements of a multi-valued attribute.
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

// later lets enough time pass for the resolution in which the target counts time, which is read off a timestamp.
func later(ctx context.Context, t *T, stamp string) {
	wait := 1100 * time.Millisecond
	if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil && at.Nanosecond() != 0 {
		wait = 5 * time.Millisecond
	}
	t.Wait(ctx, wait)
}
