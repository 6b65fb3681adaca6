package probe

import (
	"slices"

	"github.com/scimwright/scimwright/engine/plan"
)

// finding says which verdicts on which features show a trait to hold (true) or not to hold (false). The first rule of a trait whose
// features all have one of its verdicts decides; without one, nothing is known.
type finding struct {
	trait    plan.Trait
	holds    bool
	verdicts []Verdict
	features []Feature
}

var (
	works       = []Verdict{Works}
	broken      = []Verdict{Refused, Lost}
	userPatches = []Feature{PatchNoPath, PatchPath, DeactivatePatch, DeactivatePath}
	fine        = []Verdict{Works, Refused, Unknown} // never answered with success and without effect
)

// findings are in the order of plan's traits. Whether PATCH works is told by users, as it is where sequences find it out. A filter
// that is ignored finds anybody, so that the list has to be read.
var findings = []finding{
	{plan.NoPatch, false, works, []Feature{PatchNoPath}},
	{plan.NoPatch, false, works, []Feature{PatchPath}},
	{plan.NoPatch, false, works, []Feature{DeactivatePatch}},
	{plan.NoPatch, false, works, []Feature{DeactivatePath}},
	{plan.NoPatch, true, broken, userPatches},
	{plan.NoPut, false, works, []Feature{PutUser}},
	{plan.NoPut, true, broken, []Feature{PutUser}},
	{plan.NeedsPath, false, works, []Feature{PatchNoPath, DeactivatePatch}},
	{plan.NoValuePath, false, works, []Feature{RemoveByPath}},
	{plan.NoMembersReplace, false, works, []Feature{ReplaceMembers}},
	{plan.NoMembersReplace, true, broken, []Feature{ReplaceMembers}},
	{plan.NoUserFilter, true, []Verdict{Lost}, []Feature{LookupMiss}},
	{plan.NoUserFilter, true, []Verdict{Refused}, []Feature{LookupUserName}},
	{plan.NoUserFilter, false, works, []Feature{LookupUserName}},
	{plan.NoGroupFilter, true, []Verdict{Refused}, []Feature{LookupGroup}},
	{plan.NoGroupFilter, false, works, []Feature{LookupGroup}},
	{plan.MembersHidden, true, []Verdict{Refused}, []Feature{ShowsMembers}},
	{plan.MembersHidden, false, works, []Feature{ShowsMembers}},
}

// TraitsOf returns what the profile says about the ways in which the target differs: true for a trait that was seen to hold, false for
// one that was seen not to hold. What the probe could not find out is missing.
//
// A trait that makes the engine send another form holds only where that form was seen to work. A method is trusted when it was
// seen to take effect, and never to be answered with success without effect.
func TraitsOf(p Profile) plan.Traits {
	out := plan.Traits{}
	is := func(verdicts []Verdict, features ...Feature) bool {
		return !slices.ContainsFunc(features, func(f Feature) bool { return !slices.Contains(verdicts, p.Verdict(f)) })
	}
	for _, f := range findings {
		if _, decided := out[f.trait]; !decided && is(f.verdicts, f.features...) {
			out[f.trait] = f.holds
		}
	}
	bare, path := is(broken, PatchNoPath) && is(works, PatchPath), is(broken, DeactivatePatch) && is(works, DeactivatePath)
	if (bare || path) && !is(broken, PatchPath) && !is(broken, DeactivatePath) {
		out[plan.NeedsPath] = true
	}
	if is(broken, RemoveByPath) && is(works, RemoveByValue) {
		out[plan.NoValuePath] = true
	}
	trust := func(t plan.Trait, features ...Feature) {
		switch took := slices.ContainsFunc(features, func(f Feature) bool { return p.Verdict(f) == Works }); {
		case !is(fine, features...):
			out[t] = false
		case took:
			out[t] = true
		}
	}
	trust(plan.PatchTrusted, userPatches...)
	trust(plan.PutTrusted, PutUser, DeactivatePut)
	return out
}
