package checks

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/internal/oracle"
	"github.com/scimwright/scimwright/scim"
)

const (
	manySorts, fewSorts             = 4, 1
	windows                         = 3 // pages at random places
	stretches                       = 4 // pages that follow one another
	manyProjections, fewProjections = 4, 2
)

var oracleLists = []check{
	{
		ID:           "oracle.sort",
		Title:        "Lists are sorted by any text of the schemas, both ways, case-insensitively where the schema says so",
		Requirements: reqs("RFC7644-3.4.2.3-02", "RFC7644-3.4.2.3-06", "RFC7644-3.4.2.3-08"),
		Level:        must,
		Needs:        sorts,
		Fixture:      forest,
		Requests:     manySorts + 2*fewSorts,
		PerRound:     manySorts + 2*fewSorts,
		Why:          "Who advertises sorting is taken at the word, for every attribute.",
		Fix: "Order by the value of the attribute that sortBy names, extensions and sub-attributes included, folded as its " +
			"caseExact says.",
		Run: oracleSort,
	},
	{
		ID:           "oracle.pages",
		Title:        "Pages of any size at any place are cut out of one list, and follow one another without gap or repetition",
		Requirements: reqs("RFC7644-3.4.2.4-13", "RFC7644-3.4.2.4-02", "RFC7644-3.4.2.4-04", "RFC7644-3.4.2.4-10"),
		Level:        should,
		Needs:        slices.Concat(filters, needs(conformance.NeedIndex)),
		Fixture:      forest,
		Requests:     1 + windows + stretches,
		PerRound:     1 + windows + stretches,
		Why:          "Clients choose their page size as they like, and change it on the way when an answer was too large.",
		Fix:          "Skip startIndex-1 matches and return the next count of them; do not take startIndex for a multiple of count.",
		Run:          oraclePages,
	},
	{
		ID:           "oracle.projection",
		Title:        "Any choice of attributes and sub-attributes returns exactly these, or all but these",
		Requirements: reqs("RFC7644-3.9-02", "RFC7644-3.9-03", "RFC7644-3.9-05", "RFC7644-3.9-08"),
		Level:        must,
		Needs:        writesUsers,
		Fixture:      forest,
		Requests:     1 + manyProjections + 2*(1+fewProjections),
		PerRound:     1 + manyProjections + 2*(1+fewProjections),
		Why:          "Clients ask for less because the rest is large or must not be read by them.",
		Fix:          "Resolve every name of the parameter as an attribute path, and build the answer from all of them together.",
		Run:          oracleProjection,
	},
}

func oracleSort(ctx context.Context, t *T) {
	asked := 0
	for _, g := range groves(t) {
		keys := oracle.Keys(g.model, g.stored())
		r := oracle.Rand(t.Seed(), "sort "+g.td.name)
		for range t.Rounds() * g.sorts() {
			if len(keys) == 0 {
				break
			}
			res, ok := g.sorted(ctx, t, pickOne(r, keys), r.IntN(2) == 0)
			asked++
			if t.About(res); !ok {
				break
			}
		}
	}
	t.SkipIf(asked == 0, "no text that every object has and every collation sorts alike")
}

func oraclePages(ctx context.Context, t *T) {
	g := usersOf(t)
	for round := range t.Rounds() {
		if !g.leaf(ctx, t, oracle.Rand(t.Seed(), fmt.Sprintf("pages %d", round))) {
			return
		}
	}
}

func oracleProjection(ctx context.Context, t *T) {
	for round := range t.Rounds() {
		for _, g := range groves(t) {
			r := oracle.Rand(t.Seed(), fmt.Sprintf("projection %s %d", g.td.name, round))
			g.project(ctx, t, r)
		}
	}
}

// sorts is how many sorted lists are asked for in one round.
func (g grove) sorts() int {
	if g.td.endpoint == "/Users" {
		return manySorts
	}
	return fewSorts
}

// projections is how many projections are asked for in one round.
func (g grove) projections() int {
	if g.td.endpoint == "/Users" {
		return manyProjections
	}
	return fewProjections
}

// scope is a filter that finds the objects of the grove.
func (g grove) scope() string { return g.td.carrier + " sw " + quote(g.prefix) }

// sorted asks for the grove sorted by a key and reports whether it came so.
func (g grove) sorted(ctx context.Context, t *T, key oracle.Name, descending bool) (*conformance.Response, bool) {
	direction := "ascending"
	if descending {
		direction = "descending"
	}
	query := []string{"filter", g.scope(), "sortBy", key.Text, "sortOrder", direction, "count", "200"}
	res := t.Get(ctx, g.td.endpoint, query...)
	t.SkipIf(res.Status == 400 || res.Status == 501, "the target rejects the filter that selects the objects, or to sort by "+key.Text)
	what := g.td.name + "s sorted by " + key.Text + ", " + direction + again(t, "oracle.sort")
	if !t.Expect("status of the list of "+what, 200, res.Status) {
		return res, false
	}
	labels := g.named(restOf(ctx, t, g.td.endpoint, res, query...))
	if !t.Expect(what+", in any order", g.labels(), sorted(labels...)) {
		return res, false
	}
	keys := []string{}
	for _, label := range labels {
		keys = append(keys, key.Key(g.trees[label].Resource))
	}
	want := slices.Sorted(slices.Values(keys))
	if descending {
		slices.Reverse(want)
	}
	return res, t.Holds(oracle.InOrder(keys, descending), what, jsonText(plain(want)), keys)
}

// leaf leafs through the users: pages at random places, then pages of random sizes one after the other.
func (g grove) leaf(ctx context.Context, t *T, r *rand.Rand) bool {
	query := []string{"filter", g.scope()}
	if ordered, _ := t.Capabilities.Supports("sort"); ordered && r.IntN(2) == 0 {
		query = append(query, "sortBy", g.td.carrier)
	}
	first := t.Get(ctx, g.td.endpoint, append(query, "count", "200")...)
	t.SkipIf(first.Status != 200, "blocked: the filter that selects the users is rejected")
	all := g.named(restOf(ctx, t, g.td.endpoint, first, append(query, "count", "200")...))
	t.SkipIf(!slices.Equal(sorted(all...), g.labels()), "blocked: the filter that selects the users finds others")
	page := func(start, count int) (labels []string, ok bool) {
		res := t.Get(ctx, g.td.endpoint, append(query, "startIndex", strconv.Itoa(start), "count", strconv.Itoa(count))...)
		what := fmt.Sprintf("with startIndex=%d and count=%d%s", start, count, again(t, "oracle.pages"))
		if !t.Expect("status of a list "+what, 200, res.Status) ||
			!t.Expect("totalResults "+what, len(all), value(res.Object(), "totalResults")) {
			return nil, false
		}
		labels = g.named(res.IDs())
		want := all[min(start-1, len(all)):min(start-1+count, len(all))]
		// A page may be smaller than asked for, but not empty (RFC 7644 section 3.4.2.4).
		cut := want[:min(max(len(labels), min(1, len(want))), len(want))]
		return labels, t.Expect("users "+what, cut, labels)
	}
	for range windows {
		if _, ok := page(1+r.IntN(len(all)+2), 1+r.IntN(len(all))); !ok {
			return false
		}
	}
	seen := 0
	for _, count := range parts(r, len(all), stretches) {
		for end := seen + count; seen < end; {
			labels, ok := page(seen+1, end-seen)
			if !ok {
				return false
			}
			seen += len(labels)
		}
	}
	return true
}

// parts divides n into so many random parts of at least one.
func parts(r *rand.Rand, n, into int) []int {
	cuts := r.Perm(n - 1)[:into-1]
	slices.Sort(cuts)
	var out []int
	last := 0
	for _, c := range cuts {
		out = append(out, c+1-last)
		last = c + 1
	}
	return append(out, n-last)
}

// project asks for made-up projections of one object of the grove.
func (g grove) project(ctx context.Context, t *T, r *rand.Rand) {
	where := g.trees[pickOne(r, g.labels())].Path()
	whole := t.Read(ctx, where).Object()
	model := modelled(g.td) // also what the target fills in itself has to follow
	for range g.projections() {
		p := oracle.DrawProjection(r, model, whole)
		if len(p.Names) == 0 {
			continue
		}
		differs := func(p oracle.Projection) (v seen, differ bool) {
			v = g.view(ctx, t, where, model, p, whole)
			return v, v.res.Status != 200 || len(v.missing)+len(v.surplus) > 0
		}
		v, differ := differs(p)
		if !differ {
			continue
		}
		p, v = least(p, v, oracle.Projection.Smaller, differs, shrinkTries)
		t.About(v.res)
		what := "GET " + where + " with " + p.Parameter() + "=" + p.Value() + again(t, "oracle.projection")
		if t.Expect("status of "+what, 200, v.res.Status) {
			t.Expect("attributes that are missing in "+what, []string{}, v.missing)
			t.Expect("attributes that should not be in "+what, []string{}, v.surplus)
		}
		return
	}
}

// A seen is what a projection returned, compared with what it should.
type seen struct {
	res              *conformance.Response
	missing, surplus []string
}

func (g grove) view(ctx context.Context, t *T, where string, model oracle.Type, p oracle.Projection, whole *scim.Object) seen {
	res := t.Get(ctx, where, p.Parameter(), p.Value())
	shown, hidden := p.Predict(model, whole)
	has := model.Has(res.Object(), shown)
	return seen{
		res:     res,
		missing: slices.DeleteFunc(shown, func(path string) bool { return slices.Contains(has, path) }),
		surplus: model.Has(res.Object(), hidden),
	}
}
