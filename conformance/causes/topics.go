package causes

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/conformance"
)

// A topic is a fault that real targets have in several places at the same time, although each place is a known fault of its own: a target
// that does not demand userName in a POST mostly does not demand it in a PUT either. The symptoms of a topic are one cause, and symptoms of
// different topics are different causes, even if they share evidence.
type topic struct {
	id, evidence string
	// checks are the ids of the checks, or patterns as in [path.Match].
	checks []string
	// when reports whether evidence shows the fault. nil means that each finding of the checks shows it.
	when func(e evidence) bool
	// unless are checks that have findings only if another fault explains the symptoms.
	unless []string
	// requires is a check that has findings if the topic applies. "" means no condition.
	requires string
	// min is the least number of symptoms. Default: 2. A topic with min 1 separates a symptom from those with which it shares only evidence.
	min int
	// share is the least share, in percent, of the checks of the topic that have findings. Default: topicShare if min is at least
	// severalSymptoms, otherwise 0. Checks that did not run do not count.
	share int
	// provedShare is the minimum share, in percent, of the checks of the topic that must have findings so that proved groups belong to the
	// topic. Default: provedShare.
	provedShare int
	// pair are two checks. If both have findings, proved groups with one of them belong to the topic, even if most checks of the topic have
	// passed.
	pair []string
}

// matches reports whether the symptom shows the fault of the topic.
func (t topic) matches(s *symptom) bool {
	return t.covers(s.check.ID) && (t.when == nil || slices.ContainsFunc(s.evidence, t.when))
}

// applies reports whether the symptoms satisfy the conditions of the topic.
func (t topic) applies(symptoms []*symptom) bool {
	required := t.requires == ""
	for _, s := range symptoms {
		if slices.Contains(t.unless, s.check.ID) {
			return false
		}
		required = required || s.check.ID == t.requires
	}
	return required
}

// covers reports whether a check is among the checks of the topic.
func (t topic) covers(id string) bool {
	return slices.ContainsFunc(t.checks, func(pattern string) bool { ok, _ := path.Match(pattern, id); return ok })
}

// topicShare is the default of topic.share, if the topic needs several symptoms: if most of its checks have passed, the others show
// separate faults.
const topicShare = 33

// severalSymptoms is the least topic.min for which topicShare applies.
const severalSymptoms = 3

// provedShare is the default of topic.provedShare: if a target has one fault in several places, nearly all checks of the topic have
// findings. If several have passed, proved groups are separate faults.
const provedShare = 75

// manyGroups is the number of groups of one topic from which on proved groups belong to the topic, regardless of the share of its checks:
// so many separate faults of one topic are unlikely.
const manyGroups = 4

// joins reports whether a proved group belongs to the topic. groups is the number of groups of the topic.
func (t topic) joins(g *group, groups int, byID map[string]*symptom, passed map[string]bool) bool {
	matching := 0
	for _, s := range byID {
		if t.matches(s) {
			matching++
		}
	}
	paired := common(t.pair, g.checks) > 0 && !slices.ContainsFunc(t.pair, func(id string) bool { return byID[id] == nil })
	return paired || groups >= manyGroups || 100*matching >= cmp.Or(t.provedShare, provedShare)*(matching+t.count(passed))
}

// topicsOf returns the topic of each symptom that has one: the first of topics that matches it and has enough symptoms. passed contains the
// checks without a finding.
func topicsOf(symptoms []*symptom, passed map[string]bool) map[string]string {
	out := map[string]string{}
	for _, t := range topics {
		if !t.applies(symptoms) {
			continue
		}
		var ids []string
		for _, s := range symptoms {
			if out[s.check.ID] == "" && t.matches(s) {
				ids = append(ids, s.check.ID)
			}
		}
		least := t.min
		if least == 0 {
			least = 2
		}
		share := t.share
		if share == 0 && least >= severalSymptoms {
			share = topicShare
		}
		if len(ids) < least || 100*len(ids) < share*(len(ids)+t.count(passed)) {
			continue
		}
		for _, id := range ids {
			out[id] = t.id
		}
	}
	return out
}

// count returns the number of the given checks that the topic covers.
func (t topic) count(ids map[string]bool) int {
	n := 0
	for id := range ids {
		if t.covers(id) {
			n++
		}
	}
	return n
}

// uniformShare is the share of the symptoms of a group, in percent, that have the same wrong status: then the requests fail for the same
// reason, whatever their topic.
const uniformShare = 80

// whole reports whether a group is one fault, of which no symptom belongs to a topic of its own: it is a known fault, or its requests
// fail with the same error, or even the plain filter finds nothing.
func (g *group) whole(byID map[string]*symptom) bool {
	return g.sure || slices.Contains(g.checks, "filter.eq") || g.uniform(byID) != ""
}

// uniform returns what most symptoms of a group have in common: the same error in response to requests with one method to one endpoint, or
// errors with the same scimType.
func (g *group) uniform(byID map[string]*symptom) string {
	errors := map[string]int{}
	for _, id := range g.checks {
		key := byID[id].failure()
		if _, e := byID[id].shown(); key == "" && keyword(e) {
			key = "scimType " + unknownType(e.got)
		}
		errors[key]++
		if key != "" && errors[key] >= minTypical && 100*errors[key] >= uniformShare*len(g.checks) {
			return key
		}
	}
	return ""
}

// failure returns the wrong status of a symptom, with the endpoint and the message. It returns "" for another symptom.
func (s *symptom) failure() string {
	_, e := s.shown()
	if e.status < 400 || !status.MatchString(e.got) {
		return ""
	}
	return e.endpoint + " " + e.got + " " + e.scimType + " " + e.detail
}

// gatherTopics moves the symptoms of each topic into one group. A group that is whole stays together; it belongs to the topic that at least
// half of its symptoms have. A proved group must satisfy the conditions of the topic, too; see [topic.joins].
func gatherTopics(groups []*group, symptoms []*symptom, passed map[string]bool) []*group {
	of := topicsOf(symptoms, passed)
	byID := map[string]*symptom{}
	for _, s := range symptoms {
		byID[s.check.ID] = s
	}
	var out []*group
	gathered := map[string]*group{}
	add := func(topic string, part *group) {
		g := gathered[topic]
		if g == nil {
			gathered[topic] = part
			out = append(out, part)
			return
		}
		g.exact, g.sure, g.proved = false, false, false
		g.checks = append(g.checks, part.checks...)
		g.blocks = append(g.blocks, part.blocks...)
	}
	groupsOf := map[string]int{}
	for _, g := range groups {
		if topic, n := majority(g.checks, of); n > 0 && 2*n >= len(g.checks) {
			groupsOf[topic]++
		}
	}
	for _, g := range joinUniform(separateForeign(separateLinked(groups, of, byID), of, byID), byID) {
		if g.whole(byID) {
			topic, n := majority(g.checks, of)
			if n > 0 && 2*n >= len(g.checks) && (!g.proved || topicByID[topic].joins(g, groupsOf[topic], byID, passed)) {
				add(topic, g)
			} else {
				out = append(out, g)
			}
			continue
		}
		rest := &group{blocks: g.blocks}
		parts := map[string]*group{}
		var order []string
		for _, id := range g.checks {
			topic := of[id]
			if topic == "" {
				rest.checks = append(rest.checks, id)
				continue
			}
			if parts[topic] == nil {
				parts[topic] = &group{}
				order = append(order, topic)
			}
			parts[topic].checks = append(parts[topic].checks, id)
		}
		// The symptoms without a topic that the signature of the group predicts stay with the topic of most of the group.
		if topic, n := majority(g.checks, of); 2*n > len(g.checks) {
			for _, id := range rest.checks {
				if g.predicted[id] {
					parts[topic].checks = append(parts[topic].checks, id)
				}
			}
			rest.checks = slices.DeleteFunc(rest.checks, func(id string) bool { return g.predicted[id] })
		}
		if len(rest.checks) > 0 {
			out = append(out, rest)
		} else {
			parts[order[0]].blocks = g.blocks
		}
		for _, topic := range order {
			add(topic, parts[topic])
		}
	}
	return out
}

// topicByID has each topic by its id.
var topicByID = func() map[string]topic {
	out := map[string]topic{}
	for _, t := range topics {
		out[t.id] = t
	}
	return out
}()

// wideFault is the number of checks from which on a uniform group also takes proved symptoms with the same error.
const wideFault = 12

// joinUniform adds each single symptom to the uniform group with the same error, a proved one only if this group is wide.
func joinUniform(groups []*group, byID map[string]*symptom) []*group {
	uniform := map[string]*group{}
	for _, g := range groups {
		if key := g.uniform(byID); key != "" {
			uniform[key] = g
		}
	}
	return slices.DeleteFunc(groups, func(g *group) bool {
		to := uniform[byID[g.checks[0]].failure()]
		if len(g.checks) > 1 || to == nil || to == g || g.proved && len(to.checks) < wideFault {
			return false
		}
		to.checks = append(to.checks, g.checks...)
		to.blocks = append(to.blocks, g.blocks...)
		return true
	})
}

// separateLinked separates symptoms with a topic from each group that is a known fault, if the topic of the other symptoms that this fault
// predicts is a different one, in two cases. First, the symptoms that the fault does not predict. Second, a symptom with an opposed kind of
// finding, unless the fault is proved: the target has another fault, about which the same checks have findings.
func separateLinked(groups []*group, of map[string]string, byID map[string]*symptom) []*group {
	var out []*group
	for _, g := range groups {
		out = append(out, g)
		if !g.sure {
			continue
		}
		for _, id := range slices.Clone(g.checks) {
			others := slices.DeleteFunc(slices.Clone(g.checks), func(other string) bool { return other == id || !g.predicted[other] })
			topic, _ := majority(others, of)
			if of[id] != "" && of[id] != topic && (!g.predicted[id] || !g.proved && opposed(id, others, byID)) {
				g.checks = slices.DeleteFunc(g.checks, func(other string) bool { return other == id })
				out = append(out, &group{checks: []string{id}})
			}
		}
	}
	return out
}

// opposed reports whether the kind of a symptom is the opposite of the kind of every other one.
func opposed(id string, others []string, byID map[string]*symptom) bool {
	against := opposite(byID[id].kind())
	return len(others) > 0 && !slices.ContainsFunc(others, func(other string) bool { return byID[other].kind() != against })
}

// filtersTopic is the topic of a target whose filters find nothing.
const filtersTopic = "filters"

// separateForeign separates symptoms from groups that are whole without being exactly a known fault, in two cases. First, the symptoms
// whose topic differs from that of the group, if another group belongs to their topic: they are the same fault. Second, in a group of
// filters, the symptoms with a topic whose finding is about a request without a filter.
func separateForeign(groups []*group, of map[string]string, byID map[string]*symptom) []*group {
	var out []*group
	for _, g := range groups {
		out = append(out, g)
		if g.exact || !g.whole(byID) {
			continue
		}
		topic, n := majority(g.checks, of)
		filters := topic == filtersTopic || slices.Contains(g.checks, "filter.eq")
		for _, id := range slices.Clone(g.checks) {
			elsewhere := slices.ContainsFunc(groups, func(other *group) bool { return other != g && other.belongsTo(of[id], of) })
			_, shown := byID[id].shown()
			unfiltered := filters && !filtered(shown)
			if of[id] != "" && of[id] != topic && (n > 0 && elsewhere || unfiltered) {
				g.checks = slices.DeleteFunc(g.checks, func(other string) bool { return other == id })
				out = append(out, &group{checks: []string{id}})
			}
		}
	}
	return out
}

// belongsTo reports whether at least half of the checks of a group have a topic.
func (g *group) belongsTo(topic string, of map[string]string) bool {
	most, n := majority(g.checks, of)
	return most == topic && topic != "" && 2*n >= len(g.checks)
}

// filtered reports whether the request of a finding has a filter.
func filtered(e evidence) bool {
	return strings.Contains(e.request, "filter") || strings.Contains(e.request, ".search") || e.exchange == nil
}

// anyServerError is the check that has findings about each request that another check has found to lead to a server error.
const anyServerError = "traffic.no-server-errors"

// attachServerErrors moves anyServerError to the group with the most symptoms that show a server error. If there is no such group, it
// becomes a group of its own: the request that failed belongs to no other finding. If known is set, most symptoms are those of known
// faults, and anyServerError remains in a proved group of which it is the only check: the fault leads to no other finding.
func attachServerErrors(groups []*group, symptoms []*symptom, known bool) []*group {
	byID := map[string]*symptom{}
	for _, s := range symptoms {
		byID[s.check.ID] = s
	}
	errors := func(g *group) int {
		n := 0
		for _, id := range g.checks {
			if id != anyServerError && byID[id].showsServerError() {
				n++
			}
		}
		return n
	}
	from := slices.IndexFunc(groups, func(g *group) bool { return slices.Contains(g.checks, anyServerError) })
	to := most(groups, errors)
	if from >= 0 && known && groups[from].proved && len(groups[from].checks) == 1 {
		return groups
	}
	if from < 0 || errors(groups[from]) > 0 || to < 0 && len(groups[from].checks) == 1 {
		return groups
	}
	if to < 0 {
		to = len(groups)
		groups = append(groups, &group{})
	}
	groups[to].checks = append(groups[to].checks, anyServerError)
	groups[from].checks = slices.DeleteFunc(groups[from].checks, func(id string) bool { return id == anyServerError })
	if len(groups[from].checks) == 0 {
		groups[to].blocks = append(groups[to].blocks, groups[from].blocks...)
		groups = slices.Delete(groups, from, from+1)
	}
	return groups
}

// serverError matches an actual value that is a server error.
var serverError = regexp.MustCompile(`^5(?:0[02-9]|[1-9]\d)\b`)

// showsServerError reports whether a finding is about a request that led to a server error.
func (s *symptom) showsServerError() bool {
	return slices.ContainsFunc(s.evidence, func(e evidence) bool { return e.status >= 500 && e.status != 501 }) ||
		slices.ContainsFunc(s.findings, func(f conformance.Finding) bool { return serverError.MatchString(f.Got) })
}

// majority returns the most frequent topic of the checks and the number of checks that have it. The number is 0 if no check has a topic.
func majority(checks []string, of map[string]string) (topic string, n int) {
	counts := map[string]int{}
	for _, id := range checks {
		if t := of[id]; t != "" {
			counts[t]++
			if counts[t] > n {
				topic, n = t, counts[t]
			}
		}
	}
	return topic, n
}
