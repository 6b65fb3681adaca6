package causes

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
)

// Each part of an explanation has a cost. The explanation with the smallest sum of costs is the best one.
const (
	// costCause is the cost of a signature in the explanation.
	costCause = 1.0
	// costUnexplained is the cost of a symptom that no signature of the explanation predicts. It is more than costCause, so that a known
	// fault explains a single symptom better than no fault.
	costUnexplained = 1.2
	// costMiss is the cost of a check that a signature predicts and that has passed. A check that did not run costs nothing: another fault may
	// have blocked it. costMiss is more than costCause, so that two faults whose checks all have findings explain the symptoms better than one
	// fault of which a check has passed.
	costMiss = 1.2
)

// A pick is a signature of the explanation with the symptoms that it predicts.
type pick struct {
	signature Signature
	symptoms  map[string]bool
	misses    int
	// certain is the number of misses without those of checks whose results vary from run to run.
	certain int
	// same is the number of symptoms with a fingerprint of the signature. other is the number of symptoms that have other fingerprints only.
	same, other int
	// foreign is the number of the symptoms in other that are probably those of another fault: another signature has one of their
	// fingerprints, or the requests succeed with a wrong value that the fault does not produce.
	foreign int
	// unlike is the number of the symptoms in other that the fault does not explain even together with other faults: another signature has one
	// of their fingerprints, or they have no shape of the signature. If a check of the signature has passed, another wrong value counts, too.
	unlike int
	// hidden is set by partlyHidden.
	hidden bool
}

// proved reports whether the findings are those of a server with the fault of the signature alone: no check of the signature has passed,
// except checks whose results vary, and at most a tenth of the symptoms have other fingerprints. Another fault may have changed these
// findings.
func (p pick) proved() bool { return p.same > 0 && p.certain == 0 && 10*p.other <= len(p.symptoms) }

// almostExact reports whether at most one of ten of the checks that could show the fault has passed: another fault may have made it pass.
func (p pick) almostExact() bool { return 10*p.misses <= len(p.symptoms) }

// explain returns the signatures that together predict the symptoms at the least cost. It chooses them one by one, always the one that
// reduces the cost most, and then removes redundant ones. It chooses the proved ones first: their evidence is stronger than that of the
// checks alone. If most symptoms are those of known faults, a signature that is almost proved or supported can replace several chosen ones.
// The keys of symptoms are the ids of checks. passed contains the checks without a finding.
func explain(symptoms map[string]*symptom, passed map[string]bool, signatures []Signature) []pick {
	fingerprints := map[string][]string{}
	for id, s := range symptoms {
		fingerprints[id] = s.fingerprints()
	}
	candidates := candidatesOf(symptoms, fingerprints, passed, signatures)
	covered := map[string]bool{}
	var chosen []pick
	provedOnly, known := true, false
	for {
		best, bestGain := -1, 0.0
		for i, p := range candidates {
			misses := p.misses
			if provedOnly {
				if !p.proved() {
					continue
				}
				misses = 0
			} else if known && p.contradicted() {
				continue
			}
			gain := -costCause - costMiss*float64(misses)
			fresh := 0
			for c := range p.symptoms {
				if !covered[c] {
					fresh++
				}
			}
			gain += costUnexplained * float64(fresh)
			if gain <= 0 {
				continue
			}
			// If two signatures reduce the cost equally, the one that predicts fewer other checks is better.
			if best < 0 || gain > bestGain || gain == bestGain && p.closer(candidates[best]) {
				best, bestGain = i, gain
			}
		}
		switch {
		case best < 0 && provedOnly:
			provedOnly, known = false, mostlyKnown(append(slices.Clone(chosen), candidates...), symptoms)
			if known {
				predicted := maps.Clone(covered)
				for _, p := range chosen {
					p.addUnblocked(symptoms, predicted)
					maps.Copy(covered, p.symptoms)
				}
			}
			continue
		case best < 0:
			if known {
				chosen = unite(chosen, candidates)
				chosen = append(chosen, partlyHidden(chosen, candidates, fingerprints)...)
			}
			return reduce(chosen, known)
		}
		chosen = append(chosen, candidates[best])
		maps.Copy(covered, candidates[best].symptoms)
		candidates = slices.Delete(candidates, best, best+1)
	}
}

// candidatesOf returns a pick for each signature that predicts a symptom. fingerprints are those of the symptoms.
func candidatesOf(symptoms map[string]*symptom, fingerprints map[string][]string, passed map[string]bool, signatures []Signature) []pick {
	var candidates []pick
	all := allFingerprints(signatures)
	for _, s := range signatures {
		p := pick{signature: s, symptoms: map[string]bool{}}
		otherValues := 0 // other wrong values in the same kind of response
		// If lists change their order or responses their content, the values in the findings differ from run to run.
		unsteady := slices.ContainsFunc(s.Checks(), func(c string) bool { return strings.HasPrefix(c, "steadiness.") })
		for _, c := range s.Checks() {
			if symptoms[c] == nil {
				if passed[c] {
					p.misses++
					if !varies(c) {
						p.certain++
					}
				}
				continue
			}
			p.symptoms[c] = true
			shown, known := fingerprints[c], s.Fingerprints[c]
			if common(symptoms[c].generatedFingerprints(), known) > 0 || common(shown, known) > 0 {
				p.same++
				continue
			}
			if shown == nil || collects(c) || unsteady {
				continue
			}
			p.other++
			elsewhere, wrong := common(shown, all[c]) > 0, symptoms[c].kind() == wrongValue
			if elsewhere || wrong {
				p.foreign++
			}
			switch {
			case elsewhere || common(shapes(shown), shapes(known)) == 0:
				p.unlike++
			case wrong:
				otherValues++
			}
		}
		if p.certain > 0 {
			p.unlike += otherValues
		}
		if unsteady && (p.proved() || p.almostProved()) {
			p.addPermuted(symptoms)
		}
		if len(p.symptoms) > 0 {
			candidates = append(candidates, p)
		}
	}
	return candidates
}

// closer reports whether a pick matches the symptoms more closely than another one with the same gain: fewer of its checks have passed or,
// if the numbers are equal, it predicts fewer symptoms.
func (p pick) closer(other pick) bool {
	return cmp.Or(cmp.Compare(p.misses, other.misses), cmp.Compare(len(p.symptoms), len(other.symptoms))) < 0
}

// reduce removes the signatures all of whose symptoms other chosen signatures predict too, and if most symptoms are those of known faults,
// also those that only explain findings that vary; see [pick.onlyVaries]. It tries those with the fewest symptoms first.
func reduce(chosen []pick, known bool) []pick {
	count := countOf(chosen)
	var order []int
	for i := range chosen {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(chosen[a].symptoms), len(chosen[b].symptoms)) })
	drop := map[int]bool{}
	for _, i := range order {
		if redundant(chosen[i], count) || known && chosen[i].onlyVaries(count) {
			drop[i] = true
			for c := range chosen[i].symptoms {
				count[c]--
			}
		}
	}
	var out []pick
	for i, p := range chosen {
		if !drop[i] {
			out = append(out, p)
		}
	}
	return out
}

// frequencies returns for each check the number of signatures with it.
func frequencies(signatures []Signature) map[string]int {
	out := map[string]int{}
	for _, s := range signatures {
		for _, c := range s.Checks() {
			out[c]++
		}
	}
	return out
}

// passedOf returns the checks that ran without a finding.
func passedOf(r *conformance.Result) map[string]bool {
	out := map[string]bool{}
	for _, c := range r.Checks {
		if c.Outcome == conformance.Pass || c.Outcome == conformance.Info {
			out[c.Check.ID] = true
		}
	}
	return out
}

// together contains the number of known faults about which each check has findings, and about which each pair of checks has findings.
type together struct {
	of   map[string]int
	both map[[2]string]int
}

// togetherOf counts the pairs among the given checks.
func togetherOf(signatures []Signature, among map[string]bool) together {
	t := together{of: map[string]int{}, both: map[[2]string]int{}}
	for _, s := range signatures {
		var present []string
		for _, c := range s.Checks() {
			if among[c] {
				present = append(present, c)
				t.of[c]++
			}
		}
		slices.Sort(present)
		for i, a := range present {
			for _, b := range present[i+1:] {
				t.both[[2]string{a, b}]++
			}
		}
	}
	return t
}

// share returns a number from 0 to 1: of the known faults about which the rarer of two checks has findings, the share about which the other
// check has findings too.
func (t together) share(a, b string) float64 {
	if strings.Compare(a, b) > 0 {
		a, b = b, a
	}
	both := t.both[[2]string{a, b}]
	if both == 0 {
		return 0
	}
	return float64(both) / float64(min(t.of[a], t.of[b]))
}
