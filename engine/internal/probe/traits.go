package probe

import (
	"slices"

	"github.com/scimwright/scimwright/engine"
)

// finding maps verdicts on features to a trait: present (true) or absent (false). A rule matches if each of its features has one of the
// verdicts of the rule. The first matching rule of a trait decides; if no rule matches, the trait is unknown.
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
	// the target never returns success without effect
	neverIneffective = []engine.ProbeVerdict{engine.ProbeWorks, engine.ProbeRefused, engine.ProbeUnknown}
)

// findings are the rules, grouped by trait. The features of users decide whether PATCH works (NoPatch), because sequences detect NoPatch
// with users too. NoUserFilter also holds if the target ignores filters, because a filter then returns arbitrary users.
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

// TraitsOf returns the traits of the target that the profile shows: true for present, false for absent. A trait that the probe could not
// determine is missing.
//
// A trait that makes the engine send another form is present only if that form was found to work. A method is trusted if it took effect and
// never returned success without effect.
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
		case !is(neverIneffective, features...):
			out[t] = false
		case took:
			out[t] = true
		}
	}
	trust(engine.PatchTrusted, userPatches...)
	trust(engine.PutTrusted, engine.FeaturePutUser, engine.FeatureDeactivatePut)
	return out
}
