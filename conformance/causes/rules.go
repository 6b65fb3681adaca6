package causes

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Rule groups symptoms that share evidence. Two symptoms with a common key of a rule are linked with the weight of the rule; symptoms
// whose links have at least the weight 1 in sum have a common cause.
type Rule struct {
	// ID is the name of the rule. Evidence describes the shared evidence, as a noun phrase.
	ID, Evidence string
	// Weight is 1 if the shared evidence alone shows a common cause, and less if it only supports other evidence.
	Weight float64
	keys   func(s *symptom) []string
}

// Rules returns the rules. The caller may change the slice.
func Rules() []Rule {
	return []Rule{
		{
			ID:       "exchange",
			Evidence: "the same request and response",
			Weight:   1,
			keys: each(func(e evidence) string {
				if e.exchange == nil {
					return ""
				}
				return fmt.Sprintf("%p", e.exchange)
			}),
		},
		{
			ID:       "closed-connection",
			Evidence: "a connection that the target closes before the end of the response",
			Weight:   1,
			keys: each(func(e evidence) string {
				if !closed.MatchString(e.got) {
					return ""
				}
				return "closed"
			}),
		},
		{
			ID:       "server-error",
			Evidence: "a status of 500 or more for requests with one method to one endpoint",
			Weight:   1,
			keys: each(func(e evidence) string {
				if e.status < 500 || e.status == 501 {
					return ""
				}
				return e.endpoint
			}),
		},
		{
			ID:       "wrong-answer",
			Evidence: "the same finding about the response with the same wrong value, for the same kind of request",
			Weight:   1,
			keys: each(func(e evidence) string {
				if e.request == "" {
					return ""
				}
				return e.request + "|" + e.what + "|" + e.want + "|" + e.got
			}),
		},
		{
			ID:       "wrong-status",
			Evidence: "the same wrong status for the same kind of request, with the same scimType and detail",
			Weight:   0.5,
			keys: each(func(e evidence) string {
				if e.request == "" || !strings.HasPrefix(e.what, "status") {
					return ""
				}
				return e.request + "|" + e.want + "|" + e.got + "|" + e.scimType + "|" + e.detail
			}),
		},
		{
			ID:       "subject",
			Evidence: "checks of the same subject: ids with the same first word after the area",
			Weight:   0.5,
			keys: func(s *symptom) []string {
				area, name, _ := strings.Cut(s.check.ID, ".")
				word, _, _ := strings.Cut(name, "-")
				return []string{area + "." + word}
			},
		},
		{
			ID:       "value",
			Evidence: "the same finding with the same wrong value",
			Weight:   0.5,
			keys:     each(func(e evidence) string { return e.what + "|" + e.got }),
		},
		{
			ID:       "attribute",
			Evidence: "findings about the same attribute or parameter",
			Weight:   0.5,
			keys: func(s *symptom) []string {
				var out []string
				for _, f := range s.findings {
					out = append(out, attributeName.FindAllString(f.What, -1)...)
				}
				return out
			},
		},
		{
			ID:       "feature",
			Evidence: "checks of the same feature: of the same area, or a check that generates requests for this area",
			Weight:   0.5,
			keys:     func(s *symptom) []string { return features(s.check.ID) },
		},
		{
			ID:       "request",
			Evidence: "the same kind of request",
			Weight:   0.25,
			keys:     each(func(e evidence) string { return e.request }),
		},
	}
}

// attributeName matches the name of an attribute or a parameter in the text of a finding. It does not match names that almost every request
// contains, such as id and displayName: findings about the same such name need not have a common cause.
var attributeName = regexp.MustCompile(`\b(externalId|active|nickName|title|userType|locale|timezone|preferredLanguage|profileUrl|` +
	`name\.\w+|emails|phoneNumbers|addresses|ims|photos|roles|entitlements|x509Certificates|password|groups|members|manager|department|` +
	`costCenter|employeeNumber|organization|division|meta\.\w+|totalResults|itemsPerPage|startIndex|nextCursor|previousCursor|sortBy|` +
	`sortOrder|attributes|excludedAttributes|schemas|scimType|detail|ETag|Location|Content-Type|WWW-Authenticate)\b`)

// observes maps each check that generates its requests to the areas of the features that these requests test.
var observes = map[string][]string{
	"oracle.filter":       {"filter"},
	"oracle.equivalences": {"filter", "search"},
	"oracle.sort":         {"sort"},
	"oracle.pages":        {"list", "cursor"},
	"oracle.projection":   {"projection"},
	"oracle.patch":        {"patch"},
	"oracle.patch-atomic": {"patch"},
	"oracle.members":      {"groups"},
}

// features returns the areas of the features that a check tests: those in observes, otherwise its own area.
func features(id string) []string {
	if areas := observes[id]; areas != nil {
		return areas
	}
	area, _, _ := strings.Cut(id, ".")
	return []string{area}
}

// attachGenerated moves the groups that consist of checks with generated requests to the group with the most checks of the features that
// these requests test: each fault of a feature can be the reason for the finding of such a check. Without such a group, a group remains.
// A group that is exactly a known fault can remain, too: it may be a fault that only generated requests show. If known is set, most
// symptoms are those of known faults, and the group remains if it is proved or hardly an effect of other faults; see [group.ownEffect]. If
// known is not set, or the run has another seed than the signatures, so that nothing can be proved, it remains if it is the only one:
// several such faults are unlikely.
func attachGenerated(groups []*group, byID map[string]*symptom, known bool) []*group {
	var out, generated []*group
	for _, g := range groups {
		if !allGenerated(g.checks) || known && (g.proved || g.exact && g.ownEffect(groups)) {
			out = append(out, g)
		} else {
			generated = append(generated, g)
		}
	}
	if len(generated) == 1 && generated[0].exact && (!known || !byID[generated[0].checks[0]].seeded) {
		return groups
	}
	plain := slices.Clone(out)
	for _, g := range generated {
		to := most(plain, func(other *group) int {
			return number(other.checks, func(id string) bool { return observes[id] == nil && g.sharesFeature(id) })
		})
		if to < 0 {
			out = append(out, g)
			continue
		}
		plain[to].checks = append(plain[to].checks, g.checks...)
		plain[to].blocks = append(plain[to].blocks, g.blocks...)
	}
	return out
}

// atomicity is the check that tests with generated requests that a rejected PATCH changes nothing. Faults of single operations do not
// violate that.
const atomicity = "oracle.patch-atomic"

// ownEffect reports whether the findings of a group of checks with generated requests are hardly effects of the other groups: the group is
// that of atomicity, or at most as many other groups as it has checks begin with a check of the same features. Checks that generate their
// requests do not count as the beginning of a group.
func (g *group) ownEffect(groups []*group) bool {
	related := number(groups, func(other *group) bool {
		i := slices.IndexFunc(other.checks, func(id string) bool { return observes[id] == nil })
		return i >= 0 && g.sharesFeature(other.checks[i])
	})
	return related <= len(g.checks) || slices.Equal(g.checks, []string{atomicity})
}

// sharesFeature reports whether a check of the group tests a feature of the given check.
func (g *group) sharesFeature(id string) bool {
	return slices.ContainsFunc(g.checks, func(own string) bool { return common(features(own), features(id)) > 0 })
}

// allGenerated reports whether all checks generate their requests.
func allGenerated(checks []string) bool {
	return !slices.ContainsFunc(checks, func(id string) bool { return observes[id] == nil })
}

// each returns the keys of all findings of a symptom. It omits empty keys.
func each(key func(e evidence) string) func(s *symptom) []string {
	return func(s *symptom) []string {
		var out []string
		for _, e := range s.evidence {
			if k := key(e); k != "" {
				out = append(out, k)
			}
		}
		return out
	}
}

// linker computes the weight of the links between symptoms.
type linker struct {
	together together
	rules    []Rule
	keys     []map[string]map[string]bool // for each rule, the keys of each check
}

// weightTogether is the weight of the link between two checks if one of them has findings only about faults about which the other one has
// findings too.
const weightTogether = 1.0

func newLinker(symptoms []*symptom, t together) *linker {
	l := &linker{together: t, rules: Rules()}
	for _, r := range l.rules {
		byCheck := map[string]map[string]bool{}
		for _, s := range symptoms {
			set := map[string]bool{}
			for _, k := range r.keys(s) {
				set[k] = true
			}
			byCheck[s.check.ID] = set
		}
		l.keys = append(l.keys, byCheck)
	}
	return l
}

// leaks are the checks that find a password or a token in a response. A leak has no common cause with a finding of another kind.
var leaks = map[string]bool{
	"traffic.no-secrets": true, "traffic.no-password": true, "bulk.no-password": true, "create.password-never-returned": true,
	"filter.password-probing": true, "me.no-password": true, "patch.password": true, "projection.never": true,
	"projection.never-in-writes": true, "put.keeps-password": true, "search.password": true,
}

// weightLeak is the weight of the link between two leaks in responses to the same kind of request. It suffices in every run.
const weightLeak = 10

// sameRequest reports whether two symptoms have the key of the rule "request" in common.
func (l *linker) sameRequest(a, b string) bool {
	for i, r := range l.rules {
		for k := range l.keys[i][a] {
			if r.ID == "request" && l.keys[i][b][k] {
				return true
			}
		}
	}
	return false
}

// weight returns the sum of the weights of the links between two symptoms.
func (l *linker) weight(a, b string) float64 {
	switch {
	case leaks[a] != leaks[b]:
		return 0
	case leaks[a] && l.sameRequest(a, b):
		return weightLeak
	}
	sum := weightTogether * l.together.share(a, b)
	for i, r := range l.rules {
		for k := range l.keys[i][a] {
			if l.keys[i][b][k] {
				sum += r.Weight
				break
			}
		}
	}
	return sum
}
