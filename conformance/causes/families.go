package causes

import (
	"regexp"
	"slices"
)

// operatorCheck matches the check of an operator on a kind of attribute, without the operator: "filter.reference-".
var operatorCheck = regexp.MustCompile(`^(filter\.[a-z-]+-)(?:eq|ne|co|sw|ew|gt|ge|lt|le|pr)$`)

// mergeOperators merges the groups all of whose checks test an operator on the same kind of attribute and found nothing: the fault is that
// the target does not evaluate these operators on such attributes. The checks have the same fix.
func mergeOperators(groups []*group, byID map[string]*symptom) []*group {
	family := func(g *group) string {
		name := ""
		for _, id := range g.checks {
			m := operatorCheck.FindStringSubmatch(id)
			_, e := byID[id].shown()
			if m == nil || name != "" && m[1] != name || e.status != 200 || e.got != "[]" {
				return ""
			}
			name = m[1]
		}
		return name
	}
	first := map[string]*group{}
	return slices.DeleteFunc(groups, func(g *group) bool {
		name := family(g)
		into := first[name]
		if name == "" || into == nil {
			first[name] = g
			return false
		}
		if byID[into.checks[0]].check.Fix != byID[g.checks[0]].check.Fix {
			return false
		}
		into.checks, into.blocks = append(into.checks, g.checks...), append(into.blocks, g.blocks...)
		into.exact = false
		return true
	})
}
