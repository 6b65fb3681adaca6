package causes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
)

// attachBlocked adds each precondition that blocked checks to the cause that explains it. For each precondition without such a cause, it
// returns a further one. found[i] is the cause of groups[i].
func attachBlocked(groups []*group, found []Cause, preconditions []*blocked, signatures []Signature, byID map[string]*symptom) []Cause {
	var further []Cause
	for _, b := range preconditions {
		i := slices.IndexFunc(groups, func(g *group) bool { return common(b.named, g.checks) > 0 })
		if i < 0 {
			i = slices.IndexFunc(groups, func(g *group) bool { return g.general.headline != "" && b.readsDocument(g, byID) })
		}
		if i < 0 {
			i = most(groups, func(g *group) int { return b.sameResponse(g, byID) })
		}
		if i < 0 {
			i = most(groups, func(g *group) int { return common(b.checks, g.blocks) })
		}
		if i < 0 {
			i = most(groups, func(g *group) int { return b.blockedWith(g, signatures) })
		}
		if i < 0 {
			i = b.onlyOfArea(groups)
		}
		if i >= 0 {
			found[i].Blocked = append(found[i].Blocked, b.checks...)
			continue
		}
		further = append(further, Cause{
			ID:       fmt.Sprintf("blocked.%d", len(further)+1),
			Headline: clip(plain(strings.TrimPrefix(b.reason, "blocked: ")), maxHeadline),
			Outcome:  conformance.Warn,
			Blocked:  b.checks,
			Why:      "The blocked checks need this request or state as a preparation. Without it, they cannot test the target.",
			Fix:      "Correct the response to the request, or provide the state, and run the blocked checks again.",
		})
	}
	return further
}

// sameResponse returns the number of checks of the group with a finding that shows the request that blocked the checks, with the same
// status.
func (b *blocked) sameResponse(g *group, byID map[string]*symptom) int {
	n := 0
	for _, id := range g.checks {
		if b.request != "" &&
			slices.ContainsFunc(byID[id].evidence, func(e evidence) bool { return e.request == b.request && e.status == b.status }) {
			n++
		}
	}
	return n
}

// readsDocument reports whether the reason names a discovery document that is missing according to the group.
func (b *blocked) readsDocument(g *group, byID map[string]*symptom) bool {
	var own []*symptom
	for _, id := range g.checks {
		own = append(own, byID[id])
	}
	missing := missingDocuments(own)
	if strings.Contains(b.reason, "resource types and schemas") {
		return slices.Contains(missing, "/ResourceTypes") || slices.Contains(missing, "/Schemas")
	}
	return slices.ContainsFunc(missing, func(d string) bool { return strings.Contains(b.reason, strings.TrimPrefix(d, "/")) })
}

// blockedWith returns the number of known faults that explain both the blocked checks and the group: the fault blocks one of the checks,
// and the telling check of the group has findings about the fault.
func (b *blocked) blockedWith(g *group, signatures []Signature) int {
	n := 0
	for _, s := range signatures {
		if common(b.checks, s.Blocks) > 0 && (s.Telling == g.checks[0] || slices.Contains(s.Others, g.checks[0])) {
			n++
		}
	}
	return n
}

// onlyOfArea returns the index of the group whose telling check has the same area as a blocked check. It returns -1 if there is no such
// group or more than one.
func (b *blocked) onlyOfArea(groups []*group) int {
	only := -1
	for i, g := range groups {
		area, _, _ := strings.Cut(g.checks[0], ".")
		if slices.ContainsFunc(b.checks, func(id string) bool { return outside(id, area) == 0 }) {
			if only >= 0 {
				return -1
			}
			only = i
		}
	}
	return only
}

// common returns the number of elements of a that are in b.
func common(a, b []string) int {
	n := 0
	for _, x := range a {
		if slices.Contains(b, x) {
			n++
		}
	}
	return n
}

// most returns the index of the first group with the greatest positive score, -1 if no score is positive.
func most(groups []*group, score func(*group) int) int {
	best, highest := -1, 0
	for i, g := range groups {
		if n := score(g); n > highest {
			best, highest = i, n
		}
	}
	return best
}
