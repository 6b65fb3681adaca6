package checks

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/internal/oracle"
	"github.com/scimwright/scimwright/scim"
)

const (
	// userPatches and otherPatches are the numbers of PATCH requests per round: for a user, and for an object of another type.
	userPatches, otherPatches = 3, 2
	// fewestOperations and mostOperations are the minimum and the maximum number of operations in a request.
	fewestOperations, mostOperations = 3, 5
	// patchShrinkTries is the maximum number of attempts to find the smallest PATCH with a difference. Each attempt uses a new object: four
	// requests, and one to delete it.
	patchShrinkTries = 8
	// beforeAndAfter is the number of requests that create, read and delete an object.
	beforeAndAfter = 3
)

const (
	changeRequests = 2*(beforeAndAfter+2*userPatches) + beforeAndAfter + 2*otherPatches
	memberRequests = beforeAndAfter + 2*otherPatches
	atomicRequests = beforeAndAfter + 2*otherPatches
)

const whyGenerated = "Clients combine operations in ways that no other check covers; if the server applies them incorrectly, accounts " +
	"have wrong data and no client gets an error."

var oracleChanges = []check{
	{
		ID:           "oracle.patch",
		Title:        "A PATCH with generated operations has exactly the effect that RFC 7644 section 3.5.2 defines for these operations",
		Requirements: reqs("RFC7644-3.5.2-25", "RFC7644-3.5.2.1-07", "RFC7644-3.5.2.2-04", "RFC7644-3.5.2.3-06", "RFC7644-3.5.2-26"),
		Level:        must,
		Needs:        patches,
		Fixture:      population,
		Requests:     changeRequests,
		PerRound:     changeRequests,
		Why:          whyGenerated,
		Fix: "Apply the operations in order, each to the result of the previous one, by the rules of RFC 7644 section 3.5.2 for its op " +
			"and for the form of its path.",
		Run: oraclePatch,
	},
	{
		ID:           "oracle.patch-atomic",
		Title:        "A PATCH of random operations, one of which must fail, changes nothing",
		Requirements: reqs("RFC7644-3.5.2-28"),
		Level:        must,
		Needs:        patches,
		Fixture:      population,
		Requests:     atomicRequests,
		PerRound:     atomicRequests,
		Why: "After an error the client repeats the whole request. If the server has applied some of the operations, these are " +
			"applied twice.",
		Fix: fixAtomic,
		Run: oraclePatchAtomic,
	},
	{
		ID:           "oracle.members",
		Title:        "After generated changes, a group has exactly the members that RFC 7644 section 3.5.2 defines for these operations",
		Requirements: reqs("RFC7644-3.5.2.1-07", "RFC7644-3.5.2.2-04", "RFC7644-3.5.2.3-04"),
		Level:        must,
		Needs:        slices.Concat(patches, needs(conformance.NeedGroup)),
		Fixture:      population,
		Requests:     memberRequests,
		PerRound:     memberRequests,
		Why:          whyMembers,
		Fix:          "Treat members as a set of ids: add inserts, remove with a filter deletes the matching members, replace sets the members.",
		Run:          oracleMembers,
	},
}

func oraclePatch(ctx context.Context, t *T) {
	tried := false
	for round := range t.Rounds() {
		for i, g := range changedPopulations(t) {
			r := oracle.Rand(t.Seed(), fmt.Sprintf("patch %s %d %d", g.td.name, round, i))
			p := oracle.NewPatcher(r, g.model, g.domain(t))
			if !p.Useful() {
				continue
			}
			tried = true
			g.checkPatches(ctx, t, r, fmt.Sprintf("oak-%d-%d", round, i), func(o *scim.Object) []oracle.Operation {
				return p.Operations(o, operationCount(r))
			})
		}
	}
	t.SkipIf(!tried, "the target stores no attribute as sent")
}

func oraclePatchAtomic(ctx context.Context, t *T) {
	g := userPopulation(t)
	rejections := 0
	for round := range t.Rounds() {
		r := oracle.Rand(t.Seed(), fmt.Sprintf("atomic %d", round))
		p := oracle.NewPatcher(r, g.model, g.domain(t))
		where, before := g.createLike(ctx, t, fmt.Sprintf("elm-%d", round), g.objects[g.labels()[r.IntN(len(g.objects))]].Resource)
		for range otherPatches {
			good := p.Operations(before, operationCount(r))
			at := len(good) - r.IntN(min(2, max(len(good), 1)))
			operations := slices.Insert(requestOperations(good), at, pickOne(r, invalidOperations))
			res := t.Patch(ctx, where, operations...)
			after := t.Read(ctx, where).Object()
			if res.OK() {
				t.Note("%s was not rejected: %s", jsonText(plain(operations[at])), res.Name)
				before = after
				continue
			}
			rejections++
			t.About(res)
			if !g.expectSame(t, before, after, afterRejection("PATCH", res)+" "+jsonText(plain(operations))+repeatHint(t, "oracle.patch-atomic")) {
				return
			}
		}
	}
	t.SkipIf(rejections == 0, "the target rejects none of the operations that must fail")
}

func oracleMembers(ctx context.Context, t *T) {
	users := userPopulation(t)
	all := typePopulations(t)
	i := slices.IndexFunc(all, func(g typePopulation) bool { return g.td.endpoint == "/Groups" })
	t.SkipIf(i < 0, "the target does not describe its groups")
	g := all[i]
	members := oracle.MembersOf()
	t.SkipIf(slices.ContainsFunc(g.labels(), func(label string) bool { return !storedAsSent(members, g.objects[label]) }),
		"the target does not return the members of a group as sent")
	g.model.Attributes = append(g.model.Attributes, members)
	var ids []string
	for _, label := range users.labels() {
		ids = append(ids, users.objects[label].ID)
	}
	for round := range t.Rounds() {
		r := oracle.Rand(t.Seed(), fmt.Sprintf("members %d", round))
		g.checkPatches(ctx, t, r, fmt.Sprintf("ash-%d", round), func(o *scim.Object) []oracle.Operation {
			return oracle.Membership(r, o, ids, operationCount(r))
		})
	}
}

// invalidOperations are operations that every server must reject (RFC 7644 section 3.5.2).
var invalidOperations = []doc{
	{"op": "remove"},
	{"op": "scimconf", "path": "title", "value": "x"},
	{"op": "replace", "path": `emails[type eq "work"`, "value": "x"},
}

// operationCount returns a random number of operations for a request.
func operationCount(r *rand.Rand) int {
	return fewestOperations + r.IntN(mostOperations-fewestOperations+1)
}

func pickOne[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// changedPopulations returns the resource types whose objects the check oracle.patch changes, with their objects: the users and the custom
// resource type, but not the groups. The users occur twice, so that the check changes two users.
func changedPopulations(t *T) []typePopulation {
	var out []typePopulation
	for _, g := range typePopulations(t) {
		switch {
		case g.td.endpoint == "/Users":
			out = append(out, g, g)
		case g.td.custom():
			out = append(out, g)
		}
	}
	return out
}

func (g typePopulation) domain(t *T) string {
	_, domain, _ := strings.Cut(t.UserName(""), "@")
	return domain
}

// patchCount returns the number of PATCH requests per object in one round.
func (g typePopulation) patchCount() int {
	if g.td.endpoint == "/Users" {
		return userPatches
	}
	return otherPatches
}

// createLike creates an object with the attribute values of the resource template. It returns the path of the new object and the resource
// as the target has stored it.
func (g typePopulation) createLike(ctx context.Context, t *T, label string, template *scim.Object) (where string, stored *scim.Object) {
	p := objectCreator{t: t, td: g.td}
	values := map[string]any{}
	for _, a := range g.model.Attributes {
		if v := a.Of(template); v != nil && (a.URN != "" || a.Name != g.td.carrier) {
			values[a.Path()] = a.Shown(v)
		}
	}
	c := p.create(ctx, label, values)
	return c.Path(), t.Read(ctx, c.Path()).Object()
}

// A patchTrial is a PATCH and its result.
type patchTrial struct {
	patch, read   *conformance.Response
	before, after *scim.Object // the resource before the PATCH, and the predicted resource after the PATCH
	rejected      bool         // the target has returned 400 to a PATCH that it may reject
}

// differs reports whether the result differs from the prediction.
func (v patchTrial) differs(g typePopulation) bool {
	return !v.acceptable() || v.read.Status != 200 ||
		slices.ContainsFunc(g.model.Attributes, func(a oracle.Attribute) bool { return !a.Same(a.Of(v.after), a.Of(v.read.Object())) })
}

// acceptable reports whether the status of the PATCH is permitted: a success, or a 400 to a PATCH that the target may reject.
func (v patchTrial) acceptable() bool { return v.patch.OK() || v.rejected }

// sendPatch sends operations and reads the resource afterwards. If the result cannot be predicted, it sends nothing and ok is false.
func (g typePopulation) sendPatch(ctx context.Context, t *T, where string, before *scim.Object,
	operations []oracle.Operation) (v patchTrial, ok bool) {
	after, settled := oracle.Apply(before, operations)
	if !settled || len(operations) == 0 {
		return v, false
	}
	v = patchTrial{before: before, after: after, patch: t.Patch(ctx, where, requestOperations(operations)...)}
	t.SkipIf(v.patch.Status == 501, "the target does not serve PATCH")
	if v.patch.Status == 400 && oracle.MayBeRejected(before, operations) {
		v.rejected, v.after = true, before
	}
	v.read = t.Get(ctx, where)
	return v, true
}

// checkPatches creates an object with the values of a random object of the population and sends generated PATCH requests to the new object.
// After each request it compares the stored resource with the prediction.
func (g typePopulation) checkPatches(ctx context.Context, t *T, r *rand.Rand, label string,
	operations func(o *scim.Object) []oracle.Operation) {
	where, stored := g.createLike(ctx, t, label, g.objects[g.labels()[r.IntN(len(g.objects))]].Resource)
	for range g.patchCount() {
		ops := operations(stored)
		v, ok := g.sendPatch(ctx, t, where, stored, ops)
		if !ok {
			continue
		}
		if v.differs(g) {
			g.reportPatch(ctx, t, label, ops, v)
			return
		}
		stored = v.read.Object()
	}
}

// reportPatch searches for the smallest PATCH whose result differs from the prediction, and reports it. It sends each PATCH to a new object
// with the values that the first object had before the PATCH.
func (g typePopulation) reportPatch(ctx context.Context, t *T, label string, operations []oracle.Operation, v patchTrial) {
	tries := 0
	state := v.before
	operations, v = shrinkCase(operations, v, func(ops []oracle.Operation) iter.Seq[[]oracle.Operation] {
		return func(yield func([]oracle.Operation) bool) {
			for simpler := range oracle.Simpler(ops) {
				if _, settled := oracle.Apply(state, simpler); settled && !yield(simpler) {
					return
				}
			}
		}
	}, func(ops []oracle.Operation) (patchTrial, bool) {
		tries++
		where, stored := g.createLike(ctx, t, fmt.Sprintf("%s-again-%d", label, tries), state)
		v, ok := g.sendPatch(ctx, t, where, stored, ops)
		return v, ok && v.differs(g)
	}, patchShrinkTries)
	t.About(v.patch)
	id := "oracle.patch"
	if g.td.endpoint == "/Groups" {
		id = "oracle.members"
	}
	suffix := "PATCH " + jsonText(plain(requestOperations(operations))) + repeatHint(t, id)
	if t.Holds(v.acceptable(), "status of "+suffix, "200 or 204", v.patch.Status) {
		t.Expect("status of GET after "+suffix, 200, v.read.Status)
		g.expectSame(t, v.after, v.read.Object(), "after "+suffix)
	}
}

// expectSame compares the attributes of the model in two resources, records a finding for each difference, and reports whether the
// resources are equal.
func (g typePopulation) expectSame(t *T, want, got *scim.Object, when string) bool {
	equal := true
	for _, a := range g.model.Attributes {
		if !a.Same(a.Of(want), a.Of(got)) {
			equal = t.Holds(false, a.Path()+" "+when, jsonText(a.Shown(a.Of(want))), a.Shown(a.Of(got)))
		}
	}
	return equal
}

// requestOperations converts operations to the form of a request.
func requestOperations(operations []oracle.Operation) []doc {
	var out []doc
	for _, op := range operations {
		d := doc{}
		for name, v := range op.Object().All() {
			d[name] = v
		}
		out = append(out, d)
	}
	return out
}
