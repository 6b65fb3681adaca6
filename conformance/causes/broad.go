package causes

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
)

// A broadRule recognizes a fault that makes most requests of one kind fail. Symptoms with the same key are then one fault, even if several
// known faults would explain them: that many separate faults of one kind are unlikely.
type broadRule struct {
	id, evidence string
	// minGroups and minSymptoms are the least numbers of groups and of symptoms with the same key that the rule merges.
	minGroups, minSymptoms int
	// even requires that no group with exactly the symptoms of a known fault has half of the symptoms with the same key or more, because such
	// a group is a fault of its own.
	even bool
	// unproved is set if the rule does not merge proved groups (see group.proved), because findings of unrelated faults can have the same key.
	unproved bool
	// known is set if the rule also merges the proved groups of a target with mostly known faults: several of these faults together can have
	// the findings of many others.
	known bool
	// key returns what the symptoms of one fault have in common, such as "PATCH 501". It returns "" if the rule does not apply to the
	// evidence.
	key func(e evidence) string
}

var (
	// leading matches the attribute or the member at the start of a finding.
	leading = regexp.MustCompile(`^(?:status of )?([A-Za-z]+)`)
	// counters matches the members of list responses that hold numbers.
	counters = regexp.MustCompile(`^(?:totalResults|itemsPerPage|startIndex)\b`)
	// discovery matches the endpoints of the discovery documents.
	discovery = regexp.MustCompile(`^GET /(?:ServiceProviderConfig|ResourceTypes|Schemas)`)
	// unwanted matches what a finding expects of a value that the target must not store.
	unwanted = regexp.MustCompile(`^(?:absent|nothing|without |the server's own|a boolean)`)
	// subAttribute matches the sub-attribute of a complex attribute at the start of a statement.
	subAttribute = regexp.MustCompile(`^(name|manager)\.[A-Za-z]+`)
	// projectedRead is a read of one resource that selects the attributes of its response.
	projectedRead = regexp.MustCompile(`^GET .*/\{id\}\?.*(?:attributes|excludedAttributes)\b`)
	// projectedWrite is a write that selects the attributes of its response.
	projectedWrite = regexp.MustCompile(`^(?:POST|PUT|PATCH) .*\?.*(?:attributes|excludedAttributes)\b`)
)

// registered contains the values of scimType that RFC 7644 and RFC 9865 define.
var registered = map[scim.Type]bool{
	scim.InvalidFilter: true, scim.TooMany: true, scim.Uniqueness: true, scim.Mutability: true, scim.InvalidSyntax: true,
	scim.InvalidPath: true, scim.NoTarget: true, scim.InvalidValue: true, scim.InvalidVers: true, scim.Sensitive: true,
	scim.InvalidCursor: true, scim.ExpiredCursor: true, scim.InvalidCount: true,
}

var broadRules = []broadRule{
	{
		id:          "discovery-missing",
		evidence:    "requests for the discovery documents return 404",
		minGroups:   3,
		minSymptoms: 3,
		key: func(e evidence) string {
			if e.status == 404 && discovery.MatchString(e.endpoint) {
				return "404"
			}
			return ""
		},
	},
	{
		id:          "success-status",
		evidence:    "successful requests with one method have the same wrong status",
		minGroups:   2,
		minSymptoms: 2,
		key: func(e evidence) string {
			if e.status >= 200 && e.status < 300 && e.got == fmt.Sprint(e.status) && strings.HasPrefix(e.want, "2") {
				method, _, _ := strings.Cut(e.endpoint, " ")
				return method + " " + e.got
			}
			return ""
		},
	},
	{
		id:          "values-not-checked",
		evidence:    "values that the target must reject or ignore are in its responses",
		minGroups:   6,
		minSymptoms: 6,
		even:        true,
		key: func(e evidence) string {
			shown := e.status == 200 || e.status == 201
			if shown && unwanted.MatchString(e.want) && !missing(e.got) && !strings.Contains(strings.ToLower(e.request), "attributes") {
				return "stored"
			}
			return ""
		},
	},
	{
		id:          "complex-replaced",
		evidence:    "a PATCH of a complex attribute removes the sub-attributes that it does not name",
		minGroups:   2,
		minSymptoms: 3,
		key: func(e evidence) string {
			projected := strings.Contains(strings.ToLower(e.request), "attributes")
			if m := subAttribute.FindStringSubmatch(e.what); m != nil && e.status < 300 && missing(e.got) && !projected {
				return m[1]
			}
			return ""
		},
	},
	{
		id:          "filter-finds-nothing",
		evidence:    "filters find none of the objects that match",
		minGroups:   4,
		minSymptoms: 4,
		even:        true,
		key: func(e evidence) string {
			if e.status == 200 && strings.Contains(e.request, "filter") && (e.got == "[]" || e.got == "null") && !missing(e.want) {
				return e.endpoint + " " + e.what
			}
			return ""
		},
	},
	{
		id:          "server-errors",
		evidence:    "requests with one method to one endpoint return 5xx",
		minGroups:   3,
		minSymptoms: 3,
		key: func(e evidence) string {
			if e.status >= 500 && strings.HasPrefix(e.got, "5") {
				return e.request
			}
			return ""
		},
	},
	{
		id:          "method-not-served",
		evidence:    "requests with one method return 405 or 501",
		minGroups:   2,
		minSymptoms: 2,
		key: func(e evidence) string {
			if (e.status == 405 || e.status == 501) && e.got == fmt.Sprint(e.status) {
				method, _, _ := strings.Cut(e.endpoint, " ")
				return method + " " + e.got
			}
			return ""
		},
	},
	{
		id:          "write-projection",
		evidence:    "successful responses to POST, PUT and PATCH do not have exactly the attributes that the parameters select",
		minGroups:   2,
		minSymptoms: 2,
		key: func(e evidence) string {
			// A wrong status, such as 204 in place of 200, has another cause than wrong contents.
			if projectedWrite.MatchString(e.request) && content(e) {
				return "projection"
			}
			return ""
		},
	},
	{
		id:          "projection-empty",
		evidence:    "reads with the same parameter, attributes or excludedAttributes, omit attributes that the response must contain",
		minGroups:   5,
		minSymptoms: 5,
		known:       true,
		key: func(e evidence) string {
			if projectedRead.MatchString(e.request) && succeeded(e) && missing(e.got) {
				return e.request
			}
			return ""
		},
	},
	{
		id:          "projection-rejected",
		evidence:    "the parameters attributes and excludedAttributes lead to the same error status",
		minGroups:   3,
		minSymptoms: 3,
		key: func(e evidence) string {
			if e.status >= 400 && e.got == fmt.Sprint(e.status) && projectedRead.MatchString(e.request) {
				return e.endpoint + " " + e.got
			}
			return ""
		},
	},
	{
		id:          "scim-type-unknown",
		evidence:    "errors have a scimType that RFC 7644 does not define",
		minGroups:   2,
		minSymptoms: 2,
		key: func(e evidence) string {
			if strings.HasPrefix(e.what, "scimType of ") && e.got == e.scimType && e.got != "" && !registered[scim.Type(e.got)] {
				return unknownType(e.got)
			}
			return ""
		},
	},
	{
		id:          "scim-type-missing",
		evidence:    "errors of many kinds have no scimType",
		minGroups:   4,
		minSymptoms: 12,
		key: func(e evidence) string {
			if keyword(e) && missing(e.got) {
				return "missing"
			}
			return ""
		},
	},
	{
		id:          "scim-type",
		evidence:    "errors for requests with one method to one endpoint have the same wrong scimType",
		minGroups:   2,
		minSymptoms: 2,
		key: func(e evidence) string {
			if strings.HasPrefix(e.what, "scimType of ") {
				return e.endpoint + "|" + e.got
			}
			return ""
		},
	},
	{
		id:          "write-response-empty",
		evidence:    "responses to POST, PUT and PATCH lack attributes",
		minGroups:   4,
		minSymptoms: 4,
		even:        true,
		key: func(e evidence) string {
			method, _, _ := strings.Cut(e.endpoint, " ")
			if missing(e.got) && (method == "POST" || method == "PUT" || method == "PATCH") && e.status < 300 {
				return "missing"
			}
			return ""
		},
	},
	{
		id:          "attribute-missing",
		evidence:    "findings that the same attribute is missing",
		minGroups:   2,
		minSymptoms: 8,
		even:        true,
		key: func(e evidence) string {
			if m := leading.FindStringSubmatch(e.what); m != nil && missing(e.got) && !strings.Contains(e.what, " found by ") {
				return m[1]
			}
			return ""
		},
	},
	{
		id:          "counter-type",
		evidence:    "counters of list responses are strings",
		minGroups:   2,
		minSymptoms: 2,
		key: func(e evidence) string {
			// The value is in quotation marks, and normalize has removed its contents: the target returned a string such as "5".
			if counters.MatchString(e.what) && e.got == `""` {
				return "string"
			}
			return ""
		},
	},
	{
		id:          "counter",
		evidence:    "wrong numbers in the same member of list responses",
		minGroups:   3,
		minSymptoms: 3,
		even:        true,
		key:         func(e evidence) string { return counters.FindString(e.what) },
	},
	{
		id:          "endpoint-status",
		evidence:    "requests with one method to one endpoint have the same wrong status, scimType and detail",
		minGroups:   4,
		minSymptoms: 4,
		even:        true,
		key: func(e evidence) string {
			if e.status < 400 || e.got != fmt.Sprint(e.status) && !strings.HasPrefix(e.got, "# with scimType ") {
				return ""
			}
			return e.endpoint + " " + fmt.Sprint(e.status) + " " + e.scimType + " " + e.detail
		},
	},
	{
		id:          "same-value",
		evidence:    "requests with one method to one endpoint have the same wrong value in place of the same expected value",
		minGroups:   4,
		minSymptoms: 4,
		even:        true,
		unproved:    true,
		key: func(e evidence) string {
			// Missing rejections of different requests are different faults.
			if e.request == "" || e.got == "" || e.got == "#" || e.accepted() {
				return ""
			}
			return e.endpoint + "|" + e.want + "|" + e.got + "|" + e.detail
		},
	},
}

// unknownType returns the key of a scimType that is not registered: "other case" if it differs from a registered one only in its case,
// otherwise the scimType.
func unknownType(got string) string {
	for known := range registered {
		if strings.EqualFold(string(known), got) {
			return "other case"
		}
	}
	return got
}

// missing reports whether the actual value of a finding means that the value is absent or empty.
func missing(got string) bool { return got == "nothing" || got == "[]" || got == "an empty string" }

// mergeBroad merges the groups that one of the broad rules recognizes as one fault.
func mergeBroad(rules []broadRule, groups []*group, symptoms []*symptom) []*group {
	for _, rule := range rules {
		members := map[string][]string{}
		var keys []string
		for _, s := range symptoms {
			for _, e := range s.evidence {
				k := rule.key(e)
				if k == "" || slices.Contains(members[k], s.check.ID) {
					continue
				}
				if members[k] == nil {
					keys = append(keys, k)
				}
				members[k] = append(members[k], s.check.ID)
			}
		}
		slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(len(members[b]), len(members[a])) })
		for _, k := range keys {
			groups = rule.merge(groups, members[k])
		}
	}
	return groups
}

// merge merges the groups in which more than half of the checks are in ids, or half of them with the first check. The groups must satisfy
// the conditions of the rule.
func (rule broadRule) merge(groups []*group, ids []string) []*group {
	var concerned []int
	largest, total := 0, 0
	for i, g := range groups {
		n := common(g.checks, ids)
		if rule.unproved && g.proved {
			continue
		}
		if slices.ContainsFunc(g.checks, func(id string) bool { return leaks[id] }) {
			continue // a leak has no common cause with a finding of another kind
		}
		if 2*n < len(g.checks) || 2*n == len(g.checks) && !slices.Contains(ids, g.checks[0]) {
			continue
		}
		concerned = append(concerned, i)
		if g.exact {
			largest = max(largest, n)
		}
		total += n
	}
	if len(concerned) < rule.minGroups || total < rule.minSymptoms || rule.even && 2*largest >= total {
		return groups
	}
	slices.SortStableFunc(concerned, func(a, b int) int { return cmp.Compare(len(groups[b].checks), len(groups[a].checks)) })
	whole := groups[concerned[0]]
	whole.exact, whole.sure, whole.proved, whole.predicted = false, false, false, maps.Clone(whole.predicted)
	if whole.predicted == nil {
		whole.predicted = map[string]bool{}
	}
	for _, i := range concerned[1:] {
		whole.checks = append(whole.checks, groups[i].checks...)
		whole.blocks = append(whole.blocks, groups[i].blocks...)
		maps.Copy(whole.predicted, groups[i].predicted)
	}
	var out []*group
	for i, g := range groups {
		if !slices.Contains(concerned[1:], i) {
			out = append(out, g)
		}
	}
	return out
}

// splitErrors splits each group in which some symptoms are server errors, and others are wrong values in successful responses: a server
// error does not explain the latter. A group that has exactly the symptoms of a known fault remains.
func splitErrors(groups []*group, symptoms []*symptom) []*group {
	failing := map[string]bool{}
	for _, s := range symptoms {
		_, e := s.shown()
		failing[s.check.ID] = e.status >= 500 && fmt.Sprint(e.status) == e.got
	}
	var out []*group
	for _, g := range groups {
		out = append(out, g)
		var errors, values []string
		for _, id := range g.checks {
			if failing[id] {
				errors = append(errors, id)
			} else {
				values = append(values, id)
			}
		}
		if g.exact || len(errors) < minTypical || len(values) == 0 {
			continue
		}
		if failing[g.checks[0]] {
			g.checks = errors
			out = append(out, &group{checks: values})
		} else {
			g.checks = values
			out = append(out, &group{checks: errors})
		}
	}
	return out
}
