package checks

import (
	"context"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// shownAs returns attributes for [T.User] with the addresses work-1, work-2 and home, and a display for each of them. An empty display is
// omitted.
func shownAs(displays ...string) func(t *T) doc {
	return func(t *T) doc {
		out := twoWork(t)
		for i, display := range displays {
			if display != "" {
				out["emails"].([]doc)[i]["display"] = display
			}
		}
		return out
	}
}

// typed returns attributes for [T.User] with the addresses work-1, work-2 and home, which have these types. An empty type is omitted.
func typed(types ...string) func(t *T) doc {
	return func(t *T) doc {
		out := twoWork(t)
		for i, kind := range types {
			if out["emails"].([]doc)[i]["type"] = kind; kind == "" {
				delete(out["emails"].([]doc)[i], "type")
			}
		}
		return out
	}
}

// selecting returns a cell that removes the addresses that match a filter and expects that the addresses of the given labels remain. Every
// filter matches an address, so that a target need not reject the request. In a filter, «1» and «2» are the addresses work-1 and work-2.
func selecting(id, title, filter string, reqs []string, before func(t *T) doc, remaining ...string) patchCell {
	return patchCell{
		id: id, title: title, reqs: reqs, level: must, mayReject: true, before: before, why: whyFilter, fix: fixFilter,
		ops: func(t *T) []doc {
			values := strings.NewReplacer("«1»", t.UserName("work-1"), "«2»", t.UserName("work-2")).Replace(filter)
			return []doc{{"op": "remove", "path": "emails[" + values + "]"}}
		},
		want: func(t *T) []expected { return []expected{{"emails.*", addresses(t, remaining...)}} },
	}
}

// or returns the cell with another filter and other attributes, for a target that rejects or does not store those of the cell: it may
// permit one address of each type.
func (c patchCell) or(filter string, before func(t *T) doc, remaining ...string) patchCell {
	other := selecting(c.id, c.title, filter, c.reqs, before, remaining...)
	other.unset = strings.Replace(c.unset, "display", "type", 1)
	c.instead = &other
	return c
}

// advising returns the cell with its own advice instead of that for all value filters.
func (c patchCell) advising(fix string) patchCell {
	c.fix = fix
	return c
}

// withoutDisplay returns the cell with an address that has no display.
func (c patchCell) withoutDisplay() patchCell {
	c.unset = "display"
	return c
}

// informing returns the cell for a statement that RFC 7644 does not settle, such as whether ne matches an absent value.
func (c patchCell) informing() patchCell {
	c.level = may
	return c
}

// patchFilters are the operators and the logic of value filters in paths. A filter in a path has the grammar of other filters.
var patchFilters = append(cells(
	selecting("filter-co", "The operator co in a value filter matches the values that contain the operand",
		`display co "one" and type eq "work"`, reqs("RFC7644-3.5.2.2-04", "RFC7644-3.4.2.2-12"), shownAs("one", "one more", "none"), "home").
		or(`type co "e"`, typed("other", "work", "home"), "work-2"),
	selecting("filter-sw", "The operator sw in a value filter matches the values that begin with the operand",
		`display sw "one"`, reqs("RFC7644-3.5.2.2-04", "RFC7644-3.4.2.2-13"), shownAs("one", "one more", "none"), "home").
		or(`type sw "o"`, typed("other", "work", "home"), "work-2", "home"),
	selecting("filter-ew", "The operator ew in a value filter matches the values that end with the operand",
		`display ew "one"`, reqs("RFC7644-3.5.2.2-04", "RFC7644-3.4.2.2-14"), shownAs("one", "one more", "none"), "work-2").
		or(`type ew "e"`, typed("other", "work", "home"), "work-1", "work-2"),
	selecting("filter-pr", "The operator pr in a value filter matches the values that have the sub-attribute",
		`display pr`, reqs("RFC7644-3.5.2.2-04", "RFC7644-3.4.2.2-16"), shownAs("one", "two", ""), "home").withoutDisplay().
		or(`type pr`, typed("work", "other", ""), "home"),
	selecting("filter-precedence", "In a value filter, the operator \"and\" has higher precedence than the operator \"or\"",
		`type eq "home" or type eq "work" and display eq "one"`, reqs("RFC7644-3.5.2.2-04", "RFC7644-3.4.2.2-29"),
		shownAs("one", "two", "plain"), "work-2").
		or(`type eq "home" or type eq "other" and value eq "«1»"`, typed("other", "work", "home"), "work-2"),
	selecting("filter-groups", "Parentheses in a value filter override the precedence of its operators",
		`(type eq "home" or type eq "work") and display eq "one"`, reqs("RFC7644-3.5.2.2-04", "RFC7644-3.4.2.2-28"),
		shownAs("one", "two", "plain"), "work-2", "home").
		or(`(type eq "home" or type eq "other") and value eq "«1»"`, typed("other", "work", "home"), "work-2", "home"),
	selecting("filter-not-group", "The operator \"not\" in a value filter negates the whole expression in its parentheses",
		`not (type eq "work" and display eq "plain")`, reqs("RFC7644-3.5.2.2-04", "RFC7644-3.4.2.2-27"),
		shownAs("one", "plain", "plain"), "work-2").
		or(`not (type eq "work" and value eq "«2»")`, typed("other", "work", "home"), "work-2").
		advising("Evaluate the expression in the parentheses after \"not\" for each element, and negate its result as a whole."),
	selecting("filter-ne-absent", "The operator ne in a value filter matches the values that lack the sub-attribute",
		`display ne "one"`, reqs("RFC7644-3.4.2.2-11"), shownAs("one", "two", ""), "work-1").withoutDisplay().
		or(`type ne "work"`, typed("work", "other", ""), "work-1").informing(),
	selecting("filter-not-primary", "A value filter treats a value without primary as one with primary false",
		`primary eq false`, reqs("RFC7643-2.4-05", "RFC7644-3.5.2.2-04"), func(t *T) doc {
			out := typed("other", "work", "home")(t)
			out["emails"].([]doc)[0]["primary"] = true
			out["emails"].([]doc)[1]["primary"] = false
			return out
		}, "work-1").advising("Evaluate \"primary eq false\" as true for an element without primary, in paths of PATCH as in filters."),
	patchCell{
		id:     "add-several",
		title:  "The operation add of a list adds all its values",
		reqs:   reqs("RFC7644-3.5.2.1-07"),
		level:  must,
		before: func(t *T) doc { return doc{"emails": []doc{{"value": t.UserName("work"), "type": "work"}}} },
		ops: func(t *T) []doc {
			return []doc{{"op": "add", "path": "emails",
				"value": []doc{{"value": t.UserName("home"), "type": "home"}, {"value": t.UserName("other"), "type": "other"}}}}
		},
		want: func(t *T) []expected { return []expected{{"emails.*", addresses(t, "work", "home", "other")}} },
		why:  "Clients add all values of an attribute in one operation; if the server stores only the first value, the others are lost.",
		fix:  "Append every element of the list in value.",
	},
	patchCell{
		id:    "extension-key-case",
		title: "The URN of an extension in a value without a path is case-insensitive",
		reqs:  reqs("RFC7644-3.10-03", "RFC7644-3.5.2-19"),
		level: must,
		basic: ops(doc{"op": "replace", "value": doc{scim.EnterpriseUserSchema: doc{"department": "New"}}}),
		ops:   ops(doc{"op": "replace", "value": doc{strings.ToUpper(scim.EnterpriseUserSchema): doc{"department": "New"}}}),
		want:  wants("@department", "New"),
		why:   "Clients write URNs in different case; a server that does not recognize the name ignores the whole change.",
		fix:   "Compare the names of members with URNs case-insensitively.",
	},
), check{
	ID:           "patch.extension-part",
	Title:        "A path with the URN of an extension and a sub-attribute changes this sub-attribute",
	Requirements: reqs("RFC7644-3.5.2-20", "RFC7644-3.5.2-09"),
	Level:        must,
	Needs:        append(slices.Clone(patches), conformance.NeedEnterprise),
	Requests:     6,
	Why:          whyEnt,
	Fix:          fixPath,
	Run:          patchExtensionPart,
})

func patchExtensionPart(ctx context.Context, t *T) {
	t.SkipIf(undeclared(t, scim.EnterpriseUserSchema, "manager"), "the target does not support manager")
	boss := t.CreateUser(ctx, "boss", nil)
	u := t.CreateUser(ctx, "staffed", nil)
	path := ext + "manager.value"
	res := t.Patch(ctx, u.Path(), doc{"op": "add", "path": path, "value": boss.ID})
	if !res.OK() {
		whole := t.Patch(ctx, u.Path(), doc{"op": "add", "path": ext + "manager", "value": doc{"value": boss.ID}})
		t.SkipIf(!whole.OK(), "blocked: the target does not store manager by PATCH")
	}
	t.About(res)
	succeeded(t, res, 200, 204)
	t.Expect("manager.value after add of manager.value", boss.ID, look(t.Read(ctx, u.Path()).Object(), "@manager.value"))
}
