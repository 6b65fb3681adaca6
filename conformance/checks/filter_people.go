package checks

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// people is the known set that filters are put to. What the rows below expect was worked out by hand from this table:
//
//	label  displayName    title             userType     nickName  active  emails                       externalId
//	ada    P Ada          P Engineer        P Employee   50% off   true    work ada.w, home ada.h       P-Ext-A
//	bob    P Bob          P ENGINEER        P Contract             false   work bob.w                   P-ext-a
//	cyd    P Cyd          P Chief Engineer  P Employee   50 of 9   true    (none)
//	dan    P Dan          P Engineering     P Employee2            true    home dan.w, work dan.h       P-Ext-D
//	eve    P "Eve" \ P    (none)            (none)                 false   work eve.w
//
// where P is the prefix of the fixture and an address such as ada.w stands for P + "ada.w@example.com". The userNames are
// P + label + "@example.com", but eve's contains ada's.
var people = &conformance.Fixture{
	Name:     "people",
	Requests: 10,
	Build: func(ctx context.Context, t *T) map[string]*conformance.Created {
		p := t.Prefix()
		email := func(kind, name string) doc { return doc{"type": kind, "value": p + name + "@example.com"} }
		return map[string]*conformance.Created{
			"ada": t.CreateUser(ctx, "ada", doc{
				"displayName": p + " Ada", "title": p + " Engineer", "userType": p + " Employee", "nickName": p + " 50% off", "active": true,
				"externalId": p + "Ext-A",
				"name":       doc{"givenName": p + " Ada", "familyName": p + " Lovelace"},
				"emails":     []doc{email("work", "ada.w"), email("home", "ada.h")},
			}),
			"bob": t.CreateUser(ctx, "bob", doc{
				"displayName": p + " Bob", "title": p + " ENGINEER", "userType": p + " Contract", "active": false, "externalId": p + "ext-a",
				"name": doc{"givenName": p + " Bob", "familyName": p + " Babbage"}, "emails": []doc{email("work", "bob.w")},
			}),
			"cyd": t.CreateUser(ctx, "cyd", doc{
				"displayName": p + " Cyd", "title": p + " Chief Engineer", "userType": p + " Employee", "nickName": p + " 50 of 9", "active": true,
				"name": doc{"givenName": p + " Cyd", "familyName": p + " Charisse"}, "emails": omit,
			}),
			"dan": t.CreateUser(ctx, "dan", doc{
				"displayName": p + " Dan", "title": p + " Engineering", "userType": p + " Employee2", "active": true, "externalId": p + "Ext-D",
				"name": doc{"givenName": p + " Dan", "familyName": p + " Ingalls"}, "emails": []doc{email("home", "dan.w"), email("work", "dan.h")},
			}),
			"eve": t.CreateUser(ctx, "eve", doc{
				"userName": p + "not-" + p + "ada@example.com", "displayName": p + ` "Eve" \ ` + p, "active": false,
				"name": doc{"givenName": p + " Eve", "familyName": p + " Online"}, "emails": []doc{email("work", "eve.w")},
			}),
		}
	},
}

// staff is a second known set, for what not every target keeps:
//
//	label  displayName  nickName  profileUrl      emails                               department  manager
//	fin    P delta      P Fi      https…/P/fin    work m.fin (primary)                 P Research
//	gus    P Bravo                https…/P/gus    home a.gus, work z.gus (primary)     P Sales     fin
//	hal    P alpha      P Ha      https…/P/hal/x  work k.hal                           P RESEARCH  fin
//	ivy    P Charlie                              (none)
//	jon    P ECHO                                 other c.jon, work y.jon              P Research2
//
// Department and manager are the enterprise extension's, and sent only to targets whose users carry it.
var staff = &conformance.Fixture{
	Name:     "staff",
	Requests: 10,
	Build: func(ctx context.Context, t *T) map[string]*conformance.Created {
		p := t.Prefix()
		out := map[string]*conformance.Created{}
		email := func(kind, name string) doc { return doc{"type": kind, "value": p + name + "@example.com"} }
		primary := func(kind, name string) doc {
			return doc{"type": kind, "value": p + name + "@example.com", "primary": true}
		}
		add := func(label string, extra, enterprise doc) {
			extra["name"] = doc{"givenName": p + " " + label, "familyName": p + " Staff"}
			if enterprise != nil && t.Capabilities.Extended() {
				extra["schemas"] = []string{scim.UserSchema, scim.EnterpriseUserSchema}
				extra[scim.EnterpriseUserSchema] = enterprise
			}
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
	},
}

// A row is one filter and the objects of the fixture that it must find; the others must not be found. In the filter «P»
// stands for the prefix of the fixture, and a label between the same quotes for the id of that object, with a hyphen behind it for that id
// without its end.
type row struct {
	filter string
	want   string // labels in alphabetical order
}

// unanswered is why a check that puts rows is skipped.
const unanswered = "the target declines these filters with 400 or 501, as it may, or does not keep the attributes as they were sent"

// rows makes the Run of a check that puts filters to its fixture. A target that refuses with 400 invalidFilter what it need
// not support is not blamed; required says that it must support it once it supports filters at all.
func rows(required bool, table ...row) func(context.Context, *T) {
	return func(ctx context.Context, t *T) {
		answered := 0
		for _, r := range table {
			if ask(ctx, t, r, required) {
				answered++
			}
		}
		t.SkipIf(answered == 0, unanswered)
	}
}

// ask puts one filter and compares who is found. It says whether the target evaluated it.
func ask(ctx context.Context, t *T, r row, required bool) bool {
	if name := unkept(t, r.filter); name != "" {
		t.Note("not asked, since the target does not keep %s as it was sent: %s", name, r.filter)
		return false
	}
	filter := fill(t, r.filter)
	res := t.Get(ctx, "/Users", "filter", filter, "count", "200")
	if !required && (res.Status == 400 || res.Status == 501) || res.Status == 400 && !filterable(ctx, t, filter) {
		t.Note("declined with %d: %s", res.Status, filter)
		return false
	}
	if !t.Expect("status of GET /Users?filter="+filter, 200, res.Status) {
		return true
	}
	ids := rest(ctx, t, res, "filter", filter, "count", "200")
	t.Expect("users found by "+filter, sorted(strings.Fields(r.want)...), labels(t.Fixture, ids))
	return true
}

// filterable tells whether the target evaluates eq on the first attribute of a filter at all: RFC 7644 table 9 lets it decline
// combinations of attribute and operator with 400 invalidFilter. Nobody may decline userName, which is the key of every lookup.
func filterable(ctx context.Context, t *T, filter string) bool {
	attribute, _, _ := strings.Cut(strings.TrimLeft(filter, "( "), " ")
	if scim.EqualName(attribute, "userName") {
		return true
	}
	res := t.Get(ctx, "/Users", "filter", attribute+` eq "scimconf-nobody"`, "count", "1")
	return res.Status != 400 || res.ScimType() != "invalidFilter"
}

// findsNobody puts a filter that must find none of the fixture's objects; refusing it with 400 or 501 is as good.
func findsNobody(ctx context.Context, t *T, filter string) {
	filter = fill(t, filter)
	res := t.Get(ctx, "/Users", "filter", filter, "count", "200")
	if res.Status == 400 || res.Status == 501 {
		return
	}
	t.Require("status of GET /Users?filter="+filter, 200, res.Status)
	t.Expect("users found by "+filter, []string{}, labels(t.Fixture, rest(ctx, t, res, "filter", filter, "count", "200")))
}

// fill puts the prefix and the ids into a row's filter.
func fill(t *T, filter string) string {
	pairs := []string{"«P»", peoplePrefix(t)}
	for label, o := range t.Fixture {
		pairs = append(pairs, "«"+label+"»", o.ID, "«"+label+"-»", o.ID[:len(o.ID)-1])
	}
	return strings.NewReplacer(pairs...).Replace(filter)
}

// rest follows the pages of a list of users after its first one; see restOf.
func rest(ctx context.Context, t *T, first *conformance.Response, query ...string) []string {
	return restOf(ctx, t, "/Users", first, query...)
}

// restOf follows the pages of a list after its first one and returns all ids: a target may give smaller pages than asked for,
// and it may page by cursor when nothing else is asked for (RFC 9865 section 2.3).
func restOf(ctx context.Context, t *T, endpoint string, first *conformance.Response, query ...string) []string {
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

// peoplePrefix is the prefix the fixture was built with.
func peoplePrefix(t *T) string {
	for label, o := range t.Fixture {
		name, _ := o.Sent["userName"].(string)
		if prefix, ok := strings.CutSuffix(name, label+"@example.com"); ok {
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

// unkept returns an attribute of a filter that the target does not keep as it was sent, or that it fills in by itself: what
// a filter on it finds cannot be foretold. The checks of creating and reading have the say on that.
func unkept(t *T, filter string) string {
	bare := filterText.ReplaceAllString(filter, "")
	names := filterName.FindAllString(filterURN.ReplaceAllString(bare, ""), -1)
	if strings.Contains(strings.ToLower(bare), strings.ToLower(scim.EnterpriseUserSchema)) {
		names = append(names, scim.EnterpriseUserSchema)
	}
	for _, name := range names {
		if !kept(t, name) {
			return name
		}
	}
	return ""
}

// kept tells whether the answers to the creation of the fixture's objects hold an attribute exactly where it was sent.
// Names of anything else are always kept.
func kept(t *T, name string) bool {
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
		if !holds(got, want) {
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

// holds tells whether an answer has all of what was sent: the members of objects, and of arrays the same number of elements.
// Nothing sent means that nothing may be there.
func holds(got, want any) bool {
	switch want := want.(type) {
	case nil:
		list, isList := got.([]any)
		return got == nil || isList && len(list) == 0
	case doc:
		o, ok := got.(*scim.Object)
		for name, v := range want {
			member, _ := o.Get(name)
			ok = ok && holds(member, v)
		}
		return ok
	case []doc:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return false
		}
		return !slices.ContainsFunc(want, func(v doc) bool {
			return !slices.ContainsFunc(list, func(element any) bool { return holds(element, v) })
		})
	default:
		v, err := scim.Value(want)
		return err == nil && (scim.Equal(v, got) || sameSet(v, got))
	}
}

// sameSet compares arrays without regard to order, as schemas are.
func sameSet(a, b any) bool {
	one, ok1 := a.([]any)
	two, ok2 := b.([]any)
	return ok1 && ok2 && len(one) == len(two) && !slices.ContainsFunc(one, func(v any) bool {
		return !slices.ContainsFunc(two, func(w any) bool { return scim.Equal(v, w) })
	})
}

// filters are the needs of every check that works on people.
var filters = needs(conformance.NeedUser, conformance.NeedWrite, conformance.NeedFilter)

// scope keeps filters that match nearly everybody to the people of the fixture.
const scope = `userName sw "«P»" and `
