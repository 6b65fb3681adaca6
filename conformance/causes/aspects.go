package causes

import (
	"slices"
	"strings"
)

// An aspect is a part of the target's behavior. A fault in it does not explain findings about other parts.
type aspect struct {
	// about reports whether a finding is about the aspect.
	about func(e evidence) bool
}

var (
	// primaryValues is the number of primary values, and which one is primary.
	primaryValues = aspect{func(e evidence) bool { return strings.Contains(e.what, "primary") }}
	// projection is the selection of attributes by the parameters attributes and excludedAttributes.
	projection = aspect{func(e evidence) bool { return strings.Contains(e.what, "ttributes") }}
)

// separate moves the symptoms that differ in the aspect from most symptoms of their group into groups of their own. Checks that generate
// their requests remain, and so do general faults. If known is set, most symptoms are those of known faults, and proved groups remain
// whole. From a group that is a known fault without doubt, only the symptoms leave that have a finding which the known fault does not have.
// If their checks evaluate the requests of all checks, they remain: they also have findings about other faults.
func (a aspect) separate(groups []*group, byID map[string]*symptom, known bool) []*group {
	var apart []*group
	for _, g := range groups {
		if g.general.headline != "" || known && g.proved {
			continue
		}
		sure := g.exact || g.proved
		var about, other []string
		for _, id := range g.checks {
			switch {
			case slices.ContainsFunc(byID[id].evidence, a.about):
				about = append(about, id)
			case observes[id] == nil && (!sure || !collects(id) && g.surplus(byID[id])):
				other = append(other, id)
			}
		}
		if len(other) == 0 || len(about) < 2 || len(about) <= len(other) {
			continue
		}
		g.exact, g.proved = false, false
		for _, id := range other {
			apart = append(apart, &group{checks: []string{id}})
		}
		g.checks = slices.DeleteFunc(g.checks, func(id string) bool { return slices.Contains(other, id) })
	}
	return append(groups, apart...)
}

// surplus reports whether the symptom has a finding that the known fault of the group does not have, in addition to one that it has.
func (g *group) surplus(s *symptom) bool {
	own := s.fingerprints()
	same := common(own, g.fingerprints[s.check.ID])
	return same > 0 && same < len(own)
}
