package plan

import (
	"maps"

	"github.com/scimwright/scimwright/engine"
)

// withTraits returns a copy that can be changed.
func withTraits(t engine.Traits) engine.Traits {
	if t == nil {
		return engine.Traits{}
	}
	return maps.Clone(t)
}

// way is one of the forms in which a change of a resource can be asked for.
type way string

// The ways, worded for messages.
const (
	byPut       way = "PUT"
	byBarePatch way = "PATCH without a path"
	byPathPatch way = "PATCH with a path"
)

// waysOf lists the forms in the order in which they are to be tried.
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

// puts says whether PUT is tried before PATCH, where the style has no opinion of its own on PUT.
func puts(t engine.Traits, style engine.Style) bool {
	if style == engine.Wizard {
		return !t[engine.NoPut] || t[engine.NoPatch]
	}
	return t[engine.NoPatch] && !t[engine.NoPut]
}

// attempt is a way that was tried to no avail.
type attempt struct {
	way     way
	refusal *failure // nil: it was answered with success and had no effect
}

// lessons are what a success teaches after the attempts before it.
func lessons(tried []attempt, worked way) engine.Traits {
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
