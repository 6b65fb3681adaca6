package checks

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// people is the set of users that filters are evaluated on. The expected results of the rows were derived by hand from this table:
//
//	label  displayName    title             userType     nickName  active  emails                       externalId
//	ada    P Ada          P Engineer        P Employee   50% off   true    work ada.w, home ada.h       P-Ext-A
//	bob    P Bob          P ENGINEER        P Contract             false   work bob.w                   P-ext-a
//	cyd    P Cyd          P Chief Engineer  P Employee   50 of 9   true    (none)
//	dan    P Dan          P Engineering     P Employee2            true    home dan.w, work dan.h       P-Ext-D
//	eve    P "Eve" \ P    (none)            (none)                 false   work eve.w
//
// where P is the prefix of the fixture, and an address such as ada.w is short for P + "ada.w@" + D. The userName of a user is
// P + label + "@" + D; that of eve is P + "not-" + P + "ada@" + D, which contains the userName of ada. D is the domain of the run. The
// tables write tableDomain in its place.
var people = &conformance.Fixture{
	Name:     "people",
	Requests: 10,
	Build:    func(ctx context.Context, t *T) map[string]*conformance.Created { return buildPeople(ctx, t, nil) },
	Equal:    equal("peers", 10, "profileUrl", buildPeople),
}

// equal returns a fixture whose users have the same value of one attribute: the address that ends with the prefix of the fixture. If a
// filter by this value does not find exactly these users, the fixture is not built.
func equal(name string, requests int, attribute string,
	build func(context.Context, *T, doc) map[string]*conformance.Created) *conformance.Fixture {
	return &conformance.Fixture{
		Name:     name,
		Requests: requests + 1,
		Build: func(ctx context.Context, t *T) map[string]*conformance.Created {
			common := commonAddress + t.Prefix()
			out := build(ctx, t, doc{attribute: common})
			res := t.Get(ctx, "/Users", "filter", attribute+" eq "+quote(common), "count", "200")
			t.SkipIf(res.Total() != len(out), "a filter by "+attribute+" does not find the users of the fixture")
			return out
		},
	}
}

// commonAddress is the start of the value that all users of a fixture have in common.
const commonAddress = "https://example.com/common/"

// buildPeople builds the fixture people. Every user has the attributes of common.
func buildPeople(ctx context.Context, t *T, common doc) map[string]*conformance.Created {
	p := t.Prefix()
	create := func(label string, extra doc) *conformance.Created {
		maps.Copy(extra, common)
		return t.CreateUser(ctx, label, extra)
	}
	email := func(kind, name string) doc { return doc{"type": kind, "value": inDomain(t, p+name)} }
	return map[string]*conformance.Created{
		"ada": create("ada", doc{
			"displayName": p + " Ada", "title": p + " Engineer", "userType": p + " Employee", "nickName": p + " 50% off", "active": true,
			"externalId": p + "Ext-A",
			"name":       doc{"givenName": p + " Ada", "familyName": p + " Lovelace"},
			"emails":     []doc{email("work", "ada.w"), email("home", "ada.h")},
		}),
		"bob": create("bob", doc{
			"displayName": p + " Bob", "title": p + " ENGINEER", "userType": p + " Contract", "active": false, "externalId": p + "ext-a",
			"name": doc{"givenName": p + " Bob", "familyName": p + " Babbage"}, "emails": []doc{email("work", "bob.w")},
		}),
		"cyd": create("cyd", doc{
			"displayName": p + " Cyd", "title": p + " Chief Engineer", "userType": p + " Employee", "nickName": p + " 50 of 9", "active": true,
			"name": doc{"givenName": p + " Cyd", "familyName": p + " Charisse"}, "emails": omit,
		}),
		"dan": create("dan", doc{
			"displayName": p + " Dan", "title": p + " Engineering", "userType": p + " Employee2", "active": true, "externalId": p + "Ext-D",
			"name": doc{"givenName": p + " Dan", "familyName": p + " Ingalls"}, "emails": []doc{email("home", "dan.w"), email("work", "dan.h")},
		}),
		"eve": create("eve", doc{
			"userName": inDomain(t, p+"not-"+p+"ada"), "displayName": p + ` "Eve" \ ` + p, "active": false,
			"name": doc{"givenName": p + " Eve", "familyName": p + " Online"}, "emails": []doc{email("work", "eve.w")},
		}),
	}
}

// staff is a second set of users, with attributes that not every target stores:
//
//	label  displayName  nickName  profileUrl      emails                               department  manager
//	fin    P delta      P Fi      https…/P/fin    work m.fin (primary)                 P Research
//	gus    P Bravo                https…/P/gus    home a.gus, work z.gus (primary)     P Sales     fin
//	hal    P alpha      P Ha      https…/P/hal/x  work k.hal                           P RESEARCH  fin
//	ivy    P Charlie                              (none)
//	jon    P ECHO                                 other c.jon, work y.jon              P Research2
//
// Department and manager belong to the enterprise extension, and are sent only to targets whose User type has it.
var staff = &conformance.Fixture{
	Name:     "staff",
	Requests: 10,
	Build:    func(ctx context.Context, t *T) map[string]*conformance.Created { return buildStaff(ctx, t, nil) },
	Equal:    equal("colleagues", 10, "title", buildStaff),
}

// buildStaff builds the fixture staff. Every user has the attributes of common.
func buildStaff(ctx context.Context, t *T, common doc) map[string]*conformance.Created {
	p := t.Prefix()
	out := map[string]*conformance.Created{}
	email := func(kind, name string) doc { return doc{"type": kind, "value": inDomain(t, p+name)} }
	primary := func(kind, name string) doc {
		return doc{"type": kind, "value": inDomain(t, p+name), "primary": true}
	}
	add := func(label string, extra, enterprise doc) {
		extra["name"] = doc{"givenName": p + " " + label, "familyName": p + " Staff"}
		if enterprise != nil && t.Capabilities.Extended() {
			extra["schemas"] = []string{scim.UserSchema, scim.EnterpriseUserSchema}
			extra[scim.EnterpriseUserSchema] = enterprise
		}
		maps.Copy(extra, common)
		out[label] = t.CreateUser(ctx, label, extra)
	}
	page := "https://example.com/" + p + "/"
	add("fin", doc{"displayName": p + " delta", "nickName": p + " Fi", "profileUrl": page + "fin", "emails": []doc{primary("work", "m.fin")}},
		doc{"department": p + " Research", "employeeNumber": p + "701"})
	manager := doc{"value": out["fin"].ID}
	add("gus",
		doc{"displayName": p + " Bravo", "profileUrl": page + "gus", "emails": []doc{email("home", "a.gus"), primary("work", "z.gus")}},
		doc{"department": p + " Sales", "employeeNumber": p + "702", "manager": manager})
	add("hal", doc{"displayName": p + " alpha", "nickName": p + " Ha", "profileUrl": page + "hal/x", "emails": []doc{email("work", "k.hal")}},
		doc{"department": p + " RESEARCH", "employeeNumber": p + "703", "manager": manager})
	add("ivy", doc{"displayName": p + " Charlie", "emails": omit}, nil)
	add("jon", doc{"displayName": p + " ECHO", "emails": []doc{email("other", "c.jon"), email("work", "y.jon")}},
		doc{"department": p + " Research2"})
	return out
}

// A row is one filter and the objects of the fixture that it must match; it must not match other objects of the fixture. In the filter, «P»
// is replaced by the prefix of the fixture, «label» by the id of the object with this label, and «label-» by that id without its last
// character.
type row struct {
	filter string
	want   string // labels in alphabetical order
}

// skipUnsupported is the reason of a check that is skipped because the target evaluates none of its filters.
const skipUnsupported = "the target rejects these filters with 400 invalidFilter or 501, as RFC 7644 permits, or does not store their " +
	"attributes as sent"

// skipUnselected ends the check if the response to the filter that selects the check's objects is not 200: the target may reject the
// filter, as RFC 7644 permits. Any other status is a fault that the check of the filter's operator reports, and blocks the check.
func skipUnselected(t *T, res *conformance.Response, filter string) {
	t.SkipIf(res.Declines(), skipUnsupported)
	operator := strings.Fields(filter)[1]
	t.About(res)
	t.SkipIf(res.Status != 200, "blocked: "+res.Name+" with the filter by "+operator+" that selects the objects of the check returned "+
		strconv.Itoa(res.Status)+" (filter."+operator+")")
}

// rows returns the Run function of a check that evaluates filters on its fixture. If required is false, a rejection with 400 or 501 is not
// a finding, because support for most filters is optional. If required is true, such a rejection is a finding, except a 400 for a filter on
// an attribute for which [supportsEq] returns false.
func rows(required bool, table ...row) func(context.Context, *T) {
	return func(ctx context.Context, t *T) {
		answered := 0
		for _, r := range table {
			if evaluate(ctx, t, r, required) {
				answered++
			}
		}
		t.SkipIf(answered == 0, skipUnsupported)
	}
}

// evaluate sends the filter of a row, and compares the users found with those of the row. It returns false if it sent no request, or if the
// target rejected the filter as permitted; see [rows].
func evaluate(ctx context.Context, t *T, r row, required bool) bool {
	if name := unstoredAttribute(t, r.filter); name != "" {
		t.Note("not sent, because the target does not store %s as sent: %s", name, r.filter)
		return false
	}
	blockedIfOperatorFails(ctx, t, r.filter)
	blockedIfConditionFails(ctx, t, r.filter)
	filter := expand(t, r.filter)
	res := t.Get(ctx, "/Users", "filter", filter, "count", "200")
	if rest, ok := strings.CutPrefix(r.filter, scope); ok && !res.OK() && t.RejectsPrefixes() && singleEq.MatchString(rest) {
		filter = expand(t, rest)
		res = t.Get(ctx, "/Users", "filter", filter, "count", "200")
		t.SkipIf(res.Total() > maxWalk, "the filter also matches other users, and more than the check reads")
	}
	if res.Declines() && (!required || res.Status == 400 && !supportsEq(ctx, t, filter)) {
		t.Note("rejected with %d: %s", res.Status, filter)
		return false
	}
	if !filterServed(t, res, "GET /Users?filter="+filter) {
		if match := comparison.FindStringSubmatch(strings.TrimPrefix(r.filter, scope)); match != nil && subAttribute.MatchString(match[1]) {
			blockedIfAbsentFails(ctx, t, res)
		}
		return true
	}
	want, got := sorted(strings.Fields(r.want)...), labels(t.Fixture, allIDs(ctx, t, res, "filter", filter, "count", "200"))
	t.Expect("users found by "+filter+sentValues(t, filterAttributes(r.filter), differing(want, got)...), want, got)
	return true
}

// filterServed expects that a filter that the target did not decline, see [conformance.Response.Declines], has status 200. The argument
// request describes the request.
func filterServed(t *T, res *conformance.Response, request string) bool {
	t.About(res)
	what := "status of " + request
	switch kind := res.ScimType(); {
	case res.Status == 400 && kind != "" && kind != "invalidFilter":
		return t.Holds(false, what, "200, or 400 with scimType invalidFilter", "400 with scimType "+kind)
	case res.Status == 400 && res.ServedBefore():
		return t.Holds(false, what, "200, as for the same filter with other operands", res.Status)
	}
	return t.Expect(what, 200, res.Status)
}

// filterRequired is filterServed, but ends the check if the status is not 200.
func filterRequired(t *T, res *conformance.Response, request string) {
	if !filterServed(t, res, request) {
		t.Stop()
	}
}

// subAttribute matches the name of a sub-attribute of the core schema in a filter.
var subAttribute = regexp.MustCompile(`^\w+\.[\w$]+$`)

// singleEq matches a filter with one comparison by eq.
var singleEq = regexp.MustCompile(`^[\w:.$-]+ eq \S.*$`)

// supportsEq reports whether the target evaluates eq on the first attribute of a filter. RFC 7644 table 9 permits 400 invalidFilter for a
// combination of attribute and operator that the target does not support. For userName, the result is always true: every target has to
// support lookups by userName.
func supportsEq(ctx context.Context, t *T, filter string) bool {
	attribute, _, _ := strings.Cut(strings.TrimLeft(filter, "( "), " ")
	if scim.EqualName(attribute, "userName") {
		return true
	}
	res := t.Get(ctx, "/Users", "filter", attribute+` eq "scimconf-nobody"`, "count", "1")
	return res.Status != 400 || res.ScimType() != "invalidFilter"
}

// expectNoMatch sends a filter that must match none of the fixture's objects; a rejection with 400 or 501 is accepted too.
func expectNoMatch(ctx context.Context, t *T, filter string) {
	filter = expand(t, filter)
	res := t.Get(ctx, "/Users", "filter", filter, "count", "200")
	if res.Status == 400 || res.Status == 501 {
		return
	}
	t.Must(res.Status == 200, "status of GET /Users?filter="+filter, "200 or 400", res.Status)
	got := labels(t.Fixture, allIDs(ctx, t, res, "filter", filter, "count", "200"))
	t.Expect("users found by "+filter+sentValues(t, filterAttributes(filter), got...), []string{}, got)
}

// tableDomain is the domain in the tables of filters. [expand] replaces it with the domain of the run.
const tableDomain = "example.com"

// inDomain returns the address of a name in the domain of the run.
func inDomain(t *T, name string) string { return name + "@" + t.UserDomain() }

// expand replaces the placeholders and the domain in the filter of a [row].
func expand(t *T, filter string) string {
	pairs := []string{"«P»", peoplePrefix(t), "@" + tableDomain, inDomain(t, "")}
	for label, o := range t.Fixture {
		pairs = append(pairs, "«"+label+"»", o.ID, "«"+label+"-»", o.ID[:len(o.ID)-1])
	}
	return strings.NewReplacer(pairs...).Replace(filter)
}

// allIDs is allIDsOf for users.
func allIDs(ctx context.Context, t *T, first *conformance.Response, query ...string) []string {
	return allIDsOf(ctx, t, "/Users", first, query...)
}

// allIDsOf follows the pages of a list after the first one and returns all ids: a target may return smaller pages than requested, and it
// may page by cursor if the request has no paging parameter (RFC 9865 section 2.3).
func allIDsOf(ctx context.Context, t *T, endpoint string, first *conformance.Response, query ...string) []string {
	ids := first.IDs()
	for page := first; len(page.IDs()) > 0 && len(ids) < maxWalk; ids = append(ids, page.IDs()...) {
		next := page.Object().Text("nextCursor")
		switch {
		case next != "":
			page = t.Get(ctx, endpoint, append([]string{"cursor", next}, query...)...)
		case len(ids) < page.Total():
			page = t.Get(ctx, endpoint, append([]string{"startIndex", strconv.Itoa(len(ids) + 1)}, query...)...)
		default:
			return ids
		}
	}
	return ids
}

// peoplePrefix returns the prefix P of the values of the fixture.
func peoplePrefix(t *T) string {
	for label, o := range t.Fixture {
		name, _ := o.Sent["userName"].(string)
		if prefix, ok := strings.CutSuffix(name, inDomain(t, label)); ok {
			return prefix
		}
	}
	return ""
}

var (
	filterText = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	filterURN  = regexp.MustCompile(`(?i)urn:[\w:.-]*:`)
	filterName = regexp.MustCompile(`[A-Za-z]\w*`)
)

// unstoredAttribute returns the name of an attribute in a filter that the target does not store as sent, or for which the target sets its
// own value; "" if the filter has no such attribute. The result of a filter on such an attribute cannot be predicted. The checks of the
// areas create and read report the difference.
func unstoredAttribute(t *T, filter string) string {
	bare := filterText.ReplaceAllString(filter, "")
	names := filterName.FindAllString(filterURN.ReplaceAllString(bare, ""), -1)
	if strings.Contains(strings.ToLower(bare), strings.ToLower(scim.EnterpriseUserSchema)) {
		names = append(names, scim.EnterpriseUserSchema)
	}
	for _, name := range names {
		if !fixtureStored(t, name) {
			return name
		}
	}
	return ""
}

// fixtureStored reports whether the target stored an attribute of the fixture as sent: the response to each POST contains the value that
// was sent, and omits the attribute if none was sent. For a name that no object of the fixture has, the result is true.
func fixtureStored(t *T, name string) bool {
	sent := false
	for _, o := range t.Fixture {
		sent = sent || slices.ContainsFunc(names(o.Sent), func(n string) bool { return scim.EqualName(n, name) })
	}
	if !sent {
		return true
	}
	for _, o := range t.Fixture {
		want := any(nil)
		for n, v := range o.Sent {
			if scim.EqualName(n, name) {
				want = v
			}
		}
		got, _ := o.Resource.Get(name)
		if !containsSent(got, want) {
			return false
		}
	}
	return true
}

func names(d doc) []string {
	var out []string
	for name := range d {
		out = append(out, name)
	}
	return out
}

// containsSent reports whether the value got, from a response, contains the value want, which was sent. An object must contain each member
// of want, and may contain others. An array must have as many elements as want, and contain each of them. If want is nil, got must be nil
// or an empty array.
func containsSent(got, want any) bool {
	switch want := want.(type) {
	case nil:
		list, isList := got.([]any)
		return got == nil || isList && len(list) == 0
	case doc:
		o, ok := got.(*scim.Object)
		for name, v := range want {
			member, _ := o.Get(name)
			ok = ok && containsSent(member, v)
		}
		return ok
	case []doc:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return false
		}
		return !slices.ContainsFunc(want, func(v doc) bool {
			return !slices.ContainsFunc(list, func(element any) bool { return containsSent(element, v) })
		})
	default:
		v, err := scim.Value(want)
		return err == nil && (scim.Equal(v, got) || sameSet(v, got))
	}
}

// sameSet reports whether two arrays contain the same elements in any order, for example two values of schemas.
func sameSet(a, b any) bool {
	one, ok1 := a.([]any)
	two, ok2 := b.([]any)
	return ok1 && ok2 && len(one) == len(two) && !slices.ContainsFunc(one, func(v any) bool {
		return !slices.ContainsFunc(two, func(w any) bool { return scim.Equal(v, w) })
	})
}

// filters are the needs of every check on the fixture people.
var filters = needs(conformance.NeedUser, conformance.NeedWrite, conformance.NeedFilter)

// scope restricts a filter that matches nearly every user to the users of the fixture.
const scope = `userName sw "«P»" and `
