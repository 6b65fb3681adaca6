package checks

import (
	"context"
	"iter"
	"slices"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/internal/oracle"
	"github.com/scimwright/scimwright/scim"
)

const (
	manyFilters, fewFilters = 14, 3
	deepest                 = 3 // levels of junctions and negations in a filter
)

// filters is how many filters are put to the objects of a grove in one round.
func (g grove) filters() int {
	if g.td.endpoint == "/Users" {
		return manyFilters
	}
	return fewFilters
}

// A hunt is what a filter brought back.
type hunt struct {
	res   *conformance.Response
	found []string // labels, sorted
}

// hunt puts a filter to the grove; answered is false when the target rejects it with 400 or 501, as it may.
func (g grove) hunt(ctx context.Context, t *T, filter string) (h hunt, answered bool) {
	query := []string{"filter", filter, "count", "200"}
	res := t.Get(ctx, g.td.endpoint, query...)
	if res.Status == 400 || res.Status == 501 {
		t.Note("rejected with %d: %s", res.Status, filter)
		return hunt{res: res}, false
	}
	h = hunt{res: res, found: []string{}}
	if res.Status == 200 {
		h.found = sorted(g.named(restOf(ctx, t, g.td.endpoint, res, query...))...)
	}
	return h, true
}

// foretold are the labels of the objects that a filter has to find.
func (g grove) foretold(f oracle.Filter) []string {
	out := []string{}
	for _, label := range g.labels() {
		if oracle.Matches(f, g.trees[label].Resource) {
			out = append(out, label)
		}
	}
	return out
}

// A question is a filter and how it is restricted to the grove.
type question struct {
	filter oracle.Filter
	spread bool
}

func (g grove) within(q question) oracle.Filter {
	return oracle.Within(q.filter, g.model, g.prefix, q.spread)
}

func (q question) smaller() iter.Seq[question] {
	return func(yield func(question) bool) {
		if q.spread && !yield(question{q.filter, false}) {
			return
		}
		for f := range oracle.Smaller(q.filter) {
			if !yield(question{f, q.spread}) {
				return
			}
		}
	}
}

// differs puts a question and reports whether the target finds others than foretold.
func (g grove) differs(ctx context.Context, t *T, q question) (h hunt, differs bool) {
	f := g.within(q)
	if !oracle.Unambiguous(f, g.stored()) {
		return hunt{}, false
	}
	h, answered := g.hunt(ctx, t, f.String())
	want := g.foretold(f)
	return h, answered && (h.res.Status != 200 || !slices.Equal(h.found, want) || h.miscounts(len(want)))
}

// miscounts reports whether totalResults is there and another number.
func (h hunt) miscounts(want int) bool {
	return has(h.res.Object(), "totalResults") && h.res.Total() != want
}

var oracleQueries = []check{
	{
		ID:           "oracle.filter",
		Title:        "Made-up filters of any depth find whom the schemas and the stored values say",
		Requirements: reqs("RFC7644-3.4.2.2-03", orPrecedence, grouping, negation, "RFC7644-3.4.2.2-37"),
		Level:        must,
		Needs:        filters,
		Fixture:      forest,
		Requests:     manyFilters + 2*fewFilters,
		PerRound:     manyFilters + 2*fewFilters,
		Why:          "Filters that somebody thought of pass somebody's test; those that clients generate are others.",
		Fix:          logicFix,
		Run:          oracleFilter,
	},
	{
		ID:           "oracle.equivalences",
		Title:        "Made-up filters that mean the same find the same, by GET and by search",
		Requirements: reqs(negation, grouping, "RFC7644-3.4.2.2-26", "RFC7644-3.4.3-04"),
		Level:        must,
		Needs:        filters,
		Fixture:      forest,
		Requests:     lawRequests,
		PerRound:     lawRequests,
		Why:          "Logic is the same in every query language. A target for which it does not hold evaluates something else than the filter.",
		Fix:          logicFix,
		Run:          oracleEquivalences,
	},
}

func oracleFilter(ctx context.Context, t *T) {
	answered := 0
	for _, g := range groves(t) {
		r := oracle.Rand(t.Seed(), "filter "+g.td.name)
		d := oracle.NewDrawer(r, g.model, g.stored())
		for i := range t.Rounds() * g.filters() {
			if !d.Useful() {
				break
			}
			q := question{d.Filter(1 + i%deepest), r.IntN(2) == 0}
			h, differs := g.differs(ctx, t, q)
			if differs || h.res != nil && h.res.OK() {
				answered++
			}
			if differs {
				g.complain(ctx, t, q, h)
				break
			}
		}
	}
	t.SkipIf(answered == 0, unanswered)
}

func oracleEquivalences(ctx context.Context, t *T) {
	g := usersOf(t)
	r := oracle.Rand(t.Seed(), "equivalences")
	d := oracle.NewDrawer(r, g.model, g.stored())
	t.SkipIf(!d.Useful(), "the target keeps no attribute of its users as it was sent")
	answered := false
	for range t.Rounds() {
		p := pair{d.Filter(2), d.Filter(2)}
		for _, law := range laws {
			differs := func(p pair) (sides, bool) { return law.sides(ctx, t, g, p) }
			s, ok := differs(p)
			answered = answered || s.res != nil
			if !ok {
				continue
			}
			p, s = least(p, s, pair.smaller, differs, shrinkTries)
			t.About(s.res)
			t.Expect(law.what+" for a = "+p.a.String()+" and b = "+p.b.String()+again(t, "oracle.equivalences"), s.one, s.other)
			return
		}
	}
	t.SkipIf(!answered, unanswered)
}

// complain reports the smallest question that the target answers otherwise than foretold.
func (g grove) complain(ctx context.Context, t *T, q question, h hunt) {
	first := g.within(q).String()
	q, h = least(q, h, question.smaller, func(q question) (hunt, bool) { return g.differs(ctx, t, q) }, shrinkTries)
	f := g.within(q)
	if f.String() != first {
		t.Note("first seen with the filter %s", first)
	}
	t.About(h.res)
	want := g.foretold(f)
	suffix := " by " + f.String() + again(t, "oracle.filter")
	if t.Expect("status of GET "+g.td.endpoint+suffix, 200, h.res.Status) && t.Expect(g.td.name+"s found"+suffix, want, h.found) {
		t.Expect("totalResults"+suffix, len(want), value(h.res.Object(), "totalResults"))
	}
}

// A pair of filters is what a law speaks of.
type pair struct{ a, b oracle.Filter }

func (p pair) smaller() iter.Seq[pair] {
	return func(yield func(pair) bool) {
		for a := range oracle.Smaller(p.a) {
			if !yield(pair{a, p.b}) {
				return
			}
		}
		for b := range oracle.Smaller(p.b) {
			if !yield(pair{p.a, b}) {
				return
			}
		}
	}
}

// sides are what the two sides of a law found, and the response to the second one.
type sides struct {
	one, other []string
	res        *conformance.Response
}

// A law says that two ways to ask find the same.
type law struct {
	what  string
	sides func(ctx context.Context, t *T, g grove, p pair) (s sides, differ bool)
}

// lawRequests is what putting all laws to the target once takes: two requests for each, three for the union.
const lawRequests = 11

// laws hold for all filters a and b.
var laws = []law{
	equal("whom not (not (a)) finds, compared with a", func(p pair) (one, other oracle.Filter) {
		return p.a, oracle.Not{Filter: oracle.Not{Filter: p.a}}
	}),
	equal("whom a and a finds, compared with a", func(p pair) (one, other oracle.Filter) { return p.b, oracle.And(p.b, p.b) }),
	equal("whom not (a) or not (b) finds, compared with not (a and b)", func(p pair) (one, other oracle.Filter) {
		return oracle.Not{Filter: oracle.And(p.a, p.b)}, oracle.Or(oracle.Not{Filter: p.a}, oracle.Not{Filter: p.b})
	}),
	{"whom a or b finds, compared with a and b asked one by one", func(ctx context.Context, t *T, g grove, p pair) (s sides, differ bool) {
		one, ok1 := g.hunt(ctx, t, g.alone(p.a))
		two, ok2 := g.hunt(ctx, t, g.alone(p.b))
		both, ok3 := g.hunt(ctx, t, g.alone(oracle.Or(p.a, p.b)))
		if !ok1 || !ok2 || !ok3 {
			return s, false
		}
		s = sides{one: slices.Compact(sorted(slices.Concat(one.found, two.found)...)), other: both.found, res: both.res}
		return s, !slices.Equal(s.one, s.other)
	}},
	{"whom POST .search finds for a, compared with GET", func(ctx context.Context, t *T, g grove, p pair) (s sides, differ bool) {
		get, ok := g.hunt(ctx, t, g.alone(p.a))
		post := t.Post(ctx, g.td.endpoint+"/.search", doc{"schemas": []string{scim.SearchRequestMessage}, "filter": g.alone(p.a), "count": 200})
		if !ok || post.Status != 200 || len(post.IDs()) < post.Total() {
			return s, false
		}
		s = sides{one: get.found, other: sorted(g.named(post.IDs())...), res: post}
		return s, !slices.Equal(s.one, s.other)
	}},
}

// alone writes a filter restricted to the grove.
func (g grove) alone(f oracle.Filter) string {
	return oracle.Within(f, g.model, g.prefix, false).String()
}

// equal makes a law of two filters.
func equal(what string, of func(p pair) (one, other oracle.Filter)) law {
	return law{what, func(ctx context.Context, t *T, g grove, p pair) (s sides, differ bool) {
		f, same := of(p)
		one, ok1 := g.hunt(ctx, t, g.alone(f))
		other, ok2 := g.hunt(ctx, t, g.alone(same))
		if !ok1 || !ok2 {
			return s, false
		}
		s = sides{one: one.found, other: other.found, res: other.res}
		return s, !slices.Equal(s.one, s.other)
	}}
}
