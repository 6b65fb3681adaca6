package checks

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
)

// foreignName contains characters beyond ASCII: composed and combining letters, ideographs, and a character beyond the basic plane.
const foreignName = "Zoë Ångström 東京 🚀"

// findsCreated returns the Run function of a check that creates a user with a displayName and evaluates filters; «P» in a filter is
// replaced by the prefix of the check. wanted states whether the filters must match the user. Other users in the result are ignored. A
// wrong result is not a finding if the target also evaluates the operator wrong for letters of ASCII: see plainFails. If no other filter
// has a result, the check is blocked.
func findsCreated(displayName string, wanted bool, filters ...string) func(context.Context, *T) {
	return func(ctx context.Context, t *T) {
		u := t.CreateUser(ctx, "spelled", doc{"displayName": t.Prefix() + displayName})
		t.SkipIf(u.Resource.Text("displayName") != t.Prefix()+displayName, "the target does not store displayName as sent")
		answered, blocked := false, ""
		for _, filter := range filters {
			filter = strings.ReplaceAll(filter, "«P»", t.Prefix())
			res := t.Get(ctx, "/Users", "filter", filter)
			if res.Declines() && strings.Contains(filter, " ew ") {
				t.Note("rejected with %d: %s", res.Status, filter)
				continue
			}
			t.SkipIf(res.Status == 400 && res.Declines() && !supportsEq(ctx, t, filter), skipUnsupported)
			if res.Status != 200 || slices.Contains(res.IDs(), u.ID) != wanted {
				if blocked = plainFails(ctx, t, filter, wanted); blocked != "" {
					continue
				}
				t.About(res)
			}
			answered = true
			filterRequired(t, res, "GET /Users?filter="+filter)
			t.Holds(slices.Contains(res.IDs(), u.ID) == wanted, "users found by "+filter,
				choose(wanted, "a list with the created user", "a list that lacks the created user"),
				res.IDs())
		}
		t.SkipIf(!answered && blocked != "", "blocked: "+blocked)
	}
}

// plainFails returns a reason if the target evaluates the operator of a filter on displayName wrong even if the displayName and the operand
// consist of letters of ASCII. wanted states whether the filter must match the user. If the reason is not empty, the latest response shows
// it.
func plainFails(ctx context.Context, t *T, filter string, wanted bool) string {
	u := t.CreateUser(ctx, "plain", doc{"displayName": t.Prefix() + "Plain"})
	operand := choose(wanted, "Plain", "Plaice")
	form, control := "displayName eq", "displayName eq "+quote(t.Prefix()+operand)
	if strings.HasPrefix(filter, "displayName ew ") {
		form, control = "displayName ew", "displayName ew "+quote(operand)+" and userName sw "+quote(t.Prefix())
	}
	res := t.Get(ctx, "/Users", "filter", control)
	if res.Status == 200 && slices.Contains(res.IDs(), u.ID) == wanted {
		return ""
	}
	result := ""
	if res.Status == 200 {
		result = choose(slices.Contains(res.IDs(), u.ID), " with", " without") + " the user" + choose(wanted, "", ", whose displayName differs")
	}
	return fmt.Sprintf("GET /Users?filter with %s and a string of ASCII letters returned %d%s", form, res.Status, result)
}

func choose[V any](yes bool, one, other V) V {
	if yes {
		return one
	}
	return other
}

// encoded returns a check of one way to encode a filter in a URL. raw is the value of the query parameter as it is sent.
func encoded(id, title, requirement string, level conformance.Level, raw string) check {
	return check{
		ID:           "filter.encoding-" + id,
		Title:        title,
		Requirements: reqs(requirement),
		Level:        level,
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why: "HTTP libraries encode the same query differently; if the server does not decode one of the forms, clients with that " +
			"library find no user and create duplicates.",
		Fix: "Decode the query exactly once, with the URL functions of the server's platform, before parsing the filter.",
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(!fixtureStored(t, "userName"), "the target does not store userName as sent")
			blockedIfOtherEncodingsFail(ctx, t, raw)
			target := "/Users?filter=" + encodedFilter(t, raw)
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

// blockedIfOtherEncodingsFail blocks the check of one encoding of a filter if the filter in the usual encoding does not find the user. The
// check of the usual encoding is blocked if no other encoding finds the user either: then filter.eq reports the filter.
func blockedIfOtherEncodingsFail(ctx context.Context, t *T, raw string) {
	others := []string{usualEncoding}
	if raw == usualEncoding {
		others = []string{lowerCaseEncoding, lettersEncoding, plusEncoding}
	}
	t.BlockedIf(func() string {
		var last *conformance.Response
		for _, form := range others {
			last = t.Get(ctx, "/Users?filter="+encodedFilter(t, form))
			if last.Status == 200 && slices.Equal(labels(t.Fixture, last.IDs()), []string{"ada"}) {
				return ""
			}
		}
		encoding := choose(raw == usualEncoding, "in every encoding,", "in the encoding that filter.encoding-percent tests,")
		return "GET /Users?filter with the userName of a user, " + encoding + " " + wrongList(last, "users")
	})
}

// encodedFilter replaces the placeholder and the domain in an encoded filter. The domain keeps the encoding of its full stops.
func encodedFilter(t *T, form string) string {
	domain := t.UserDomain()
	return strings.NewReplacer("«P»", url.QueryEscape(peoplePrefix(t)), tableDomain, domain,
		strings.ReplaceAll(tableDomain, ".", "%2e"), strings.ReplaceAll(domain, ".", "%2e")).Replace(form)
}

// usualEncoding is a filter by userName in the encoding that most HTTP libraries use.
const usualEncoding = "userName%20eq%20%22«P»ada%40example.com%22"

// The same filter in other encodings.
const (
	lowerCaseEncoding = "userName%20eq%20%22«P»%61da%40example%2ecom%22"
	lettersEncoding   = "%75ser%4Eame%20%65q%20%22«P»ada@example.com%22"
	plusEncoding      = "userName+eq+%22«P»ada%40example.com%22"
)

// filterValues are checks of filters on values that the check has just written, and of the encoding of filters in URLs.
var filterValues = []check{
	{
		ID:           "filter.unicode",
		Title:        "A filter finds a displayName with characters beyond ASCII, such as 東 and 🚀",
		Requirements: reqs("RFC7643-2.3.1-01", "RFC7644-3.4.2.2-09"),
		Level:        must,
		Needs:        filters,
		Requests:     4,
		Why:          "Clients that do not find a user whose name has letters such as ë or 東 create a duplicate.",
		Fix:          "Decode the query as UTF-8, accept all characters of JSON strings in operands, and compare characters, not bytes.",
		Run:          findsCreated(foreignName, true, `displayName eq "«P»`+foreignName+`"`, `displayName ew "東京 🚀" and userName sw "«P»"`),
	},
	{
		ID:           "filter.unicode-escapes",
		Title:        "Escapes such as \\u00eb in an operand are decoded, including surrogate pairs",
		Requirements: reqs("RFC7644-3.4.2.2-42"),
		Level:        must,
		Needs:        filters,
		Requests:     3,
		Why: "Many clients escape every character beyond ASCII; if the server does not decode the escapes, they find no user and " +
			"create a duplicate.",
		Fix: "Decode the operand with a JSON parser.",
		Run: findsCreated(foreignName, true, `displayName eq "«P»Zo\u00eb \u00C5ngstr\u00f6m \u6771\u4eac \ud83d\ude80"`),
	},
	{
		ID:           "filter.unicode-case",
		Title:        "A filter compares letters beyond ASCII, such as å and Å, case-insensitively",
		Requirements: reqs("RFC7644-3.4.2.2-57"),
		Level:        should,
		Needs:        filters,
		Requests:     3,
		Why:          "A server that folds only the case of ASCII letters does not find Åström by ÅSTRÖM, and the client creates a duplicate.",
		Fix:          "Fold the case of all letters by the rules of Unicode, not only of A to Z.",
		Run:          filterUnicodeCase,
	},
	{
		ID:           "filter.unicode-distinct",
		Title:        "A filter for a name without accents, such as Muller, does not match the name with accents, such as Müller",
		Requirements: reqs("RFC7644-3.4.2.2-09"),
		Level:        should,
		Needs:        filters,
		Requests:     3,
		Why:          "If a filter for Muller also finds Müller, the client links the account of another user.",
		Fix:          "Compare with a collation that ignores case but not accents.",
		Run:          findsCreated("Müller", false, `displayName eq "«P»Muller"`),
	},
	encoded("percent", "A filter with percent-encoded spaces and quotation marks is decoded", percentEncoded, must, usualEncoding),
	encoded("lower-case", "Percent-encoding with lower-case hexadecimal digits is decoded", percentEncoded, must, lowerCaseEncoding),
	encoded("letters", "Letters that need no encoding may be percent-encoded", percentEncoded, must, lettersEncoding),
	encoded("plus", "A plus sign in the query represents a space", percentEncoded, may, plusEncoding),
	{
		ID:           "filter.encoding-reserved",
		Title:        "Filters find values with reserved characters of URLs, if these are percent-encoded",
		Requirements: reqs(percentEncoded, "RFC7644-3.4.2.2-42"),
		Level:        must,
		Needs:        filters,
		Requests:     3,
		Why: "Email addresses contain plus signs, and names contain ampersands. If a lookup does not find them, the client creates a " +
			"duplicate.",
		Fix: "Split the query at & and =, then decode each name and each value exactly once.",
		Run: findsCreated("a+b&c=d/e?f#g;h%41", true, `displayName eq "«P»a+b&c=d/e?f#g;h%41"`),
	},
	{
		ID:           "filter.sees-changes",
		Title:        "After a PUT that changes displayName, a filter finds the user by the new displayName and not by the old one",
		Requirements: reqs("RFC7644-3.4.2.2-03", "RFC7644-3.4.2.2-09"),
		Level:        must,
		Needs:        filters,
		Requests:     6,
		Why:          "A client that does not find a renamed account by its new name creates a duplicate.",
		Fix:          "Update the filter index together with the resource.",
		Run:          filterSeesChanges,
	},
	{
		ID:           "filter.sees-removals",
		Title:        "After a PUT that removes an email address, a filter does not find the user by this address",
		Requirements: reqs("RFC7644-3.4.2.2-03", "RFC7644-3.4.2.2-16"),
		Level:        must,
		Needs:        filters,
		Requests:     6,
		Why:          "A client that selects users by a department changes users who have left it.",
		Fix:          "Remove deleted values from the filter index.",
		Run:          filterSeesRemovals,
	},
	{
		ID:           "filter.not-shown",
		Title:        "A filter on an attribute that the attributes parameter does not name finds the users that match",
		Requirements: reqs("RFC7644-3.4.2.2-03", "RFC7644-3.9-02"),
		Level:        must,
		Needs:        filters,
		Fixture:      people,
		Requests:     1,
		Why: "Clients filter by one attribute and request only another; if the server filters the reduced resources, they get no " +
			"user or all users.",
		Fix: "Evaluate the filter on the whole resource, before attributes and excludedAttributes reduce the response.",
		Run: func(ctx context.Context, t *T) {
			t.SkipIf(!fixtureStored(t, "userType"), "the target does not store userType as sent")
			blockedIfEmployeesNotFound(ctx, t)
			res := t.Get(ctx, "/Users", "filter", expand(t, employee), "attributes", "userName")
			t.SkipIf(res.Status == 400 && res.Declines() && !supportsEq(ctx, t, employee), skipUnsupported)
			filterRequired(t, res, "GET /Users with a filter on userType and attributes=userName")
			t.Expect("users found", []string{"ada", "cyd"},
				labels(t.Fixture, allIDs(ctx, t, res, "filter", expand(t, employee), "attributes", "userName")))
		},
	},
	{
		ID:           "filter.password-probing",
		Title:        "Filters do not reveal parts of a password",
		Requirements: reqs("RFC7643-4.1.1-13", "RFC7643-7-21"),
		Level:        interop,
		Needs:        filters,
		Requests:     8,
		Why:          "A client that may list users could determine their passwords character by character.",
		Fix: "Return 400 for filters on attributes that are never returned, such as password. RFC 7643 section 4.1.1 names only a comparison " +
			"for equality, for which the server compares the hash of the operand with the stored hash.",
		Run: filterPasswordProbing,
	},
	{
		ID:           "filter.group-name",
		Title:        "A filter on displayName of groups matches only the whole name",
		Requirements: reqs("RFC7644-3.4.2.2-09", "RFC7644-3.4.2.2-03"),
		Level:        must,
		Needs:        needs(conformance.NeedGroup, conformance.NeedWrite, conformance.NeedFilter),
		Requests:     7,
		Why:          "Clients look up a group by name before they create it; after a partial match, they link the wrong group.",
		Fix:          "Compare the whole displayName with the operand, in the same way as attributes of users.",
		Run:          filterGroupName,
	},
	{
		ID:           "filter.group-members",
		Title:        "Groups are found by the id of a member",
		Requirements: reqs("RFC7644-3.4.2.2-50", "RFC7644-3.4.2.2-46"),
		Level:        must,
		Needs:        groupFilters,
		Requests:     9,
		Why: "Clients determine the groups of a user with this filter; if a group is missing, they do not remove the user from it, " +
			"and the access remains.",
		Fix: "Support members in filters, even if they are stored in a separate table. A group without members does not match, and must not " +
			"cause an error.",
		Run: filterGroupMembers,
	},
	{
		ID:           "filter.reference-name",
		Title:        "A filter with eq on members.$ref finds the groups of a member",
		Requirements: reqs("RFC7644-3.4.2.2-49"),
		Level:        should,
		Needs:        groupFilters,
		Requests:     9,
		Why: "Clients that store the URI of a user search for the groups of the user by members.$ref; " +
			"after an error, they read all groups.",
		Fix: "Accept $ref as a name in the parser of filters. The reported erratum 8924 of RFC 7644 adds it to the grammar.",
		Run: filterReferenceName,
	},
	{
		ID:           "filter.user-groups",
		Title:        "A filter on groups.value or groups.display finds the members of a group, or is rejected",
		Requirements: reqs("RFC7644-3.4.2.2-50", "RFC7644-3.4.2.2-46"),
		Level:        should,
		Needs:        groupFilters,
		Requests:     9,
		Why: "Clients read the members of a group with this filter; after a wrong result, they treat users outside the group as " +
			"members.",
		Fix: "Support groups in filters on users, or reject them with 400 invalidFilter.",
		Run: filterUserGroups,
	},
}

func filterUnicodeCase(ctx context.Context, t *T) {
	t.SkipIf(isCaseExact(t, "displayName"), "the schema describes displayName as caseExact")
	const name = "Åström Çelik"
	u := t.CreateUser(ctx, "spelled", doc{"displayName": t.Prefix() + name})
	t.SkipIf(u.Resource.Text("displayName") != t.Prefix()+name, "the target does not store displayName as sent")
	found := func(operand string) (*conformance.Response, string) {
		filter := "displayName eq " + quote(t.Prefix()+operand)
		return t.Get(ctx, "/Users", "filter", filter), filter
	}
	res, filter := found("ÅSTRÖM ÇELIK")
	t.SkipIf(res.Status == 400 && res.Declines() && !supportsEq(ctx, t, filter), skipUnsupported)
	if !slices.Contains(res.IDs(), u.ID) {
		for _, control := range []struct{ operand, reason string }{
			{name, "the target does not find the value as it was written: see filter.unicode"},
			{"ÅSTRöM ÇELIK", "the target is case-sensitive for ASCII letters too: see filter.case-insensitive-values"},
		} {
			equal, _ := found(control.operand)
			t.SkipIf(equal.Status == res.Status && !slices.Contains(equal.IDs(), u.ID), control.reason)
		}
		t.About(res)
	}
	filterRequired(t, res, "GET /Users?filter="+filter)
	t.Holds(slices.Contains(res.IDs(), u.ID), "users found by "+filter, "a list with the created user", res.IDs())
}

func filterSeesChanges(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "moving", doc{"displayName": t.Prefix() + "before"})
	t.SkipIf(u.Resource.Text("displayName") != t.Prefix()+"before", "the target does not store displayName as sent")
	skipUnlessFound(ctx, t, u.ID, `displayName eq `+quote(t.Prefix()+"before"))
	res := t.Put(ctx, u.Path(), t.User("moving", doc{"displayName": t.Prefix() + "after"}))
	t.SkipIf(!res.OK(), "blocked: displayName could not be changed by PUT")
	for name, want := range byName(map[string][]string{"before": nil, "after": {u.ID}}) {
		filter := `displayName eq ` + quote(t.Prefix()+name)
		res := t.Get(ctx, "/Users", "filter", filter)
		filterRequired(t, res, "GET /Users?filter="+filter)
		t.Expect("ids found by "+filter+" after displayName was changed to "+quote(t.Prefix()+"after"), want, res.IDs())
	}
}

// skipUnlessFound skips the check if the filter does not find the user before the change: then the response after the change shows nothing
// about this change.
func skipUnlessFound(ctx context.Context, t *T, id, filter string) {
	res := t.Get(ctx, "/Users", "filter", filter)
	t.SkipIf(res.Declines() && (res.Status == 501 || !supportsEq(ctx, t, filter)), skipUnsupported)
	t.SkipIf(!res.OK(), fmt.Sprintf("blocked: GET /Users?filter=%s returned %d before the change", filter, res.Status))
	t.SkipIf(!slices.Contains(res.IDs(), id), "blocked: GET /Users?filter="+filter+" did not find the user before the change")
}

func filterSeesRemovals(ctx context.Context, t *T) {
	email := func(name, kind string) doc { return doc{"value": inDomain(t, t.Prefix()+name), "type": kind} }
	u := t.CreateUser(ctx, "leaving", doc{"emails": []doc{email("stays", "work"), email("goes", "home")}})
	skipUnlessFound(ctx, t, u.ID, `emails.value eq `+quote(inDomain(t, t.Prefix()+"goes")))
	res := t.Put(ctx, u.Path(), t.User("leaving", doc{"emails": []doc{email("stays", "work")}}))
	t.SkipIf(!res.OK() || len(res.Object().Array("emails")) != 1, "blocked: one of two email addresses could not be removed by PUT")
	for name, want := range byName(map[string][]string{"stays": {u.ID}, "goes": nil}) {
		filter := `emails.value eq ` + quote(inDomain(t, t.Prefix()+name))
		res := t.Get(ctx, "/Users", "filter", filter)
		filterRequired(t, res, "GET /Users?filter="+filter)
		t.Expect("ids found by "+filter+" after the removal of "+inDomain(t, t.Prefix()+"goes"), want, res.IDs())
	}
}

func filterPasswordProbing(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "secretive", doc{"password": "Scimconf-Probe-1!"})
	for _, probe := range [][2]string{{`sw "Scimconf-"`, `sw "wrong"`}, {`co "Probe"`, `co "wrong"`}, {`gt "S"`, `lt "S"`}} {
		var found [2]int
		var answers [2]*conformance.Response
		for i, condition := range probe {
			answers[i] = t.Get(ctx, "/Users", "filter", `userName eq `+quote(t.UserName("secretive"))+` and password `+condition)
			found[i] = len(answers[i].Resources())
		}
		t.About(answers[0])
		t.Expect("number of users found by password "+probe[0]+", compared with password "+probe[1]+", for "+u.ID, found[1], found[0])
	}
}

func filterGroupName(ctx context.Context, t *T) {
	g := t.CreateGroup(ctx, "one", nil)
	other := t.CreateGroup(ctx, "one-more", nil)
	named := map[string]*conformance.Created{"one": g, "one-more": other}
	namesRight := true
	byID, byOtherName := "id eq "+quote(g.ID), "displayName eq "+quote(t.Prefix()+"one-more")
	for _, r := range []struct {
		filter string
		want   []string
	}{
		{`displayName eq ` + quote(t.Prefix()+"one"), []string{"one"}},
		{`displayName eq ` + quote(t.Prefix()+"on"), []string{}},
		{byOtherName + " or " + byID, []string{"one", "one-more"}},
	} {
		res := t.Get(ctx, "/Groups", "filter", r.filter)
		joined := strings.Contains(r.filter, " or ")
		if joined && res.Declines() {
			continue
		}
		if joined && namesRight {
			blockedIfGroupNotFound(ctx, t, byID, g)
			blockedIfGroupNotFound(ctx, t, byOtherName, other)
		}
		filterRequired(t, res, "GET /Groups?filter="+r.filter)
		namesRight = t.Expect("groups found by "+r.filter, r.want, labels(named, res.IDs())) && namesRight
	}
}

// blockedIfGroupNotFound blocks the check of a filter with a logical operator if one of its conditions alone does not find exactly a group.
func blockedIfGroupNotFound(ctx context.Context, t *T, condition string, g *conformance.Created) {
	t.BlockedIf(func() string {
		res := t.Get(ctx, "/Groups", "filter", condition)
		if res.Status == 200 && slices.Equal(res.IDs(), []string{g.ID}) {
			return ""
		}
		attribute, _, _ := strings.Cut(condition, " ")
		return "GET /Groups?filter, with only a condition on " + attribute + ", " + wrongList(res, "groups")
	})
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
		if res.Declines() {
			t.Note("rejected with %d: %s", res.Status, filter)
			continue
		}
		answered = true
		blockedIfAbsentFails(ctx, t, res)
		filterRequired(t, res, "GET /Groups?filter="+filter)
		t.Expect("ids of the groups found by "+filter, []string{g.ID}, res.IDs())
	}
	t.SkipIf(!answered, skipUnsupported)
}

func filterReferenceName(ctx context.Context, t *T) {
	u := t.CreateUser(ctx, "inside", nil)
	t.CreateGroup(ctx, "empty", nil)
	g := t.CreateGroup(ctx, "referring", doc{"members": memberList(u.ID)})
	ref := element(t.Read(ctx, g.Path(), "attributes", "displayName,members").Object(), "members", "value", u.ID).Text("$ref")
	t.SkipIf(ref == "", "the target does not return $ref of members")
	res := t.Get(ctx, "/Groups", "filter", `members.value eq `+quote(u.ID))
	t.SkipIf(res.Declines(), "the target rejects filters on members.value")
	filterRequired(t, res, "GET /Groups with a filter on members.value")
	filter := `members.$ref eq ` + quote(ref)
	res = t.Get(ctx, "/Groups", "filter", filter)
	t.Require("status of GET /Groups?filter="+filter+", while a filter on members.value is accepted", 200, res.Status)
	t.Expect("ids of the groups found by "+filter, []string{g.ID}, res.IDs())
}

func filterUserGroups(ctx context.Context, t *T) {
	u, other := t.CreateUser(ctx, "inside", nil), t.CreateUser(ctx, "outside", nil)
	g := t.CreateGroup(ctx, "open", doc{"members": []doc{{"value": u.ID}}})
	shown := t.Read(ctx, u.Path(), "attributes", "groups").Object()
	t.SkipIf(element(shown, "groups", "value", g.ID) == nil, "the target does not return the groups of users")
	filters := []string{`groups.value eq ` + quote(g.ID)}
	if display := element(shown, "groups", "value", g.ID).Text("display"); display != "" {
		filters = append(filters, `groups.display eq `+quote(display))
	}
	named := map[string]*conformance.Created{"inside": u, "outside": other}
	answered := false
	for _, filter := range filters {
		res := t.Get(ctx, "/Users", "filter", filter)
		if res.Declines() {
			t.Note("rejected with %d: %s", res.Status, filter)
			continue
		}
		answered = true
		filterRequired(t, res, "GET /Users?filter="+filter)
		t.Expect("users found by "+filter, []string{"inside"}, labels(named, res.IDs()))
	}
	t.SkipIf(!answered, skipUnsupported)
}
