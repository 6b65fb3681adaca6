package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// A patchCell is a check of a PATCH with one form of operation and path: the user before the PATCH, the operations, and the values that a
// GET must return after the PATCH.
type patchCell struct {
	id, title string
	reqs      []string
	level     conformance.Level
	// before returns attributes to create the user with, in addition to the defaults.
	before func(t *T) doc
	ops    func(t *T) []doc
	// want returns the expected values, by paths in the syntax of look.
	want func(t *T) []expected
	// then verifies the user after a successful PATCH, in addition to want. It may be nil.
	then func(t *T, user *scim.Object)
	// basic returns operations that other checks test. If the target rejects the operations of the cell, and then one of these for the same
	// user, the check is blocked. It may be nil.
	basic func(t *T) []doc
	// basicSame means that the check is blocked, too, if the operations of basic are accepted and the user is not as expected either.
	basicSame bool
	// separately means that the check is blocked if the user is not as expected either when each operation is sent in a request of its own.
	separately bool
	// mayReject means that a 400 is permitted too. A request that is rejected must change nothing.
	mayReject bool
	// instead is the test with other attributes, for a target that rejects or does not store those of before. It may be nil.
	instead *patchCell
	// unset is a sub-attribute of emails that before omits in the address "home", and that the target must not set. It may be empty.
	unset    string
	why, fix string
}

// expected is a path in the syntax of look and the value at this path, nil if absent.
type expected struct {
	path string
	want any
}

// look returns the value at a path of an expectation: "name.givenName", "emails.*" (all values, sorted), or "emails[home].value" (of the
// element with that type). A leading "@" selects an attribute of the enterprise extension.
func look(o *scim.Object, path string) any {
	if inner, ok := strings.CutPrefix(path, "@"); ok {
		return value(o.Complex(scim.EnterpriseUserSchema), inner)
	}
	if attribute, ok := strings.CutSuffix(path, ".*"); ok {
		return values(o, attribute, "value")
	}
	if attribute, rest, ok := strings.Cut(path, "["); ok {
		kind, sub, _ := strings.Cut(rest, "].")
		return value(element(o, attribute, "type", kind), sub)
	}
	return value(o, path)
}

// firstNotStored returns the path of the first value of a body that is missing in the response, "" if none is missing. A missing value is
// not a finding, because a target need not support every attribute of a schema.
func firstNotStored(sent doc, got *scim.Object) string {
	for name, v := range byName(sent) {
		at, ok := got.Get(name)
		switch v := v.(type) {
		case doc:
			inner, _ := at.(*scim.Object)
			if inner == nil {
				return name
			}
			if path := firstNotStored(v, inner); path != "" {
				return name + "." + path
			}
		case []doc:
			list, _ := at.([]any)
			for _, item := range v {
				if sub, stored := elementNotStored(item, list); !stored {
					return name + sub
				}
			}
			if len(list) < len(v) {
				return name
			}
		default:
			if !ok && v != any(omit) && v != nil {
				return name
			}
		}
	}
	return ""
}

// elementNotStored reports whether a list contains an element as sent. If it contains the value of the element only without one of its
// sub-attributes, or with another value of this sub-attribute, sub is a full stop and the name of the sub-attribute.
func elementNotStored(sent doc, list []any) (sub string, stored bool) {
	for _, have := range list {
		o, _ := have.(*scim.Object)
		if o == nil || !scim.Equal(sent["value"], value(o, "value")) {
			continue
		}
		missing := firstNotStored(sent, o)
		for name, v := range byName(sent) {
			text, isText := v.(string)
			if isText && missing == "" && !strings.EqualFold(text, o.Text(name)) {
				missing = name
			}
		}
		if missing == "" {
			return "", true
		}
		sub = "." + missing
	}
	return sub, false
}

// undeclared reports whether the target's schema is known and does not define the attribute.
func undeclared(t *T, urn, attribute string) bool {
	schema := t.Capabilities.Schema(urn)
	if schema == nil || slices.Contains([]string{"schemas", "id", "externalId", "meta"}, attribute) {
		return false
	}
	return !slices.ContainsFunc(schema.Array("attributes"), func(v any) bool {
		o, _ := v.(*scim.Object)
		return scim.EqualName(o.Text("name"), attribute)
	})
}

// prepared creates the user of a cell, or skips the check if the target does not store the attributes that the cell tests.
func prepared(ctx context.Context, t *T, before doc) *conformance.Created {
	u := t.CreateUser(ctx, "cell", before)
	if u.Resource != nil {
		if path := firstNotStored(before, u.Resource); path != "" {
			t.Skip("the target does not store " + path)
		}
	}
	return u
}

// user creates the user of the cell. If the target does not store the attributes of before, user skips the check, or returns nil if the
// cell has a test with other attributes. In this case, user also returns nil if the target rejects the user.
func (c patchCell) user(ctx context.Context, t *T, before doc) *conformance.Created {
	if c.instead == nil {
		u := prepared(ctx, t, before)
		t.SkipIf(c.assigned(t, u), "the target sets emails."+c.unset+" of addresses without it")
		return u
	}
	u := t.CreateWhole(ctx, "first", before)
	if u == nil {
		t.Note("the target rejects the user with which the check starts; the check uses other attributes")
		return nil
	}
	if u.Resource == nil {
		return u
	}
	path := firstNotStored(before, u.Resource)
	if path == "" && c.assigned(t, u) {
		path = "emails." + c.unset
	}
	if path == "" {
		return u
	}
	t.Note("the target does not store %s as sent; the check uses other attributes", path)
	t.Delete(ctx, u.Path()) // some targets reject a second user with the same email addresses
	return nil
}

// assigned reports whether the target has set the sub-attribute that the cell omits in its last email address.
func (c patchCell) assigned(t *T, u *conformance.Created) bool {
	if c.unset == "" || u.Resource == nil {
		return false
	}
	return value(element(u.Resource, "emails", "value", t.UserName("home")), c.unset) != nil
}

func (c patchCell) check() check {
	n := patches
	if strings.Contains(c.id, "extension") {
		n = append(slices.Clone(patches), conformance.NeedEnterprise)
	}
	return check{
		ID:           "patch." + c.id,
		Title:        c.title,
		Requirements: c.reqs,
		Level:        c.level,
		Needs:        n,
		Requests:     4,
		Why:          c.why,
		Fix:          c.fix,
		Run:          c.run,
	}
}

// run is the Run of the check.
func (c patchCell) run(ctx context.Context, t *T) {
	var before doc
	if c.before != nil {
		before = c.before(t)
	}
	want := c.want(t)
	for _, e := range want {
		name, _, _ := strings.Cut(strings.TrimPrefix(e.path, "@"), ".")
		name, _, _ = strings.Cut(name, "[")
		urn := scim.UserSchema
		if strings.HasPrefix(e.path, "@") {
			urn = scim.EnterpriseUserSchema
		}
		t.SkipIf(undeclared(t, urn, name), "the target's schema does not have "+name)
	}
	u := c.user(ctx, t, before)
	if u == nil {
		c.instead.run(ctx, t)
		return
	}
	res := t.Patch(ctx, u.Path(), c.ops(t)...)
	if c.separately {
		t.BlockedIf(func() string {
			if !res.OK() {
				return c.wrongSeparately(ctx, t, u)
			}
			// Some targets reject a second user with the same email addresses.
			t.Delete(ctx, u.Path())
			return c.wrongSeparately(ctx, t, t.CreateUser(ctx, "separate", before))
		})
	}
	if c.basic != nil && !res.OK() {
		blockedIfRejected(ctx, t, u, c.basic(t)...)
	}
	if c.basicSame && res.OK() {
		t.BlockedIf(func() string {
			t.Delete(ctx, u.Path()) // some targets reject a second user with the same email addresses
			return c.wrongTogether(ctx, t, t.CreateUser(ctx, "basic", before))
		})
	}
	if strings.HasPrefix(c.id, "filter-") || c.id == "remove-all-matches" {
		blockedIfNoneSelected(ctx, t)
	}
	if c.mayReject && res.Status == 400 {
		t.Inform("status of "+res.Name, "200 or 204; 400 is permitted", res.Status)
		if u.Resource != nil {
			o := t.Read(ctx, u.Path()).Object()
			for _, e := range want {
				t.Expect(e.path+" after the rejected PATCH", look(u.Resource, e.path), look(o, e.path))
			}
		}
		return
	}
	succeeded(t, res, 200, 204)
	o := readPatched(ctx, t, u.Path())
	for _, e := range want {
		if e.path == "schemas" {
			t.Holds(slices.Contains(texts(o, "schemas"), e.want.(string)), "schemas", e.want.(string)+" in the list", value(o, "schemas"))
		} else if got := look(o, e.path); e.want == nil {
			list, isList := got.([]string)
			t.Holds(got == nil || isList && len(list) == 0, e.path, "absent", got)
		} else {
			t.Expect(e.path, e.want, got)
		}
	}
	if c.then != nil {
		c.then(t, o)
	}
}

// readPatched reads a resource after a successful PATCH. A PATCH must not make the body unreadable, such as by adding a second member whose
// name differs only by case. If the read fails for another reason, the check is blocked.
func readPatched(ctx context.Context, t *T, path string) *scim.Object {
	res := t.Get(ctx, path)
	t.Must(res.Status != 200 || res.Problem() == nil, "body of "+res.Name+" after the PATCH", "a JSON object with each name once",
		fmt.Sprint(res.Problem()))
	return t.Readable(res)
}

// operationText describes an operation of a PATCH: its op and its path.
func operationText(op doc) string {
	if op["path"] == nil {
		return fmt.Sprint(op["op"], " without a path")
	}
	return fmt.Sprint(op["op"], " and the path ", op["path"])
}

// blockedIfRejected blocks the check if the target rejects one of the operations, which other checks test, in a PATCH of the user.
func blockedIfRejected(ctx context.Context, t *T, u *conformance.Created, operations ...doc) {
	t.BlockedIf(func() string {
		for _, op := range operations {
			if res := t.Patch(ctx, u.Path(), op); !res.OK() {
				return fmt.Sprintf("PATCH /Users/{id}, with the operation %s, returned %d", operationText(op), res.Status)
			}
		}
		return ""
	})
}

// wrongSeparately sends each operation of the cell in a request of its own, and returns a message if one of them is rejected or the result
// is not that of the cell. u is a user with the attributes of the cell.
func (c patchCell) wrongSeparately(ctx context.Context, t *T, u *conformance.Created) string {
	for _, op := range c.ops(t) {
		if res := t.Patch(ctx, u.Path(), op); !res.OK() {
			return fmt.Sprintf("PATCH /Users/{id}, with only the operation %s, returned %d", operationText(op), res.Status)
		}
	}
	if c.differs(t, t.Read(ctx, u.Path()).Object()) {
		return "PATCH /Users/{id}, with each operation in a request of its own, did not have the expected result"
	}
	return ""
}

// wrongTogether sends the operations of basic in one request, and returns a message if the result is not that of the cell. u is a user with
// the attributes of the cell.
func (c patchCell) wrongTogether(ctx context.Context, t *T, u *conformance.Created) string {
	operations := c.basic(t)
	res := t.Patch(ctx, u.Path(), operations...)
	o := t.Get(ctx, u.Path()).Object()
	if !res.OK() || o == nil || c.differs(t, o) {
		return fmt.Sprintf("PATCH /Users/{id}, with the operation %s, did not have the expected result", operationText(operations[0]))
	}
	return ""
}

// differs reports whether the user is not as expected.
func (c patchCell) differs(t *T, o *scim.Object) bool {
	return slices.ContainsFunc(c.want(t), func(e expected) bool { return fmt.Sprint(e.want) != fmt.Sprint(look(o, e.path)) })
}

// blockedIfNothingRemoved blocks the check if the target rejects the removal of an optional attribute, which patch.remove-external-id
// reports.
func blockedIfNothingRemoved(ctx context.Context, t *T) {
	t.BlockedIf(func() string {
		u := t.CreateUser(ctx, "control", doc{"externalId": t.Prefix() + "control"})
		if res := t.Patch(ctx, u.Path(), doc{"op": "remove", "path": "externalId"}); !res.OK() {
			return fmt.Sprintf("PATCH /Users/{id}, which removes externalId, returned %d", res.Status)
		}
		return ""
	})
}

// blockedIfNoneSelected blocks the check of a special value filter if the target does not remove a value that a simple filter selects,
// which patch.remove-value-path reports.
func blockedIfNoneSelected(ctx context.Context, t *T) {
	t.BlockedIf(func() string {
		u := t.CreateUser(ctx, "selected", doc{"emails": []doc{{"value": t.UserName("kept"), "type": "work", "primary": true},
			{"value": t.UserName("dropped"), "type": "home"}}})
		res := t.Patch(ctx, u.Path(), doc{"op": "remove", "path": `emails[type eq "home"]`})
		if !res.OK() {
			return fmt.Sprintf("PATCH /Users/{id}, which removes emails[type eq \"home\"], returned %d", res.Status)
		}
		if !slices.Equal(addresses(t, "kept"), values(t.Read(ctx, u.Path()).Object(), "emails", "value")) {
			return "PATCH /Users/{id}, which removes emails[type eq \"home\"], did not remove exactly this value"
		}
		return ""
	})
}

// extended returns attributes for [T.User] with data in the enterprise extension.
func extended(attributes doc) doc {
	return doc{"schemas": []string{scim.UserSchema, scim.EnterpriseUserSchema}, scim.EnterpriseUserSchema: attributes}
}

func always(d doc) func(*T) doc      { return func(*T) doc { return d } }
func ops(list ...doc) func(*T) []doc { return func(*T) []doc { return list } }

// wants returns expectations. list contains pairs of a path in the syntax of look and the value at this path.
func wants(list ...any) func(*T) []expected {
	var out []expected
	for i := 0; i+1 < len(list); i += 2 {
		out = append(out, expected{list[i].(string), list[i+1]})
	}
	return func(*T) []expected { return out }
}

const (
	core = scim.UserSchema + ":"
	ext  = scim.EnterpriseUserSchema + ":"
)

// twoWork returns attributes for [T.User] with two work addresses and one home address.
func twoWork(t *T) doc {
	return doc{"emails": []doc{
		{"value": t.UserName("work-1"), "type": "work"}, {"value": t.UserName("work-2"), "type": "work"},
		{"value": t.UserName("home"), "type": "home"},
	}}
}

// twoWorkDisplayed is twoWork, with a display of each address.
func twoWorkDisplayed(t *T) doc {
	out := twoWork(t)
	for i, display := range []string{"one", "two", "plain"} {
		out["emails"].([]doc)[i]["display"] = display
	}
	return out
}

// withDisplay returns attributes for [T.User]: a work address with the given display, and a home address.
func withDisplay(text string) func(t *T) doc {
	return func(t *T) doc {
		return doc{
			"emails": []doc{{"value": t.UserName("work"), "type": "work", "display": text},
				{"value": t.UserName("home"), "type": "home", "display": "plain"}}}
	}
}

// addresses returns the sorted email addresses of the given labels, as look returns them for the path "emails.*".
func addresses(t *T, names ...string) []string {
	var out []string
	for _, name := range names {
		out = append(out, t.UserName(name))
	}
	return sorted(out...)
}

func cells(list ...patchCell) []check {
	var out []check
	for _, c := range list {
		out = append(out, c.check())
	}
	return out
}

// leavesNoExtension warns if a user contains the enterprise extension without data, and informs if schemas of the user names it. An empty
// object is no form of an unassigned attribute (RFC 7643 section 2.5). schemas names the schemas of the attributes that are present
// (RFC 7643 section 3).
func leavesNoExtension(t *T, user *scim.Object) {
	rest, there := user.Get(scim.EnterpriseUserSchema)
	o, isObject := rest.(*scim.Object)
	if isObject && o.Len() > 0 {
		return // the extension has data that the target has assigned
	}
	t.Warn(!there || rest == nil, "the extension object after the removal of its last attribute", "absent", rest)
	if slices.ContainsFunc(texts(user, "schemas"), func(urn string) bool { return scim.EqualName(urn, scim.EnterpriseUserSchema) }) {
		t.Inform("schemas of a user without data of the extension", "no URN of the extension", value(user, "schemas"))
	}
}
