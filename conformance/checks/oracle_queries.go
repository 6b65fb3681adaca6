package checks

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/internal/oracle"
	"github.com/scimwright/scimwright/scim"
)

const (
	manyFilters, fewFilters = 14, 3
	maxFilterDepth          = 3 // levels of logical operators and negations in a filter
)

// filterCount returns the number of filters per round.
func (g typePopulation) filterCount() int {
	if g.td.endpoint == "/Users" {
		return manyFilters
	}
	return fewFilters
}

// A filterResult is the response to a filter.
type filterResult struct {
	res   *conformance.Response
	found []string // labels, sorted
}

// runFilter sends a filter for the population. The value answered is false if the target declines the filter, see
// [conformance.Response.Declines].
func (g typePopulation) runFilter(ctx context.Context, t *T, filter string) (h filterResult, answered bool) {
	query := []string{"filter", filter, "count", "200"}
	res := t.Get(ctx, g.td.endpoint, query...)
	if res.Declines() {
		t.Note("rejected with %d: %s", res.Status, filter)
		return filterResult{res: res}, false
	}
	h = filterResult{res: res, found: []string{}}
	if res.Status == 200 {
		h.found = sorted(g.labelsOf(allIDsOf(ctx, t, g.td.endpoint, res, query...))...)
	}
	return h, true
}

// predicted returns the labels of the objects that match a filter.
func (g typePopulation) predicted(f oracle.Filter, matches func(oracle.Filter, *scim.Object) bool) []string {
	out := []string{}
	for _, label := range g.labels() {
		if matches(f, g.objects[label].Resource) {
			out = append(out, label)
		}
	}
	return out
}

// A testFilter is a generated filter. Before it is sent, it is restricted to the objects of the population: as a whole or, if spread is
// true and the filter is an or, in each alternative (see oracle.Within).
type testFilter struct {
	filter oracle.Filter
	spread bool
}

func (g typePopulation) within(q testFilter) oracle.Filter {
	return oracle.Within(q.filter, g.model, g.prefix, q.spread)
}

func (q testFilter) smaller() iter.Seq[testFilter] {
	return func(yield func(testFilter) bool) {
		if q.spread && !yield(testFilter{q.filter, false}) {
			return
		}
		for f := range oracle.Smaller(q.filter) {
			if !yield(testFilter{f, q.spread}) {
				return
			}
		}
	}
}

// differs sends a filter and reports whether the result differs from the prediction. It sends nothing if the result depends on caseExact of
// an attribute whose schema omits caseExact.
func (g typePopulation) differs(ctx context.Context, t *T, q testFilter) (h filterResult, differs bool) {
	f := g.within(q)
	if !oracle.Unambiguous(f, g.stored()) {
		return filterResult{}, false
	}
	h, answered := g.runFilter(ctx, t, f.String())
	want := g.predicted(f, oracle.Matches)
	return h, answered && (h.res.Status != 200 || !slices.Equal(h.found, want) || h.wrongTotal(len(want)))
}

// wrongTotal reports whether the response has a totalResults other than want.
func (h filterResult) wrongTotal(want int) bool {
	return has(h.res.Object(), "totalResults") && h.res.Total() != want
}

var oracleQueries = []check{
	{
		ID:           "oracle.filter",
		Title:        "Generated filters of any depth match exactly the resources whose stored values satisfy the filter",
		Requirements: reqs("RFC7644-3.4.2.2-03", orPrecedence, grouping, negation, "RFC7644-3.4.2.2-37"),
		Level:        must,
		Needs:        filters,
		Fixture:      population,
		Requests:     manyFilters + 2*fewFilters,
		PerRound:     manyFilters + 2*fewFilters,
		Why:          "Clients generate filters that no other check covers; a wrong result gives them the wrong users.",
		Fix:          logicFix,
		Run:          oracleFilter,
	},
	{
		ID:           "oracle.equivalences",
		Title:        "Generated filters with the same meaning return the same resources, and so do GET and POST /.search with the same filter",
		Requirements: reqs(negation, grouping, "RFC7644-3.4.2.2-26", "RFC7644-3.4.3-04"),
		Level:        must,
		Needs:        filters,
		Fixture:      population,
		Requests:     equivalenceRequests,
		PerRound:     equivalenceRequests,
		Why: "If two filters of the same meaning return different resources, at least one result is wrong, and the client changes " +
			"the wrong users.",
		Fix: logicFix,
		Run: oracleEquivalences,
	},
}

func oracleFilter(ctx context.Context, t *T) {
	answered := 0
	for _, g := range typePopulations(t) {
		r := oracle.Rand(t.Seed(), "filter "+g.td.name)
		d := oracle.NewGenerator(r, g.model, g.stored())
		for i := range t.Rounds() * g.filterCount() {
			if !d.Useful() {
				break
			}
			q := testFilter{d.Filter(1 + i%maxFilterDepth), r.IntN(2) == 0}
			h, differs := g.differs(ctx, t, q)
			if differs || h.res != nil && h.res.OK() {
				answered++
			}
			if differs {
				g.reportFilter(ctx, t, q, h)
				break
			}
		}
	}
	t.SkipIf(answered == 0, skipUnsupported)
}

func oracleEquivalences(ctx context.Context, t *T) {
	g := userPopulation(t)
	r := oracle.Rand(t.Seed(), "equivalences")
	d := oracle.NewGenerator(r, g.model, g.stored())
	t.SkipIf(!d.Useful(), "the target stores no attribute of its users as sent")
	answered := false
	for range t.Rounds() {
		p := filterPair{d.Filter(2), d.Filter(2)}
		for _, e := range equivalences {
			differs := func(p filterPair) (equivalenceResult, bool) { return e.sides(ctx, t, g, p) }
			s, ok := differs(p)
			answered = answered || s.res != nil
			if !ok {
				continue
			}
			p, s = shrinkCase(p, s, filterPair.smaller, differs, shrinkTries)
			t.About(s.res)
			t.Expect(e.what+" for a = "+p.a.String()+" and b = "+p.b.String()+repeatHint(t, "oracle.equivalences"), s.one, s.other)
			return
		}
	}
	t.SkipIf(!answered, skipUnsupported)
}

// reportFilter reports the smallest filter with a difference from the prediction.
func (g typePopulation) reportFilter(ctx context.Context, t *T, q testFilter, h filterResult) {
	first := g.within(q).String()
	q, h = shrinkCase(q, h, testFilter.smaller, func(q testFilter) (filterResult, bool) { return g.differs(ctx, t, q) }, shrinkTries)
	f := g.within(q)
	if f.String() != first {
		t.Note("first difference found with the filter %s", first)
	}
	t.About(h.res)
	want := g.predicted(f, oracle.Matches)
	hint := repeatHint(t, "oracle.filter")
	suffix := " by " + f.String() + hint
	g.blockIfKnown(ctx, t, f, h)
	if !t.Expect("status of GET "+g.td.endpoint+suffix, 200, h.res.Status) {
		return
	}
	wrong := sorted(differing(want, h.found)...)
	for i, label := range wrong {
		wrong[i] = g.td.name + "/" + label
	}
	values := sentValues(t, topAttributes(f.String()), wrong...)
	if t.Expect(g.td.name+"s found by "+f.String()+values+hint, want, h.found) {
		t.Expect("totalResults"+suffix, len(want), value(h.res.Object(), "totalResults"))
	}
}

// topAttributes returns the names of the attributes of the core schema in a filter, without sub-attributes.
func topAttributes(filter string) []string {
	var out []string
	for _, name := range filterAttributes(filter) {
		if name, _, _ = strings.Cut(name, "."); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// blockIfKnown registers controls of the simplest filters that other checks test: the check is blocked if the target also rejects a filter
// with only a comparison of an attribute of the enterprise extension, and if it compares names case-sensitively, as in the result.
func (g typePopulation) blockIfKnown(ctx context.Context, t *T, f oracle.Filter, h filterResult) {
	if h.res.Status != 200 && strings.Contains(f.String(), scim.EnterpriseUserSchema) {
		t.BlockedIf(func() string {
			simple := enterprise + `employeeNumber eq "scimconf-none"`
			res := t.Get(ctx, "/Users", "filter", simple)
			if res.Status == 200 || res.Declines() {
				return ""
			}
			return fmt.Sprintf("GET /Users?filter=%s returned %d, as filter.enterprise-eq reports", simple, res.Status)
		})
	}
	if h.res.Status == 200 && slices.Equal(h.found, g.predicted(f, oracle.MatchesSensitively)) {
		t.BlockedIf(func() string { return g.sensitive(ctx, t) })
	}
}

// sensitive returns a message if the target does not find an object by its name in upper case, although it finds the object by its name and
// the schema does not declare the name as caseExact.
func (g typePopulation) sensitive(ctx context.Context, t *T) string {
	if slices.ContainsFunc(g.model.Attributes, func(a oracle.Attribute) bool { return a.URN == "" && a.Name == g.td.carrier && a.CaseExact }) {
		return ""
	}
	for _, label := range g.labels() {
		name := g.objects[label].Resource.Text(g.td.carrier)
		upper := strings.ToUpper(name)
		if name == "" || name == upper {
			continue
		}
		filter := func(operand string) (ids []string) {
			return t.Get(ctx, g.td.endpoint, "filter", g.td.carrier+" eq "+quote(operand)).IDs()
		}
		if !slices.Contains(filter(upper), g.objects[label].ID) && slices.Contains(filter(name), g.objects[label].ID) {
			return "the target compares " + g.td.carrier +
				" case-sensitively, which filter.case-insensitive-values or groups.find-ignores-case reports"
		}
		return ""
	}
	return ""
}

// A filterPair is the input of an equivalence.
type filterPair struct{ a, b oracle.Filter }

func (p filterPair) smaller() iter.Seq[filterPair] {
	return func(yield func(filterPair) bool) {
		for a := range oracle.Smaller(p.a) {
			if !yield(filterPair{a, p.b}) {
				return
			}
		}
		for b := range oracle.Smaller(p.b) {
			if !yield(filterPair{p.a, b}) {
				return
			}
		}
	}
}

// An equivalenceResult has the labels of the resources that the two sides of an equivalence found, and the response to the second side.
type equivalenceResult struct {
	one, other []string
	res        *conformance.Response
}

// An equivalence is a rule that two queries, its sides, return the same resources. what names both queries, for findings. sides builds them
// from the filters a and b and sends them; differ reports whether the resources found differ.
type equivalence struct {
	what  string
	sides func(ctx context.Context, t *T, g typePopulation, p filterPair) (s equivalenceResult, differ bool)
}

// equivalenceRequests is the number of requests to test all equivalences once: three requests for a or b, two requests for each of the
// others.
const equivalenceRequests = 11

// equivalences are the rules that oracle.equivalences checks. They are valid for all filters a and b.
var equivalences = []equivalence{
	equalFilters("resources found by not (not (a)), compared with a,", func(p filterPair) (one, other oracle.Filter) {
		return p.a, oracle.Not{Filter: oracle.Not{Filter: p.a}}
	}),
	equalFilters("resources found by b and b, compared with b,", func(p filterPair) (one, other oracle.Filter) {
		return p.b, oracle.And(p.b, p.b)
	}),
	equalFilters("resources found by not (a) or not (b), compared with not (a and b),", func(p filterPair) (one, other oracle.Filter) {
		return oracle.Not{Filter: oracle.And(p.a, p.b)}, oracle.Or(oracle.Not{Filter: p.a}, oracle.Not{Filter: p.b})
	}),
	{"resources found by a or b, compared with two queries for a and b,",
		func(ctx context.Context, t *T, g typePopulation, p filterPair) (s equivalenceResult, differ bool) {
			one, ok1 := g.runFilter(ctx, t, g.restricted(p.a))
			two, ok2 := g.runFilter(ctx, t, g.restricted(p.b))
			both, ok3 := g.runFilter(ctx, t, g.restricted(oracle.Or(p.a, p.b)))
			if !ok1 || !ok2 || !ok3 {
				return s, false
			}
			s = equivalenceResult{one: slices.Compact(sorted(slices.Concat(one.found, two.found)...)), other: both.found, res: both.res}
			return s, !slices.Equal(s.one, s.other)
		}},
	{"resources found by POST /.search for a, compared with GET,",
		func(ctx context.Context, t *T, g typePopulation, p filterPair) (s equivalenceResult, differ bool) {
			get, ok := g.runFilter(ctx, t, g.restricted(p.a))
			post := t.Post(ctx, g.td.endpoint+"/.search",
				doc{"schemas": []string{scim.SearchRequestMessage}, "filter": g.restricted(p.a), "count": 200})
			if !ok || post.Status != 200 || len(post.IDs()) < post.Total() {
				return s, false
			}
			s = equivalenceResult{one: get.found, other: sorted(g.labelsOf(post.IDs())...), res: post}
			return s, !slices.Equal(s.one, s.other)
		}},
}

// restricted returns a filter that matches only those objects of the population that satisfy f.
func (g typePopulation) restricted(f oracle.Filter) string {
	return oracle.Within(f, g.model, g.prefix, false).String()
}

// equalFilters returns the rule that the two filters that pair returns find the same resources.
func equalFilters(what string, pair func(p filterPair) (one, other oracle.Filter)) equivalence {
	return equivalence{what, func(ctx context.Context, t *T, g typePopulation, p filterPair) (s equivalenceResult, differ bool) {
		f, same := pair(p)
		one, ok1 := g.runFilter(ctx, t, g.restricted(f))
		other, ok2 := g.runFilter(ctx, t, g.restricted(same))
		if !ok1 || !ok2 {
			return s, false
		}
		s = equivalenceResult{one: one.found, other: other.found, res: other.res}
		return s, !slices.Equal(s.one, s.other)
	}}
}
