package causes

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/scimwright/scimwright/conformance"
)

// A target can have several known faults that affect the findings about each other. The rules in this file apply to such a target. They do
// not change the causes of a target whose findings are mostly those of unknown faults.

// knownShare is the minimum share of the symptoms, in percent, whose findings must have the fingerprints of known faults so that the target
// has mostly known faults. The findings about servers of other makers have shares from 22 to 64, those about servers with 20 mutants mostly
// shares of more than 90.
const knownShare = 75

// mostlyKnown reports whether most symptoms have the fingerprints of known faults that explain them. The other symptoms are then probably
// effects of several of these faults together, and the known faults are separate causes.
func mostlyKnown(picks []pick, symptoms map[string]*symptom) bool {
	known := map[string]bool{}
	for _, p := range picks {
		if !p.proved() && minMatches*(p.other+p.certain) > p.same {
			continue
		}
		for id := range p.symptoms {
			fingerprints := symptoms[id].fingerprints()
			if fingerprints == nil || common(fingerprints, p.signature.Fingerprints[id]) > 0 {
				known[id] = true
			}
		}
	}
	return len(symptoms) > 0 && 100*len(known) >= knownShare*len(symptoms)
}

// minLinkKnown replaces minLink in a run with mostly known faults: a symptom that no known fault predicts joins the known fault with which
// it shares the most evidence.
const minLinkKnown = 0.5

// minMatches is the minimum number of symptoms with a fingerprint of a signature for each of its checks that has passed, so that the
// signature is almost proved.
const minMatches = 3

// minReordered replaces minMatches for a fault that changes the order of lists: chance decides which of its checks have findings.
const minReordered = 2

// almostProved reports whether the findings are those of a server with the fault of the signature, except that a few of its checks have
// passed, or a tenth of the symptoms have other fingerprints. Another fault has probably changed their results.
func (p pick) almostProved() bool {
	least := minMatches
	if slices.Contains(p.signature.Checks(), changingOrder) {
		least = minReordered
	}
	return p.same >= least*max(1, p.certain) && 10*p.other <= len(p.symptoms)
}

// supported reports whether the findings are those of a server with the fault of the signature, except that some symptoms have other
// fingerprints: at least minMatches symptoms have a fingerprint of the signature for each that has another one and each check that has
// passed. Another fault has probably changed these results.
func (p pick) supported() bool { return p.other > 0 && p.same >= minMatches*(p.other+p.certain) }

// contradicted reports whether all findings are those of other faults: none has a fingerprint of the signature, and the fault explains none
// even together with other faults; see [pick.unlike].
func (p pick) contradicted() bool { return p.same == 0 && p.other > 0 && p.unlike == p.other }

// costHidden is the cost of a check of an almost proved or supported signature that has passed, and of a changed finding of a supported
// signature: as much as a further fault. One hidden check and two faults therefore cost the same.
const costHidden = costCause

// unite replaces several chosen picks by one candidate that is almost proved or supported, if the candidate predicts their symptoms that no
// other pick predicts, and the replacement reduces the cost: one fault, of which another fault hides or changes a part, explains them
// better than several faults.
func unite(chosen, candidates []pick) []pick {
	for range chosen { // each replacement reduces the number of picks
		best, bestGain := -1, 0.0
		var remaining []pick
		for i, p := range candidates {
			if (!p.almostProved() || p.certain == 0) && !p.supported() {
				continue
			}
			if kept, gain := p.replaces(chosen); gain > bestGain && len(kept) < len(chosen)-1 {
				best, bestGain, remaining = i, gain, append(kept, p)
			}
		}
		if best < 0 {
			break
		}
		chosen = remaining
		candidates = slices.Delete(slices.Clone(candidates), best, best+1)
	}
	return chosen
}

// minCollected is the least number of fingerprints of a known fault that show it if the check evaluates the requests of all checks: a
// single request can show the effect of several faults together.
const minCollected = 2

// partlyHidden returns the candidates that explain a finding which no chosen pick predicts, although half of their checks have passed: no
// other candidate explains it, and all findings with other fingerprints are those of other known faults. Another fault, such as errors in
// another form, hides the rest of such a fault. fingerprints are those of the symptoms.
func partlyHidden(chosen, candidates []pick, fingerprints map[string][]string) []pick {
	count := countOf(chosen)
	candidates = slices.DeleteFunc(slices.Clone(candidates), func(p pick) bool { return p.certain > p.same })
	explained := map[string]int{} // the number of candidates with a fingerprint of a check
	for _, p := range candidates {
		for id, own := range p.signature.Fingerprints {
			for _, f := range own {
				explained[id+f]++
			}
		}
	}
	var out []pick
	for _, p := range candidates {
		if p.other > p.foreign {
			continue
		}
		for id := range p.symptoms {
			own := p.signature.Fingerprints[id]
			if count[id] > 0 || collects(id) && common(fingerprints[id], own) < minCollected {
				continue
			}
			if slices.ContainsFunc(fingerprints[id], func(f string) bool { return slices.Contains(own, f) && explained[id+f] == 1 }) {
				p.hidden = true
			}
		}
		if p.hidden {
			out = append(out, p)
		}
	}
	return out
}

// replaces returns the picks that remain if p is added, and by how much the cost is less. It removes the picks that share symptoms with p
// and are redundant with it.
func (p pick) replaces(chosen []pick) (kept []pick, gain float64) {
	gain = -costCause - costHidden*float64(p.certain)
	if !p.almostProved() {
		gain -= costHidden * float64(p.other)
	}
	for id, n := range countOf(append(slices.Clone(chosen), p)) {
		if n == 1 && p.symptoms[id] {
			gain += costUnexplained
		}
	}
	count := countOf(append(slices.Clone(chosen), p))
	for _, c := range chosen {
		shared := slices.ContainsFunc(p.signature.Checks(), func(id string) bool { return p.symptoms[id] && c.symptoms[id] })
		if !shared || !redundant(c, count) {
			kept = append(kept, c)
			continue
		}
		for id := range c.symptoms {
			count[id]--
		}
		gain += costCause + costMiss*float64(c.certain)
	}
	return kept, gain
}

// countOf returns for each symptom the number of picks that predict it.
func countOf(picks []pick) map[string]int {
	count := map[string]int{}
	for _, p := range picks {
		for c := range p.symptoms {
			count[c]++
		}
	}
	return count
}

// redundant reports whether other picks predict all symptoms of a pick. count is the number of picks that predict each symptom.
func redundant(p pick, count map[string]int) bool {
	for c := range p.symptoms {
		if count[c] == 1 {
			return false
		}
	}
	return true
}

// onlyVaries reports whether all symptoms of a pick that no other pick predicts are those of checks whose findings vary, although the pick
// has other symptoms too: any fault of the same feature can be the reason for such findings. count is the number of picks that predict each
// symptom.
func (p pick) onlyVaries(count map[string]int) bool {
	plain := false
	for c := range p.symptoms {
		if !varies(c) {
			if count[c] == 1 {
				return false
			}
			plain = true
		}
	}
	return plain
}

// unblockedShare is the minimum share, in percent, of the checks that a fault blocks that must have findings. Then another fault has
// changed the response that blocks them. If fewer have findings, they can be the symptoms of other faults.
const unblockedShare = 75

// addUnblocked adds the symptoms of the checks that the fault blocks if the target has no other fault. If most of these checks have
// findings, another fault has changed the response that blocks them, and their findings are effects of both faults. Therefore it also adds
// symptoms that other chosen picks predict, unless it is only one: one more fault is more probable than several. predicted contains the
// symptoms that the chosen picks predict.
func (p pick) addUnblocked(symptoms map[string]*symptom, predicted map[string]bool) {
	complaining := slices.DeleteFunc(slices.Clone(p.signature.Blocks), func(id string) bool { return symptoms[id] == nil })
	if 100*len(complaining) < unblockedShare*len(p.signature.Blocks) {
		return
	}
	onlyOne := number(complaining, func(id string) bool { return predicted[id] }) == 1
	for _, id := range complaining {
		if !predicted[id] || !onlyOne {
			p.symptoms[id] = true
		}
	}
}

// changingOrder is the check that has findings about a target whose lists change their order.
const changingOrder = "steadiness.list-order"

// addPermuted adds symptoms of the areas of the signature whose findings show the expected values in another order. It does so only if the
// signature is that of a target whose lists change their order: chance decides which of the checks have findings.
func (p pick) addPermuted(symptoms map[string]*symptom) {
	if !p.symptoms[changingOrder] {
		return
	}
	var areas []string
	for _, c := range p.signature.Checks() {
		areas = append(areas, features(c)...)
	}
	for id, s := range symptoms {
		if common(features(id), areas) > 0 && slices.ContainsFunc(s.findings, permuted) {
			p.symptoms[id] = true
		}
	}
}

// permuted reports whether a finding shows the expected values in another order.
func permuted(f conformance.Finding) bool {
	var want, got []string
	if json.Unmarshal([]byte(f.Want), &want) != nil || json.Unmarshal([]byte(f.Got), &got) != nil || len(want) < 2 {
		return false
	}
	slices.Sort(want)
	slices.Sort(got)
	return slices.Equal(want, got)
}

// takePlain moves a symptom from another group to a group of a proved fault whose symptoms are all weak, if both faults predict it and the
// other group keeps a symptom that is not weak: without it, the group has no finding that describes its fault.
func (g *group) takePlain(p pick, owner map[string]*group, frequency map[string]int) {
	plain := func(id string) bool { return !weak(id) }
	if !g.proved || slices.ContainsFunc(g.checks, plain) {
		return
	}
	var shared []string
	for id := range p.symptoms {
		if from := owner[id]; plain(id) && from != nil && from != g &&
			slices.ContainsFunc(from.checks, func(other string) bool { return other != id && plain(other) }) {
			shared = append(shared, id)
		}
	}
	if len(shared) == 0 {
		return
	}
	id := slices.MinFunc(shared, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(p, a, frequency), rank(p, b, frequency)), cmp.Compare(a, b))
	})
	from := owner[id]
	from.checks = slices.DeleteFunc(from.checks, func(other string) bool { return other == id })
	delete(from.predicted, id)
	owner[id] = g
	g.checks = slices.Insert(g.checks, 0, id)
	g.predicted[id] = true
}

// weak reports whether many faults can be the reason for a finding of a check, because it generates its requests, sends concurrent ones, or
// evaluates the requests of all checks.
func weak(id string) bool { return varies(id) || collects(id) }

// attachCollected moves groups to the group with the strongest link, if there is one. It moves the groups that consist only of checks that
// evaluate the requests of all checks, unless they are known faults: their findings are effects of other faults.
func attachCollected(groups []*group, byID map[string]*symptom, l *linker) []*group {
	collected := map[*group]bool{}
	for _, g := range groups {
		collected[g] = !g.exact && !g.proved && !slices.ContainsFunc(g.checks, func(id string) bool {
			return !collects(id) || common(byID[id].fingerprints(), g.fingerprints[id]) >= minCollected
		})
	}
	var out []*group
	for _, g := range groups {
		if !collected[g] {
			out = append(out, g)
			continue
		}
		var best *group
		most := 0.0
		for _, other := range groups {
			if collected[other] {
				continue
			}
			weight := 0.0
			for _, id := range g.checks {
				weight = max(weight, l.groupWeight(id, other))
			}
			if weight > most {
				best, most = other, weight
			}
		}
		if best == nil {
			out = append(out, g)
			continue
		}
		best.checks = append(best.checks, g.checks...)
		best.blocks = append(best.blocks, g.blocks...)
	}
	return out
}
