package probe

import (
	"slices"

	"github.com/scimwright/scimwright/engine"
)

// finding says which verdicts on which features show a trait to hold (true) or not to hold (false). The first rule of a trait whose
// features all have one of its verdicts decides; without one, nothing is known.
type finding struct {
	trait    engine.Trait
	holds    bool
	verdicts []engine.ProbeVerdict
	features []engine.Feature
}

var (
	works       = []engine.ProbeVerdict{engine.ProbeWorks}
	broken      = []engine.ProbeVerdict{engine.ProbeRefused, engine.ProbeNoEffect}
	userPatches = []engine.Feature{engine.FeaturePatchNoPath, engine.FeaturePatchPath, engine.FeatureDeactivatePatch,
		engine.FeatureDeactivatePath}
	// never answered with success and without effect
	fine = []engine.ProbeVerdict{engine.ProbeWorks, engine.ProbeRefused, engine.ProbeUnknown}
)

// findings are in the order of plan's traits. Whether PATCH works is told by users, as it is where sequences find it out. A filter
// that is ignored finds anybody, so that the list has to be read.
var findings = []finding{
	{engine.NoPatch, false, works, []engine.Feature{engine.FeaturePatchNoPath}},
	{engine.NoPatch, false, works, []engine.Feature{engine.FeaturePatchPath}},
	{engine.NoPatch, false, works, []engine.Feature{engine.FeatureDeactivatePatch}},
	{engine.NoPatch, false, works, []engine.Feature{engine.FeatureDeactivatePath}},
	{engine.NoPatch, true, broken, userPatches},
	{engine.NoPut, false, works, []engine.Feature{engine.FeaturePutUser}},
	{engine.NoPut, true, broken, []engine.Feature{engine.FeaturePutUser}},
	{engine.NeedsPath, false, works, []engine.Feature{engine.FeaturePatchNoPath, engine.FeatureDeactivatePatch}},
	{engine.NoValuePath, false, works, []engine.Feature{engine.FeatureRemoveByPath}},
	{engine.NoMembersReplace, false, works, []engine.Feature{engine.FeatureReplaceMembers}},
	{engine.NoMembersReplace, true, broken, []engine.Feature{engine.FeatureReplaceMembers}},
	{engine.NoUserFilter, true, []engine.ProbeVerdict{engine.ProbeNoEffect}, []engine.Feature{engine.FeatureLookupMiss}},
	{engine.NoUserFilter, true, []engine.ProbeVerdict{engine.ProbeRefused}, []engine.Feature{engine.FeatureLookupUserName}},
	{engine.NoUserFilter, false, works, []engine.Feature{engine.FeatureLookupUserName}},
	{engine.NoGroupFilter, true, []engine.ProbeVerdict{engine.ProbeRefused}, []engine.Feature{engine.FeatureLookupGroup}},
	{engine.NoGroupFilter, false, works, []engine.Feature{engine.FeatureLookupGroup}},
	{engine.MembersHidden, true, []engine.ProbeVerdict{engine.ProbeRefused}, []engine.Feature{engine.FeatureShowsMembers}},
	{engine.MembersHidden, false, works, []engine.Feature{engine.FeatureShowsMembers}},
}

// TraitsOf returns what the profile says about the ways in which the target differs: true for a trait that was seen to hold, false for
// one that was seen not to hold. What the probe could not find out is missing.
//
// A trait that makes the engine send another form holds only where that form was seen to work. A method is trusted when it was
// seen to take effect, and never to be answered with success without effect.
func TraitsOf(p engine.Profile) engine.Traits {
	out := engine.Traits{}
	is := func(verdicts []engine.ProbeVerdict, features ...engine.Feature) bool {
		return !slices.ContainsFunc(features, func(f engine.Feature) bool { return !slices.Contains(verdicts, p.Verdict(f)) })
	}
	for _, f := range findings {
		if _, decided := out[f.trait]; !decided && is(f.verdicts, f.features...) {
			out[f.trait] = f.holds
		}
	}
	bare, path := is(broken, engine.FeaturePatchNoPath) && is(works, engine.FeaturePatchPath), is(broken, engine.FeatureDeactivatePatch) &&
		is(works, engine.FeatureDeactivatePath)
	if (bare || path) && !is(broken, engine.FeaturePatchPath) && !is(broken, engine.FeatureDeactivatePath) {
		out[engine.NeedsPath] = true
	}
	if is(broken, engine.FeatureRemoveByPath) && is(works, engine.FeatureRemoveByValue) {
		out[engine.NoValuePath] = true
	}
	trust := func(t engine.Trait, features ...engine.Feature) {
		switch took := slices.ContainsFunc(features, func(f engine.Feature) bool { return p.Verdict(f) == engine.ProbeWorks }); {
		case !is(fine, features...):
			out[t] = false
		case took:
			out[t] = true
		}
	}
	trust(engine.PatchTrusted, userPatches...)
	trust(engine.PutTrusted, engine.FeaturePutUser, engine.FeatureDeactivatePut)
	return out
}
