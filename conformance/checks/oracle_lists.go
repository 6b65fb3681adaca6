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
	randomPages                     = 3 // pages at random indexes
	consecutivePages                = 4 // consecutive pages
	manyProjections, fewProjections = 4, 2
)

var oracleLists = []check{
	{
		ID:           "oracle.sort",
		Title:        "Lists are sorted by any string attribute of the schemas, in both directions, case-insensitively unless caseExact is true",
		Requirements: reqs("RFC7644-3.4.2.3-02", "RFC7644-3.4.2.3-06", "RFC7644-3.4.2.3-08"),
		Level:        must,
		Needs:        sorts,
		Fixture:      population,
		Requests:     manySorts + 2*fewSorts,
		PerRound:     manySorts + 2*fewSorts,
		Why: "Clients read only the first pages of a sorted list; if the server ignores the attribute in sortBy, they get the wrong " +
			"users.",
		Fix: "Order by the value of the attribute in sortBy, including extensions and sub-attributes; compare case-insensitively unless " +
			"caseExact is true.",
		Run: oracleSort,
	},
	{
		ID:           "oracle.pages",
		Title:        "Pages of any size at any index are parts of the same list, and consecutive pages have no gap or repetition",
		Requirements: reqs("RFC7644-3.4.2.4-13", "RFC7644-3.4.2.4-02", "RFC7644-3.4.2.4-04", "RFC7644-3.4.2.4-10"),
		Level:        should,
		Needs:        slices.Concat(filters, needs(conformance.NeedIndex)),
		Fixture:      population,
		Requests:     1 + randomPages + consecutivePages,
		PerRound:     1 + randomPages + consecutivePages,
		Why:          "Clients change their page size when a response is too large; a gap or repetition then loses or duplicates users.",
		Fix:          "Skip startIndex-1 matches and return the next count matches; do not assume that startIndex is a multiple of count.",
		Run:          oraclePages,
	},
	{
		ID: "oracle.projection",
		Title: "attributes= returns exactly the attributes and sub-attributes that it names and those that are always returned; " +
			"excludedAttributes= omits exactly those that it names",
		Requirements: reqs("RFC7644-3.9-02", "RFC7644-3.9-03", "RFC7644-3.9-05", "RFC7644-3.9-08"),
		Level:        must,
		Needs:        writesUsers,
		Fixture:      population,
		Requests:     1 + manyProjections + 2*(1+fewProjections),
		PerRound:     1 + manyProjections + 2*(1+fewProjections),
		Why: "A client that does not receive a requested attribute deletes it with its next PUT; an extra attribute can be large or " +
			"confidential.",
		Fix: "Resolve every name of the parameter as an attribute path, with URNs and sub-attributes, and return (or omit) the attributes of " +
			"all names, also if a resource lacks some of them.",
		Run: oracleProjection,
	},
}

func oracleSort(ctx context.Context, t *T) {
	asked := 0
	for _, g := range typePopulations(t) {
		keys := oracle.Keys(g.model, g.stored())
		r := oracle.Rand(t.Seed(), "sort "+g.td.name)
		for range t.Rounds() * g.sortCount() {
			if len(keys) == 0 {
				break
			}
			res, ok := g.checkSorted(ctx, t, pickOne(r, keys), r.IntN(2) == 0)
			asked++
			if t.About(res); !ok {
				break
			}
		}
	}
	t.SkipIf(asked == 0, "the objects of this check have no string attribute in common whose values every collation sorts in the same order")
}

func oraclePages(ctx context.Context, t *T) {
	g := userPopulation(t)
	for round := range t.Rounds() {
		if !g.checkPages(ctx, t, oracle.Rand(t.Seed(), fmt.Sprintf("pages %d", round))) {
			return
		}
	}
}

func oracleProjection(ctx context.Context, t *T) {
	for round := range t.Rounds() {
		for _, g := range typePopulations(t) {
			r := oracle.Rand(t.Seed(), fmt.Sprintf("projection %s %d", g.td.name, round))
			g.checkProjections(ctx, t, r)
		}
	}
}

// sortCount returns the number of sorted lists per round.
func (g typePopulation) sortCount() int {
	if g.td.endpoint == "/Users" {
		return manySorts
	}
	return fewSorts
}

// projectionCount returns the number of projections per round.
func (g typePopulation) projectionCount() int {
	if g.td.endpoint == "/Users" {
		return manyProjections
	}
	return fewProjections
}

// scope returns a filter that matches the objects of the population.
func (g typePopulation) scope() string { return g.td.carrier + " sw " + quote(g.prefix) }

// checkSorted requests the list of the objects sorted by the attribute key. The bool reports whether all objects are in the list and in the
// correct order.
func (g typePopulation) checkSorted(ctx context.Context, t *T, key oracle.Name, descending bool) (*conformance.Response, bool) {
	direction := "ascending"
	if descending {
		direction = "descending"
	}
	query := []string{"filter", g.scope(), "sortBy", key.Text, "sortOrder", direction, "count", "200"}
	res := t.Get(ctx, g.td.endpoint, query...)
	t.SkipIf(res.Status == 400 || res.Status == 501, "the target rejects the filter that selects the objects, or sorting by "+key.Text)
	what := g.td.name + "s sorted by " + key.Text + ", " + direction + repeatHint(t, "oracle.sort")
	if !t.Expect("status of the list of "+what, 200, res.Status) {
		return res, false
	}
	labels := g.labelsOf(allIDsOf(ctx, t, g.td.endpoint, res, query...))
	if !t.Expect(what+", in any order", g.labels(), sorted(labels...)) {
		return res, false
	}
	keys := []string{}
	for _, label := range labels {
		keys = append(keys, key.Key(g.objects[label].Resource))
	}
	want := slices.Sorted(slices.Values(keys))
	if descending {
		slices.Reverse(want)
	}
	return res, t.Holds(oracle.InOrder(keys, descending), what, jsonText(plain(want)), keys)
}

// checkPages reads pages of users: at random indexes, then consecutive pages of random sizes. It returns false after the first finding.
func (g typePopulation) checkPages(ctx context.Context, t *T, r *rand.Rand) bool {
	query := []string{"filter", g.scope()}
	unstable := t.Capabilities.Steadiness.UnstableOrder
	ordered, _ := t.Capabilities.Supports("sort")
	if !ordered {
		skipUnstable(t)
	}
	if ordered && (r.IntN(2) == 0 || unstable) {
		query = append(query, "sortBy", g.td.carrier)
	}
	first := t.Get(ctx, g.td.endpoint, append(query, "count", "200")...)
	t.SkipIf(first.Status != 200, "blocked: the filter that selects the users is rejected")
	all := g.labelsOf(allIDsOf(ctx, t, g.td.endpoint, first, append(query, "count", "200")...))
	t.SkipIf(!slices.Equal(sorted(all...), g.labels()),
		"blocked: the filter that selects the users of this check does not return exactly these users")
	page := func(start, count int) (labels []string, ok bool) {
		res := t.Get(ctx, g.td.endpoint, append(query, "startIndex", strconv.Itoa(start), "count", strconv.Itoa(count))...)
		what := fmt.Sprintf("with startIndex=%d and count=%d%s", start, count, repeatHint(t, "oracle.pages"))
		if !t.Expect("status of a list "+what, 200, res.Status) ||
			!t.Expect("totalResults "+what, len(all), value(res.Object(), "totalResults")) {
			return nil, false
		}
		labels = g.labelsOf(res.IDs())
		want := all[min(start-1, len(all)):min(start-1+count, len(all))]
		// A page may have fewer items than requested, but at least one (RFC 7644 section 3.4.2.4).
		cut := want[:min(max(len(labels), min(1, len(want))), len(want))]
		return labels, t.Expect("users "+what, cut, labels)
	}
	for range randomPages {
		if _, ok := page(1+r.IntN(len(all)+2), 1+r.IntN(len(all))); !ok {
			return false
		}
	}
	seen := 0
	for _, count := range splitRandomly(r, len(all), consecutivePages) {
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

// splitRandomly returns random numbers of at least 1 whose sum is n. count is the number of these numbers.
func splitRandomly(r *rand.Rand, n, count int) []int {
	cuts := r.Perm(n - 1)[:count-1]
	slices.Sort(cuts)
	var out []int
	last := 0
	for _, c := range cuts {
		out = append(out, c+1-last)
		last = c + 1
	}
	return append(out, n-last)
}

// checkProjections requests one object of the population with generated values of attributes and excludedAttributes, and compares the
// attributes in each response with the prediction.
func (g typePopulation) checkProjections(ctx context.Context, t *T, r *rand.Rand) {
	where := g.objects[pickOne(r, g.labels())].Path()
	whole := t.Read(ctx, where).Object()
	model := oracleType(g.td) // the complete type, including attributes that the target sets itself
	for range g.projectionCount() {
		p := oracle.DrawProjection(r, model, whole)
		if len(p.Names) == 0 {
			continue
		}
		differs := func(p oracle.Projection) (v projectionResult, differ bool) {
			v = g.readProjection(ctx, t, where, model, p, whole)
			return v, v.res.Status != 200 || len(v.missing)+len(v.surplus) > 0
		}
		v, differ := differs(p)
		if !differ {
			continue
		}
		p, v = shrinkCase(p, v, oracle.Projection.Smaller, differs, shrinkTries)
		t.About(v.res)
		what := "GET " + where + " with " + p.Parameter() + "=" + p.Value() + repeatHint(t, "oracle.projection")
		if t.Expect("status of "+what, 200, v.res.Status) {
			t.Expect("missing attributes in "+what, []string{}, v.missing)
			t.Expect("unexpected attributes in "+what, []string{}, v.surplus)
		}
		return
	}
}

// A projectionResult is the response to a projection. It lists the paths that are missing in the response or that must not be there.
type projectionResult struct {
	res              *conformance.Response
	missing, surplus []string
}

func (g typePopulation) readProjection(ctx context.Context, t *T, where string, model oracle.Type, p oracle.Projection,
	whole *scim.Object) projectionResult {
	res := t.Get(ctx, where, p.Parameter(), p.Value())
	shown, hidden := p.Predict(model, whole)
	has := model.Has(res.Object(), shown)
	return projectionResult{
		res:     res,
		missing: slices.DeleteFunc(shown, func(path string) bool { return slices.Contains(has, path) }),
		surplus: model.Has(res.Object(), hidden),
	}
}
