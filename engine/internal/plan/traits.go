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

// form is the method and the body format of a request that changes an account. Most changes can be sent in several forms.
type form string

// The forms. Messages contain these values.
const (
	byPut       form = "PUT"
	byBarePatch form = "PATCH without a path"
	byPathPatch form = "PATCH with a path"
)

// formsOf returns the forms in the order in which a sequence tries them.
func formsOf(t engine.Traits, style engine.Style) []form {
	patches := []form{byBarePatch, byPathPatch}
	if t[engine.NeedsPath] {
		patches = []form{byPathPatch, byBarePatch}
	}
	if puts(t, style) {
		return append([]form{byPut}, patches...)
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

// attempt is a form that a sequence has tried and that was rejected or had no effect.
type attempt struct {
	form    form
	refusal *failure // nil: the target returned success, but the request had no effect
}

// learnedTraits returns the traits of the target if the form `worked` succeeded after the failed attempts.
func learnedTraits(tried []attempt, worked form) engine.Traits {
	out := engine.Traits{}
	patched, put := false, false
	for _, a := range tried {
		patched = patched || a.form != byPut
		put = put || a.form == byPut
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
