package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// A graded describes a check of filters on one attribute: the first attribute of an extension or of a custom resource type for which fits
// returns true. With core, attributes of RFC 7643 are suitable too. The check creates three objects a, b and c that differ only in the
// value of this attribute, and evaluates the filter of each row on them. In the filters, «it» is replaced by the path of the attribute.
type graded struct {
	id, title    string
	requirements []string
	why, fix     string
	trait        string // end of a sentence about the attribute, for example "is a writable integer"
	core         bool   // attributes of RFC 7643 are suitable too
	fits         func(a attrDef) bool
	values       [3]any
	rows         []row
	// basic are rows of the same operators that other checks test. If the result of one of them is wrong, the check is blocked.
	basic []row
}

// check returns the check.
func (g graded) check() check {
	return check{
		ID:           "filter." + g.id,
		Title:        g.title,
		Requirements: g.requirements,
		Level:        must,
		Needs:        needs(conformance.NeedWrite, conformance.NeedFilter),
		Requests:     6 + len(g.rows),
		Why:          g.why,
		Fix:          g.fix,
		Run: func(ctx context.Context, t *T) {
			td, a, ids := createGraded(ctx, t, g)
			var any []string
			for _, label := range []string{"a", "b", "c"} {
				any = append(any, "id eq "+quote(ids[label]))
			}
			for _, r := range g.basic {
				filter := "(" + strings.Join(any, " or ") + ") and " + strings.ReplaceAll(r.filter, "«it»", a.path())
				t.BlockedIf(func() string {
					res := t.Get(ctx, td.endpoint, "filter", filter)
					if res.Declines() || res.OK() && slices.Equal(strings.Fields(r.want), labeled(ids, res.IDs())) {
						return ""
					}
					return fmt.Sprintf("GET %s?filter, with the same attribute and an operand in the same case, %s", td.endpoint,
						wrongList(res, "objects"))
				})
			}
			answered := map[string]bool{} // by operator
			for _, r := range g.rows {
				operator := strings.Fields(r.filter)[1]
				comparison := strings.ReplaceAll(r.filter, "«it»", a.path())
				filter := "(" + strings.Join(any, " or ") + ") and " + comparison
				res := t.Get(ctx, td.endpoint, "filter", filter)
				if res.Status == 400 && singleEq.MatchString(comparison) && t.RejectsPrefixes() {
					filter = comparison
					res = t.Get(ctx, td.endpoint, "filter", filter)
				}
				if !answered[operator] && res.Declines() {
					t.Note("rejected with %d: %s", res.Status, filter)
					continue
				}
				answered[operator] = true
				filterRequired(t, res, "GET "+td.endpoint+"?filter="+filter)
				t.SkipIf(len(res.IDs()) < res.Total(), "the first page does not contain all matching objects")
				t.Expect("objects found by "+filter, sorted(strings.Fields(r.want)...), labeled(ids, res.IDs()))
			}
			t.SkipIf(len(answered) == 0, skipUnsupported)
		},
	}
}

// singleValued returns a condition that is true for single-valued attributes of a kind, such as integer, that have no canonical values.
func singleValued(kind string) func(a attrDef) bool {
	return func(a attrDef) bool { return a.kind == kind && !a.multi && len(a.canonical) == 0 }
}

const (
	numberWhy = "A server that compares numbers as strings treats 10 as less than 9; a client that selects objects by a number, such as a " +
		"level, changes the wrong objects."
	numberFix = "Compare integers and decimals as numbers, not as strings: 9 is less than 10, and 10.250 equals 10.25."
)

var (
	integers = graded{trait: "is a writable integer", fits: singleValued("integer"), values: [3]any{9, 10, 42}, why: numberWhy,
		fix: numberFix}
	decimals = graded{trait: "is a writable decimal", fits: singleValued("decimal"), values: [3]any{2.5, 10.25, -1.5}, why: numberWhy,
		fix: numberFix}
)

// because returns a copy of g with another Why and Fix.
func (g graded) because(why, fix string) graded {
	g.why, g.fix = why, fix
	return g
}

// with returns the check that g describes, with the given id, title, requirements and rows.
func (g graded) with(id, title string, requirements []string, table ...row) check {
	g.id, g.title, g.requirements, g.rows = id, title, requirements, table
	return g.check()
}

var filterSchema = []check{
	integers.with("integer-eq", "The operator eq compares integers as numbers, not as "+
		"strings", reqs("RFC7644-3.4.2.2-09", "RFC7644-3.4.2.2-48"),
		row{`«it» eq 10`, "b"},
		row{`«it» eq 1`, ""}),
	integers.with("integer-ne", "The operator ne compares integers as numbers, not as "+
		"strings", reqs("RFC7644-3.4.2.2-10", "RFC7644-3.4.2.2-48"),
		row{`«it» ne 10`, "a c"}),
	integers.with("integer-gt", "The operators gt and ge compare integers as numbers, not as "+
		"strings", reqs("RFC7644-3.4.2.2-21", "RFC7644-3.4.2.2-48"),
		row{`«it» gt 9`, "b c"}, row{`«it» ge 10`, "b c"}, row{`«it» gt 42`, ""}),
	integers.with("integer-lt", "The operators lt and le compare integers as numbers, not as "+
		"strings", reqs("RFC7644-3.4.2.2-21", "RFC7644-3.4.2.2-48"),
		row{`«it» lt 42`, "a b"}, row{`«it» le 10`, "a b"}, row{`«it» lt 9`, ""}),
	integers.because("Clients use pr to find objects with or without a value; after a wrong result they change the wrong objects.",
		"Treat an integer attribute as present if it has a value; 0 is a value.").with("integer-pr",
		"The operator pr matches objects with a value of an integer attribute", reqs("RFC7644-3.4.2.2-16"),
		row{`«it» pr`, "a b c"},
		row{`not («it» pr)`, ""}),
	decimals.with("decimal-eq", "The operator eq compares decimals as numbers, not as "+
		"strings", reqs("RFC7644-3.4.2.2-09"), row{`«it» eq 2.5`, "a"},
		row{`«it» eq 10.250`, "b"}, row{`«it» eq 2`, ""}),
	decimals.with("decimal-order", "The operators gt, ge, lt and le compare decimals, including negative ones, as numbers, not as "+
		"strings", reqs("RFC7644-3.4.2.2-21"),
		row{`«it» gt 2.5`, "b"}, row{`«it» lt 2.5`, "c"}, row{`«it» ge -1.5`, "a b c"}, row{`«it» le 10`, "a c"}, row{`«it» le 1e1`, "a c"}),
	graded{
		trait: "is a writable dateTime", fits: singleValued("dateTime"),
		values: [3]any{"2026-01-31T10:20:30Z", "2026-01-31T23:00:00Z", "2026-06-01T00:00:00Z"},
		why: "Clients write the same time in different time zones, such as 10:20:30Z and 12:20:30+02:00; a server that compares them as " +
			"strings returns the wrong objects.",
		fix: "Parse the operand and the value as times with their time zones, and compare the times.",
	}.with("date-time-own", "A filter on a writable dateTime attribute compares its values as times, not as "+
		"strings", reqs("RFC7644-3.4.2.2-20"),
		row{`«it» eq "2026-01-31T12:20:30+02:00"`, "a"}, row{`«it» gt "2026-02-01T00:30:00+02:00"`, "b c"},
		row{`«it» lt "2026-01-31T18:30:00-05:00"`, "a b"}),
	graded{
		trait: "is a string with caseExact true", core: true, fits: func(a attrDef) bool {
			return singleValued("string")(a) && a.caseExact
		}, values: [3]any{"Scimconf-Aa", "Scimconf-aA", "Scimconf-aa"},
		why: "Clients use such an attribute as a key; if a filter for abc also matches ABC, the client finds and changes the wrong object.",
		fix: "Compare case-sensitively if the schema sets caseExact to true.",
	}.with("case-exact-own", "A filter compares strings with caseExact true case-sensitively",
		reqs("RFC7643-7-14", "RFC7644-3.4.2.2-57"),
		row{`«it» eq "Scimconf-Aa"`, "a"}, row{`«it» sw "Scimconf-a"`, "b c"}, row{`«it» ew "AA"`, ""}),
	graded{
		trait: "is a string without caseExact", fits: func(a attrDef) bool {
			return singleValued("string")(a) && !a.caseExact
		}, values: [3]any{"Scimconf-Own-A", "Scimconf-own-a", "Scimconf-Own-B"},
		why: "Clients rely on caseExact false in the schema and write the operand in any case; a case-sensitive server omits objects from the " +
			"result.",
		fix:   "Compare case-insensitively unless the schema sets caseExact to true.",
		basic: []row{{`«it» eq "Scimconf-Own-B"`, "c"}, {`«it» ew "-B"`, "c"}},
	}.with("case-insensitive-own", "A filter compares strings without caseExact case-insensitively",
		reqs("RFC7643-7-14", "RFC7644-3.4.2.2-57"),
		row{`«it» eq "SCIMCONF-OWN-A"`, "a b"}, row{`«it» ew "-b"`, "c"}),
	graded{
		trait: "is a list of strings", fits: func(a attrDef) bool {
			return a.kind == "string" && a.multi && len(a.canonical) == 0 && !a.caseExact
		},
		values: [3]any{[]string{"scimconf-1", "scimconf-2"}, []string{"scimconf-2"}, []string{"scimconf-3"}},
		why: "Clients filter a list of strings by the name of the attribute alone, without .value; a server that expects a sub-attribute " +
			"returns no object.",
		fix: "Compare the operand with each string of the list; the object matches if one string does.",
	}.with("plain-list", "A filter matches a list of strings if it matches one of the strings", reqs("RFC7644-3.4.2.2-50"),
		row{`«it» eq "scimconf-2"`, "a b"}, row{`«it» eq "scimconf-1"`, "a"}, row{`«it» sw "scimconf-"`, "a b c"}, row{`«it» eq "scimconf"`, ""}),
	graded{
		trait: "is binary", fits: singleValued("binary"), values: [3]any{"AAEC", "AAED", "//79"},
		why: "Clients look up a certificate by its value, and store it twice or for the wrong user if the result is wrong.",
		fix: "Compare the base64 strings case-sensitively, or compare the decoded bytes.",
	}.with("binary-eq", "The operator eq on a binary attribute finds exactly the objects whose base64 value is the "+
		"operand", reqs("RFC7644-3.4.2.2-09"),
		row{`«it» eq "AAEC"`, "a"}, row{`«it» eq "aaec"`, ""}),
}

// createGraded creates the objects a, b and c. It returns their resource type, the attribute that has the given values, and the ids of the
// objects by label. It skips the check if no type has a suitable attribute, or if the target does not store the values. If the target
// does not store the values in an attribute of RFC 7643, for which it may have its own rules, createGraded uses the next suitable one.
func createGraded(ctx context.Context, t *T, g graded) (typeDef, attrDef, map[string]string) {
	for _, td := range types(t) {
		for _, a := range td.attributes {
			own := ownAttribute(td, a)
			if !g.core && !own || a.common() || a.name == td.carrier || a.uniqueness != "none" || a.required || !a.writable() || a.hidden() ||
				!g.fits(a) {
				continue
			}
			if ids := g.create(ctx, t, td, a); ids != nil {
				return td, a, ids
			}
			t.SkipIf(own, "blocked: a "+td.name+" with "+a.path()+" could not be created as sent")
		}
	}
	t.Skip("no attribute of an extension or of a custom resource type " + g.trait)
	return typeDef{}, attrDef{}, nil
}

// create creates the objects a, b and c with the values of the attribute, and returns their ids by label. It returns nil if the target does
// not store a value as sent.
func (g graded) create(ctx context.Context, t *T, td typeDef, a attrDef) map[string]string {
	ids := map[string]string{}
	for i, label := range []string{"a", "b", "c"} {
		res := t.Post(ctx, td.endpoint, td.with(t, a.label(label), a, g.values[i]))
		want, err := scim.Value(g.values[i])
		if !res.OK() || err != nil || !scim.Equal(a.of(res.Object()), want) {
			return nil
		}
		ids[label] = res.Object().Text("id")
	}
	return ids
}

// labeled returns the labels of the found ids, sorted. ids contains the id of each label.
func labeled(ids map[string]string, found []string) []string {
	out := []string{}
	for label, id := range ids {
		if slices.Contains(found, id) {
			out = append(out, label)
		}
	}
	slices.Sort(out)
	return out
}
