package plan

import (
	"maps"

	"github.com/scimwright/scimwright/engine"
)

// withTraits returns a copy of the traits, which may be modified.
func withTraits(t engine.Traits) engine.Traits {
	if t == nil {
		return engine.Traits{}
	}
	return maps.Clone(t)
}

// way is a form in which a change of a resource can be requested.
type way string

// The ways, as shown in messages.
const (
	byPut       way = "PUT"
	byBarePatch way = "PATCH without a path"
	byPathPatch way = "PATCH with a path"
)

// waysOf returns the forms in the order in which they are tried.
func waysOf(t engine.Traits, style engine.Style) []way {
	patches := []way{byBarePatch, byPathPatch}
	if t[engine.NeedsPath] {
		patches = []way{byPathPatch, byBarePatch}
	}
	if puts(t, style) {
		return append([]way{byPut}, patches...)
	}
	return append(patches, byPut)
}

// puts reports whether PUT is tried before PATCH, if the style allows both.
func puts(t engine.Traits, style engine.Style) bool {
	if style == engine.Wizard {
		return !t[engine.NoPut] || t[engine.NoPatch]
	}
	return t[engine.NoPatch] && !t[engine.NoPut]
}

// attempt is a way that was tried and was rejected or had no effect.
type attempt struct {
	way     way
	refusal *failure // nil: it returned success and had no effect
}

// learnedTraits returns the traits that follow from the success of a way after the failed attempts.
func learnedTraits(tried []attempt, worked way) engine.Traits {
	out := engine.Traits{}
	patched, put := false, false
	for _, a := range tried {
		patched = patched || a.way != byPut
		put = put || a.way == byPut
	}
	switch {
	case worked == byPut && patched:
		out[engine.NoPatch], out[engine.NoPut] = true, false
	case worked != byPut && put:
		out[engine.NoPut], out[engine.NoPatch] = true, false
	}
	if worked != byPut && patched {
		out[engine.NeedsPath] = worked == byPathPatch
	}
	return out
}
