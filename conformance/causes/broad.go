package causes

import (
	"cmp"
	"fmt"
	"slices"
)

// A broadRule recognizes a fault that makes most requests of one kind fail. So many symptoms share the key that separate faults are
// unlikely, even if known faults explain each of the symptoms.
type broadRule struct {
	id, evidence string
	// key returns "" if the rule does not apply to the evidence.
	key func(e evidence) string
}

var broadRules = []broadRule{
	{
		id:       "endpoint-status",
		evidence: "one method to one endpoint with the same wrong status",
		key: func(e evidence) string {
			if e.status < 400 || fmt.Sprint(e.status) != e.got {
				return ""
			}
			return e.endpoint + " " + e.got
		},
	},
	{
		id:       "same-value",
		evidence: "requests of one kind with the same wrong value of the same member",
		key: func(e evidence) string {
			if e.request == "" || e.got == "" || e.got == "#" {
				return ""
			}
			return e.endpoint + "|" + e.want + "|" + e.got
		},
	},
}

// minBroad is the least number of groups that a broad rule merges.
const minBroad = 4

// mergeBroad merges the groups that a broad rule recognizes as one fault: at least four groups, of which none has half of the symptoms.
func mergeBroad(groups []*group, symptoms []*symptom) []*group {
	for _, rule := range broadRules {
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
			groups = mergeKey(groups, members[k])
		}
	}
	return groups
}

// mergeKey merges the groups most of whose checks are in ids.
func mergeKey(groups []*group, ids []string) []*group {
	var concerned []int
	largest, total := 0, 0
	for i, g := range groups {
		n := common(g.checks, ids)
		if 2*n <= len(g.checks) {
			continue
		}
		concerned = append(concerned, i)
		largest = max(largest, n)
		total += n
	}
	if len(concerned) < minBroad || 2*largest >= total {
		return groups
	}
	slices.SortStableFunc(concerned, func(a, b int) int { return cmp.Compare(len(groups[b].checks), len(groups[a].checks)) })
	whole := groups[concerned[0]]
	for _, i := range concerned[1:] {
		whole.checks = append(whole.checks, groups[i].checks...)
		whole.blocks = append(whole.blocks, groups[i].blocks...)
	}
	gone := concerned[1:]
	var out []*group
	for i, g := range groups {
		if !slices.Contains(gone, i) {
			out = append(out, g)
		}
	}
	return out
}
