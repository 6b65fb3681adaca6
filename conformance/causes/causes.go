package causes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// A Cause is a fault of the target that explains findings of a run.
type Cause struct {
	// ID identifies the cause within the result: the id of the telling check, whose finding describes the fault best, or "blocked" and a
	// number for a precondition without a finding.
	ID string
	// Headline states the fault as a sentence without a full stop, of at most 88 characters.
	Headline string
	// Rule is the title of the telling check: what a conforming target does. It is empty for a blocked precondition.
	Rule string
	// Level is the level of what the headline states: Must, Should or Interop. It is empty for a blocked precondition.
	Level conformance.Level
	// Outcome is Fail if one of the findings is a Fail, otherwise Warn. Another finding than that of the headline may be the Fail.
	Outcome conformance.Outcome
	// Checks are the ids of the checks that the cause explains, the telling one first.
	Checks []string
	// Blocked are the ids of the checks that could not be completed because of the cause.
	Blocked []string
	// Findings is the number of findings of Checks with the outcome Fail or Warn that are not waived, Fails that of those with Fail.
	Findings, Fails int
	// Exchange is a redacted exchange that shows the fault. It is nil if no single exchange shows it.
	Exchange *wirelog.Exchange
	// Write is the write of the resource that Exchange reads; see [conformance.Finding].
	Write *wirelog.Exchange
	// Preparation contains the requests that created the objects on which Exchange and Write depend; see [conformance.Finding].
	Preparation []conformance.Preparation
	// Why describes who is affected, and Fix what to change in the target.
	Why, Fix string
	// Clients are the provisioning clients that depend on a requirement that the cause violates.
	Clients []string
}

// Of returns the causes of the findings of a result, the most consequential first: those that violate a MUST, then those that affect
// clients, then those that explain the most. Waived findings and the steps of client flows have no cause.
func Of(r *conformance.Result) []Cause { return Explain(r, known()) }

// Explain is [Of] with the given signatures.
func Explain(r *conformance.Result, signatures []Signature) []Cause {
	symptoms := symptomsOf(r)
	byID := map[string]*symptom{}
	observed := map[string]bool{}
	for _, s := range symptoms {
		byID[s.check.ID] = s
		observed[s.check.ID] = true
	}
	passed := passedOf(r)
	picks := explain(byID, passed, signatures)
	groups := groupsOf(symptoms, passed, picks, newLinker(symptoms, togetherOf(signatures, observed)), frequencies(signatures))
	var out []Cause
	for _, g := range groups {
		out = append(out, g.cause(byID))
	}
	out = append(out, attachBlocked(groups, out, blockedOf(r), byID, mostlyKnown(picks, byID))...)
	slices.SortStableFunc(out, func(a, b Cause) int {
		return cmp.Or(
			cmp.Compare(severity(b), severity(a)),
			cmp.Compare(min(len(b.Clients), 1), min(len(a.Clients), 1)),
			cmp.Compare(len(b.Checks)+len(b.Blocked), len(a.Checks)+len(a.Blocked)),
		)
	})
	return out
}

// severity returns a higher number for a cause that violates a MUST, and an even higher one if its headline says so.
func severity(c Cause) int {
	switch {
	case c.Level == conformance.Must:
		return 2
	case c.Outcome == conformance.Fail:
		return 1
	}
	return 0
}

// A group is the set of symptoms of one cause. The first of its checks is the telling one, whose finding describes the cause.
type group struct {
	checks []string
	// blocks are the checks that the signature of the group blocks.
	blocks []string
	// fingerprints are those of the signature of the group.
	fingerprints map[string][]string
	// exact is set if the checks of the group are exactly those that have findings about a known fault.
	exact bool
	// predicted are the symptoms that the signature of the group predicts, without those of another kind. The other symptoms of the group
	// share evidence with them.
	predicted map[string]bool
	// sure is set if the signature explains the group without doubt: at least a third of the checks that the signature predicts have findings.
	// In a run with manySymptoms symptoms, all of them must have findings.
	sure bool
	// proved is set if the findings about the symptoms have the fingerprints of the known fault; see [pick.proved]. Broad rules for equal
	// values, and topics of which most checks have passed, do not merge such groups. If most symptoms are those of known faults, proved is
	// also set if the fault is almost proved, supported or partly hidden, and no topic or broad rule merges or divides such groups.
	proved bool
	// general has the texts of a general fault. They are empty for other groups.
	general generalText
}

// A symptom joins a group if the weight of its links to a symptom of the group is at least minLink. A run with more than fewSymptoms
// symptoms needs more weight: linkGrowth for each doubling. For a run with mostly known faults, see minLinkKnown.
var (
	minLink     = 0.9
	linkGrowth  = 0.2
	fewSymptoms = 6.0
)

// manySymptoms is a number of symptoms: a target with that many has so many faults that together they resemble other faults.
const manySymptoms = 120

// groupsOf returns the groups of all symptoms: first those of the signatures, with the symptoms that are linked to them, then those of the
// remaining symptoms.
func groupsOf(symptoms []*symptom, passed map[string]bool, picks []pick, l *linker, frequency map[string]int) []*group {
	owner := map[string]*group{}
	byID := map[string]*symptom{}
	for _, s := range symptoms {
		byID[s.check.ID] = s
	}
	var out []*group
	pickOf := map[*group]pick{}
	known := mostlyKnown(picks, byID)
	owners := map[string]int{}
	for _, p := range picks {
		for c := range p.symptoms {
			owners[c]++
		}
	}
	for _, p := range picks {
		checks := len(p.signature.Checks())
		g := &group{
			blocks: p.signature.Blocks, fingerprints: p.signature.Fingerprints, predicted: map[string]bool{},
			proved: p.proved() || known && (p.almostProved() || p.supported() || p.hidden),
		}
		g.exact = len(p.symptoms) == checks || g.proved
		g.sure = g.exact || 3*len(p.symptoms) >= checks && len(symptoms) < manySymptoms
		leak := leaks[p.signature.Telling]
		ids := slices.Collect(func(yield func(string) bool) {
			for _, s := range symptoms {
				if p.symptoms[s.check.ID] && (leaks[s.check.ID] == leak || g.exact) && !yield(s.check.ID) {
					return
				}
			}
		})
		// The checks of the signature come first, then the symptoms that the fewest picks predict, because the first symptom represents the
		// group. A symptom that several picks predict belongs to the first of these picks.
		added := func(id string) int { return 1 - common([]string{id}, p.signature.Checks()) }
		slices.SortStableFunc(ids, func(a, b string) int {
			return cmp.Or(cmp.Compare(added(a), added(b)), cmp.Compare(owners[a], owners[b]),
				cmp.Compare(rank(p, a, frequency), rank(p, b, frequency)))
		})
		if !p.almostExact() && !g.proved {
			ids = ofOneKind(ids, byID)
		}
		for _, id := range ids {
			if owner[id] == nil && (p.almostExact() || g.proved || len(g.checks) == 0 || !differentlyAccepted(byID[g.checks[0]], byID[id])) {
				owner[id] = g
				g.checks = append(g.checks, id)
				g.predicted[id] = true
			}
		}
		if len(g.checks) == 0 {
			continue
		}
		out = append(out, g)
		pickOf[g] = p
	}
	for _, g := range out {
		g.takePlain(pickOf[g], owner, frequency)
		if constant := func(id string) bool { return !varies(id) }; !slices.ContainsFunc(g.checks, constant) &&
			slices.ContainsFunc(pickOf[g].signature.Checks(), constant) {
			// Only checks that generate their requests remain in the group. Any fault can be the reason for their findings.
			g.exact, g.sure, g.proved = false, false, false
		}
	}
	need := minLink + linkGrowth*math.Log2(max(1, float64(len(symptoms))/fewSymptoms))
	if known {
		need = minLinkKnown
	}
	for _, s := range symptoms {
		id := s.check.ID
		if owner[id] != nil {
			continue
		}
		var best *group
		most := 0.0
		for _, g := range out {
			if w := l.groupWeight(id, g); w >= need && w > most && g.kind(byID) != opposite(s.kind()) && !opposed(id, g.checks, byID) {
				best, most = g, w
			}
		}
		if best == nil {
			best = &group{}
			out = append(out, best)
		}
		owner[id] = best
		best.checks = append(best.checks, id)
	}
	out = primaryValues.separate(out, byID, known)
	var apart []*group
	if known {
		// The rules for broad faults and topics would merge known faults, except the rules for the effects of several known faults.
		proved := map[*group]bool{}
		for _, g := range out {
			proved[g] = g.proved
		}
		out = mergeBroad(slices.DeleteFunc(slices.Clone(broadRules), func(r broadRule) bool { return !r.known }), out, symptoms)
		apart = slices.DeleteFunc(slices.Clone(out), func(g *group) bool { return !proved[g] })
		out = slices.DeleteFunc(out, func(g *group) bool { return proved[g] })
	}
	out = append(apart, gatherTopics(splitErrors(mergeBroad(broadRules, out, symptoms), symptoms), symptoms, passed)...)
	out = attachGenerated(out, byID, known)
	if known {
		out = attachCollected(out, byID, l)
	} else {
		out = mergeOperators(out, byID)
	}
	out = projection.separate(gatherGeneral(attachServerErrors(out, symptoms, known), symptoms, known), byID, known)
	for _, g := range out {
		g.putTellingFirst(symptoms)
	}
	return out
}

// differentlyAccepted reports whether symptom b shows that the target accepts a request that it must reject, and symptom a does not show
// the same for this kind of request. Each kind of request that a target does not validate is a fault of its own, unless the checks that
// have findings are exactly those of one known fault.
func differentlyAccepted(a, b *symptom) bool {
	_, one := a.shown()
	_, other := b.shown()
	return other.accepted() && (!one.accepted() || one.endpoint != other.endpoint || one.operation != other.operation)
}

// A kind is what a finding shows about a request that the target must accept: it is rejected, or its successful response has wrong
// contents.
type kind string

const (
	otherKind  kind = ""
	rejection  kind = "rejection"
	wrongValue kind = "wrong value"
)

// opposite returns the kind that has no common cause with the given one: a fault that makes the target reject requests does not change the
// contents of its successful responses. otherKind has the opposite "none", which no finding has.
func opposite(k kind) kind {
	switch k {
	case rejection:
		return wrongValue
	case wrongValue:
		return rejection
	}
	return "none"
}

// kind returns the kind of the finding that represents the symptom.
func (s *symptom) kind() kind {
	switch _, e := s.shown(); {
	case rejected(e) && !strings.HasPrefix(e.want, "4"):
		return rejection
	case succeeded(e) && !e.accepted():
		return wrongValue
	}
	return otherKind
}

// kind returns the kind of at least uniformShare percent of the checks, if the group has at least minTypical checks.
func (g *group) kind(byID map[string]*symptom) kind { return kindOf(g.checks, byID) }

func kindOf(checks []string, byID map[string]*symptom) kind {
	number := map[kind]int{}
	for _, id := range checks {
		k := byID[id].kind()
		if number[k]++; k != otherKind && len(checks) >= minTypical && 100*number[k] >= uniformShare*len(checks) {
			return k
		}
	}
	return otherKind
}

// ofOneKind returns the checks without those of the kind that is opposite to the kind of most of them.
func ofOneKind(checks []string, byID map[string]*symptom) []string {
	against := opposite(kindOf(checks, byID))
	return slices.DeleteFunc(checks, func(id string) bool { return byID[id].kind() == against })
}

// groupWeight returns the greatest weight of the links between a symptom and the symptoms of a group.
func (l *linker) groupWeight(id string, g *group) float64 {
	most := 0.0
	for _, other := range g.checks {
		most = max(most, l.weight(id, other))
	}
	return most
}

// minTypical is a number of checks: in a group with at least that many, the typical check becomes the telling one. The exception is a group
// whose symptoms are exactly those of a known fault.
const minTypical = 4

// putTellingFirst moves the typical check of a large group to its start. The typical check has the most frequent area of the group, then
// the most frequent wrong value, and is then the first in the order of the run.
func (g *group) putTellingFirst(symptoms []*symptom) {
	g.putGeneratedLast()
	defer g.putSimplerFirst()
	if g.exact || len(g.checks) < minTypical {
		return
	}
	var own []*symptom
	areas, values := map[string]int{}, map[string]int{}
	value := func(s *symptom) string {
		_, e := s.shown()
		return s.check.Area() + "|" + e.endpoint + "|" + e.got
	}
	for _, s := range symptoms {
		if slices.Contains(g.checks, s.check.ID) {
			own = append(own, s)
			areas[s.check.Area()]++
			values[value(s)]++
		}
	}
	typical := slices.MinFunc(own, func(a, b *symptom) int {
		return cmp.Or(cmp.Compare(areas[b.check.Area()], areas[a.check.Area()]), cmp.Compare(values[value(b)], values[value(a)]))
	})
	g.checks = slices.DeleteFunc(g.checks, func(id string) bool { return id == typical.check.ID })
	g.checks = slices.Insert(g.checks, 0, typical.check.ID)
}

// simpler contains for a check the one that tests a simpler request: if the target fails both, the finding of the latter describes the
// fault.
var simpler = map[string]string{"create.duplicate-other-case": "create.duplicate-user-name"}

// putSimplerFirst moves the simpler check of the first one to the start of the group, if the group contains it.
func (g *group) putSimplerFirst() {
	if i := slices.Index(g.checks, simpler[g.checks[0]]); i > 0 {
		id := g.checks[i]
		g.checks = slices.Insert(slices.Delete(g.checks, i, i+1), 0, id)
	}
}

// comparesResponses are the checks that compare two responses of the target: it is uncertain which of the two is wrong.
var comparesResponses = map[string]bool{"oracle.equivalences": true}

// putGeneratedLast moves the first check of a group behind another one if it generates its requests and the other one does not: the finding
// of a check with a fixed request describes the fault better. If all checks of the group generate their requests, it moves one that
// compares two responses behind one that knows the right result.
func (g *group) putGeneratedLast() {
	if observes[g.checks[0]] == nil {
		return
	}
	plain := slices.IndexFunc(g.checks, func(id string) bool { return observes[id] == nil })
	if plain < 0 && comparesResponses[g.checks[0]] {
		plain = slices.IndexFunc(g.checks, func(id string) bool { return !comparesResponses[id] })
	}
	if plain > 0 {
		id := g.checks[plain]
		g.checks = slices.Insert(slices.Delete(g.checks, plain, plain+1), 0, id)
	}
}

// rank returns the position of a check among the symptoms of a signature: first the telling check, then the checks that occur in the fewest
// signatures.
func rank(p pick, id string, frequency map[string]int) int {
	if id == p.signature.Telling {
		return 0
	}
	return frequency[id] + 1
}

// otherFixes returns the checks of the group whose fix differs from that of the telling check.
func (g *group) otherFixes(byID map[string]*symptom) []string {
	var out []string
	for _, id := range g.checks {
		if byID[id].check.Fix != byID[g.checks[0]].check.Fix {
			out = append(out, id)
		}
	}
	return out
}

// levelOf returns the level of a finding. A check with the level Must can have findings of a SHOULD.
func levelOf(c conformance.Check, f conformance.Finding) conformance.Level {
	switch {
	case f.Outcome == conformance.Fail:
		return conformance.Must
	case c.Level == conformance.Must:
		return conformance.Should
	default:
		return c.Level
	}
}

func (g *group) cause(byID map[string]*symptom) Cause {
	telling := byID[g.checks[0]]
	shown, e := telling.told()
	c := Cause{
		ID:          telling.check.ID,
		Headline:    headline(shown, e),
		Rule:        telling.check.Title,
		Level:       levelOf(telling.check, shown),
		Outcome:     conformance.Warn,
		Checks:      g.checks,
		Exchange:    shown.Exchange,
		Write:       shown.Write,
		Preparation: shown.Preparation,
		Why:         telling.check.Why,
		Fix:         telling.check.Fix,
	}
	kind := kindText(telling.check, shown, e)
	kind.apply(&c)
	if other := g.otherFixes(byID); g.general.fix == "" && kind.fix == "" && !g.exact && 2*len(other) > len(g.checks) {
		c.Fix += fmt.Sprintf(" This fix is from the check %s. Of the other checks, %d have a different fix, for example %s: %s",
			telling.check.ID, len(other), other[0], byID[other[0]].check.Fix)
	}
	g.general.apply(&c)
	for _, id := range g.checks {
		s := byID[id]
		c.Findings += len(s.findings)
		for _, f := range s.findings {
			if f.Outcome == conformance.Fail {
				c.Fails++
			}
		}
		for _, client := range Clients(s.check) {
			if !slices.Contains(c.Clients, client) {
				c.Clients = append(c.Clients, client)
			}
		}
	}
	if c.Fails > 0 {
		c.Outcome = conformance.Fail
	}
	return c
}
