package checks

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
)

// foreignName is a text of letters beyond ASCII: composed and combining ones, ideographs, and one beyond the basic plane.
const foreignName = "Zoë Ångström 東京 🚀"

// spelt makes the Run of a check that creates a user of a displayName and asks for it by filters; «P» is the prefix of the
// check. Other users may be found as well only when they are not of this check.
func spelt(displayName string, wanted bool, filters ...string) func(context.Context, *T) {
	return func(ctx context.Context, t *T) {
		u := t.CreateUser(ctx, "spelt", doc{"displayName": t.Prefix() + displayName})
		t.SkipIf(u.Resource.Text("displayName") != t.Prefix()+displayName, "the target does not keep displayName as it was sent")
		for _, filter := range filters {
			filter = strings.ReplaceAll(filter, "«P»", t.Prefix())
			res := t.Get(ctx, "/Users", "filter", filter)
			if (res.Status == 400 || res.Status == 501) && strings.Contains(filter, " ew ") {
				t.Note("declined with %d: %s", res.Status, filter)
				continue
			}
			t.SkipIf(res.Status == 400 && !filterable(ctx, t, filter), unanswered)
			t.Require("status of GET /Users?filter="+filter, 200, res.Status)
			t.Holds(slices.Contains(res.IDs(), u.ID) == wanted, "users found by "+filter, choose(wanted, "the one created", "not the one created"),
				res.IDs())
		}
	}
}

func choose(yes bool, one, other string) string {
	if yes {
		return one
	}
	return other
}

// encoded makes a check of one way to write a filter into a URL. The raw filter stands behind the question mark as it is.
func encoded(id, title, requirement string, level conformance.Level, raw string) check {
	return check{
		ID:           "filter.encoding-" + id,
		Title:        title,
		Requirements: reqs(requirement),
		Level:        level,
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why:          "HTTP libraries encode queries in different ways, and clients cannot choose.",
		Fix:          "Decode the query once, with the functions of the platform, before reading the filter.",
		Run: func(ctx context.Context, t *T) {
			target := "/Users?filter=" + strings.ReplaceAll(raw, "«P»", url.QueryEscape(peoplePrefix(t)))
			res := t.Get(ctx, target)
			t.Require("status of GET "+target, 200, res.Status)
			t.Expect("users found by GET "+target, []string{"ada"}, labels(t.Fixture, res.IDs()))
		},
	}
}

var (
	groupFilters = needs(conformance.NeedUser, conformance.NeedGroup, conformance.NeedWrite, conformance.NeedFilter)

	percentEncoded = "RFC7644-1.2-02"
)

// filterValues are filters on what a check has just written, and the ways in which a filter reaches the target.
var filterValues = []check{
	{
		ID:           "filter.unicode",
		Title:        "Texts beyond ASCII are found",
		Requirements: reqs("RFC7643-2.3.1-01", "RFC7644-3.4.2.2-09"),
		Level:        must,
		Needs:        filters,
		Requests:     4,
		Why:          "People have names of all scripts.",
		Fix:          "Decode the query as UTF-8 and compare characters, not bytes of another encoding.",
		Run:          spelt(foreignName, true, `displayName eq "«P»`+foreignName+`"`, `displayName ew "東京 🚀" and userName sw "«P»"`),
	},
	{
		ID:           "filter.unicode-escapes",
		Title:        "Escapes of characters beyond ASCII are decoded, surrogate pairs included",
		Requirements: reqs("RFC7644-3.4.2.2-42"),
		Level:        must,
		Needs:        filters,
		Requests:     3,
		Why:          "Serialisers of many clients escape everything beyond ASCII.",
		Fix:          "Decode the operand with a JSON parser.",
		Run:          spelt(foreignName, true, `displayName eq "«P»Zo\u00eb \u00C5ngstr\u00f6m \u6771\u4eac \ud83d\ude80"`),
	},
	{
		ID:           "filter.unicode-case",
		Title:        "Letters beyond ASCII fold like all others",
		Requirements: reqs("RFC7644-3.4.2.2-57"),
		Level:        should,
		Needs:        filters,
		Requests:     3,
		Why:          "A server that folds ASCII only finds Smith, but neither Åström nor Çelik.",
		Fix:          "Fold by the rules of Unicode.",
		Run:          spelt("Åström Çelik", true, `displayName eq "«P»ÅSTRÖM ÇELIK"`),
	},
	{
		ID:           "filter.unicode-distinct",
		Title:        "Different letters stay different",
		Requirements: reqs("RFC7644-3.4.2.2-09"),
		Level:        should,
		Needs:        filters,
		Requests:     3,
		Why:          "A collation that ignores accents links the account of one person to another.",
		Fix:          "Fold case, not accents.",
		Run:          spelt("Müller", false, `displayName eq "«P»Muller"`),
	},
	encoded("percent", "A filter with percent-encoded blanks and quotation marks is understood", percentEncoded, must,
		"userName%20eq%20%22«P»ada%40example.com%22"),
	encoded("lower-case", "The case of percent-encoding does not matter", percentEncoded, must,
		"userName%20eq%20%22«P»%61da%40example%2ecom%22"),
	encoded("letters", "Letters that need no encoding may be encoded", percentEncoded, must, "%75ser%4Eame%20%65q%20%22«P»ada@example.com%22"),
	encoded("plus", "A plus sign in the query stands for a blank", percentEncoded, may, "userName+eq+%22«P»ada%40example.com%22"),
	{
		ID:           "filter.encoding-reserved",
		Title:        "Characters that mean something in URLs can be searched for when they are encoded",
		Requirements: reqs(percentEncoded, "RFC7644-3.4.2.2-42"),
		Level:        must,
		Needs:        filters,
		Requests:     3,
		Why:          "Addresses have plus signs, names have ampersands.",
		Fix:          "Decode each parameter once, after splitting the query.",
		Run:          spelt("a+b&c=d/e?f#g;h%41", true, `displayName eq "«P»a+b&c=d/e?f#g;h%41"`),
	},
	{
		ID:           "filter.sees-changes",
		Title:        "Filters see the value that was written last",
		Requirements: reqs("RFC7644-3.4.2.2-03", "RFC7644-3.4.2.2-09"),
		Level:        must,
		Needs:        filters,
		Requests:     5,
		Why:          "A client that renames an account looks it up by its new name next.",
		Fix:          "Update the index of filters together with the resource.",
		Run:          filterSeesChanges,
	},
	{
		ID:           "filter.sees-removals",
		Title:        "Filters no longer find a value that was taken away",
		Requirements: reqs("RFC7644-3.4.2.2-03", "RFC7644-3.4.2.2-16"),
		Level:        must,
		Needs:        filters,
		Requests:     5,
		Why:          "Who left a department is not to be found in it.",
		Fix:          "Take removed values out of the index of filters.",
		Run:          filterSeesRemovals,
	},
	{
		ID:           "filter.not-shown",
		Title:        "A filter works on an attribute that the answer does not show",
		Requirements: reqs("RFC7644-3.4.2.2-03", "RFC7644-3.9-02"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why:          "Clients filter by one attribute and read another.",
		Fix:          "Filter first, project last.",
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(!kept(t, "userType"), "the target does not keep userType as it was sent")
			res := t.Get(ctx, "/Users", "filter", fill(t, employee), "attributes", "userName")
			t.SkipIf(res.Status == 400 && !filterable(ctx, t, employee), unanswered)
			t.Require("status of a filter on userType with attributes=userName", 200, res.Status)
			t.Expect("users found", []string{"ada", "cyd"},
				labels(t.Fixture, rest(ctx, t, res, "filter", fill(t, employee), "attributes", "userName")))
		},
	},
	{
		ID:           "filter.password-probing",
		Title:        "A filter does not tell how a password begins",
		Requirements: reqs("RFC7643-4.1.1-13", "RFC7643-7-21"),
		Level:        must,
		Needs:        filters,
		Requests:     8,
		Why:          "Whoever may list users could spell out their passwords letter by letter.",
		Fix:          "Refuse filters on attributes that are never returned; eq against the hash is all that RFC 7643 allows.",
		Run:          filterPasswordProbing,
	},
	{
		ID:           "filter.group-name",
		Title:        "Groups are found by displayName, and by nothing less",
		Requirements: reqs("RFC7644-3.4.2.2-09", "RFC7644-3.4.2.2-03"),
		Level:        must,
		Needs:        needs(conformance.NeedGroup, conformance.NeedWrite, conformance.NeedFilter),
		Requests:     7,
		Why:          "Every push of a group begins with this lookup.",
		Fix:          "Evaluate filters on /Groups as on /Users.",
		Run:          filterGroupName,
	},
	{
		ID:           "filter.group-members",
		Title:        "Groups are found by the id of a member",
		Requirements: reqs("RFC7644-3.4.2.2-50", "RFC7644-3.4.2.2-46"),
		Level:        must,
		Needs:        groupFilters,
		Requests:     9,
		Why:          "Clients ask which groups somebody is in before they change them.",
		Fix:          "Let filters see members, also where they are kept in a table of their own.",
		Run:          filterGroupMembers,
	},
	{
		ID:           "filter.user-groups",
		Title:        "Users are found by the id of a group they are in",
		Requirements: reqs("RFC7644-3.4.2.2-50", "RFC7644-3.4.2.2-46"),
		Level:        should,
		Needs:        groupFilters,
		Requests:     8,
		Why:          "It is the other way to read who is in a group.",
		Fix:          "Let filters on users see groups, or refuse them with 400 invalidFilter.",
		Run:          filterUserGroups,
	},
}

func filterSeesChanges(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "moving", doc{"displayName": t.Prefix() + "before"})
	t.SkipIf(u.Resource.Text("displayName") != t.Prefix()+"before", "the target does not keep displayName as it was sent")
	res := t.Put(ctx, u.Path(), t.User("moving", doc{"displayName": t.Prefix() + "after"}))
	t.SkipIf(!res.OK(), "blocked: the user could not be replaced")
	for name, want := range map[string][]string{"before": nil, "after": {u.ID}} {
		filter := `displayName eq ` + quote(t.Prefix()+name)
		res := t.Get(ctx, "/Users", "filter", filter)
		t.SkipIf(res.Status == 400 && !filterable(ctx, t, filter), unanswered)
		t.Require("status of GET /Users?filter="+filter, 200, res.Status)
		t.Expect("ids found by "+filter+" after the name was changed from before to after", want, res.IDs())
	}
}

func filterSeesRemovals(ctx context.Context, t *T) {
	email := func(name string) doc {
		return doc{"value": t.Prefix() + name + "@example.com", "type": "work"}
	}
	u := t.CreateUser(ctx, "leaving", doc{"emails": []doc{email("stays"), email("goes")}})
	res := t.Put(ctx, u.Path(), t.User("leaving", doc{"emails": []doc{email("stays")}}))
	t.SkipIf(!res.OK() || len(res.Object().Array("emails")) != 1, "blocked: the address could not be removed")
	for name, want := range map[string][]string{"stays": {u.ID}, "goes": nil} {
		filter := `emails.value eq ` + quote(t.Prefix()+name+"@example.com")
		res := t.Get(ctx, "/Users", "filter", filter)
		t.SkipIf(res.Status == 400, "the target declines filters on emails.value")
		t.Require("status of GET /Users?filter="+filter, 200, res.Status)
		t.Expect("ids found by "+filter+" after the address goes was removed", want, res.IDs())
	}
}

func filterPasswordProbing(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "secretive", doc{"password": "Scimconf-Probe-1!"})
	for _, probe := range [][2]string{{`sw "Scimconf-"`, `sw "wrong"`}, {`co "Probe"`, `co "wrong"`}, {`gt "S"`, `lt "S"`}} {
		var found [2]int
		for i, condition := range probe {
			res := t.Get(ctx, "/Users", "filter", `userName eq `+quote(t.UserName("secretive"))+` and password `+condition)
			found[i] = len(res.Resources())
		}
		t.Expect("number of users found by password "+probe[0]+", compared with password "+probe[1]+", for "+u.ID, found[1], found[0])
	}
}

func filterGroupName(ctx context.Context, t *T) {
	g := t.CreateGroup(ctx, "one", nil)
	other := t.CreateGroup(ctx, "one-more", nil)
	named := map[string]*conformance.Created{"one": g, "one-more": other}
	for _, r := range []struct {
		filter string
		want   []string
	}{
		{`displayName eq ` + quote(t.Prefix()+"one"), []string{"one"}},
		{`displayName eq ` + quote(t.Prefix()+"on"), []string{}},
		{`displayName eq ` + quote(t.Prefix()+"one-more") + ` or id eq ` + quote(g.ID), []string{"one", "one-more"}},
	} {
		res := t.Get(ctx, "/Groups", "filter", r.filter)
		if res.Status == 400 && strings.Contains(r.filter, " or ") {
			continue
		}
		t.Require("status of GET /Groups?filter="+r.filter, 200, res.Status)
		t.Expect("groups found by "+r.filter, r.want, labels(named, res.IDs()))
	}
}

func filterGroupMembers(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "inside", nil)
	t.CreateGroup(ctx, "empty", nil)
	g := t.CreateGroup(ctx, "closed", doc{"members": []doc{{"value": u.ID}}})
	members := t.Read(ctx, g.Path(), "attributes", "members").Object()
	t.SkipIf(element(members, "members", "value", u.ID) == nil, "blocked: the group was created without its member")
	answered := false
	for _, filter := range []string{`members.value eq ` + quote(u.ID), `members[value eq ` + quote(u.ID) + `]`} {
		res := t.Get(ctx, "/Groups", "filter", filter)
		if res.Status == 400 || res.Status == 501 {
			t.Note("declined with %d: %s", res.Status, filter)
			continue
		}
		answered = true
		t.Require("status of GET /Groups?filter="+filter, 200, res.Status)
		t.Expect("ids of the groups found by "+filter, []string{g.ID}, res.IDs())
	}
	t.SkipIf(!answered, unanswered)
}

func filterUserGroups(ctx context.Context, t *T) {
	u, other := t.CreateUser(ctx, "inside", nil), t.CreateUser(ctx, "outside", nil)
	g := t.CreateGroup(ctx, "open", doc{"members": []doc{{"value": u.ID}}})
	shown := t.Read(ctx, u.Path(), "attributes", "groups").Object()
	t.SkipIf(element(shown, "groups", "value", g.ID) == nil, "the target does not return the groups of users")
	filter := `groups.value eq ` + quote(g.ID)
	res := t.Get(ctx, "/Users", "filter", filter)
	t.SkipIf(res.Status == 400 || res.Status == 501, "the target declines filters on groups.value")
	t.Require("status of GET /Users?filter="+filter, 200, res.Status)
	named := map[string]*conformance.Created{"inside": u, "outside": other}
	t.Expect("users found by "+filter, []string{"inside"}, labels(named, res.IDs()))
}
