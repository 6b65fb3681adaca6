package plan

import "maps"

// Trait is a way in which a target was seen to differ from what is asked of it first.
type Trait string

// The traits. Each is found out by a refusal, or by a success without effect, after which another form of the same request
// worked.
const (
	NoPatch          Trait = "no-patch"           // PATCH is refused or has no effect: PUT is sent
	NoPut            Trait = "no-put"             // PUT is refused or has no effect: PATCH is sent, an operation for each attribute
	NeedsPath        Trait = "needs-path"         // a PATCH operation needs a path
	NoValuePath      Trait = "no-value-path"      // a path must not have a filter: members are removed by a list of values
	NoMembersReplace Trait = "no-members-replace" // PATCH does not replace the members of a group, or not all: what differs is added and removed
	NoUserFilter     Trait = "no-user-filter"     // users cannot be filtered: the list is read
	NoGroupFilter    Trait = "no-group-filter"    // groups cannot be filtered: the list is read
	MembersHidden    Trait = "members-hidden"     // the members of a group are never shown
	PatchTrusted     Trait = "patch-trusted"      // a PATCH that was answered without the resource was read back, and had its effect
	PutTrusted       Trait = "put-trusted"        // the same for PUT
)

// Traits says which traits a target has. One that is missing is not known to hold.
type Traits map[Trait]bool

// withTraits returns a copy that can be changed.
func withTraits(t Traits) Traits {
	if t == nil {
		return Traits{}
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
func waysOf(t Traits, style Style) []way {
	patches := []way{byBarePatch, byPathPatch}
	if t[NeedsPath] {
		patches = []way{byPathPatch, byBarePatch}
	}
	if puts(t, style) {
		return append([]way{byPut}, patches...)
	}
	return append(patches, byPut)
}

// puts says whether PUT is tried before PATCH, where the style has no opinion of its own on PUT.
func puts(t Traits, style Style) bool {
	if style == Wizard {
		return !t[NoPut] || t[NoPatch]
	}
	return t[NoPatch] && !t[NoPut]
}

// attempt is a way that was tried to no avail.
type attempt struct {
	way     way
	refusal *failure // nil: it was answered with success and had no effect
}

// lessons are what a success teaches after the attempts before it.
func lessons(tried []attempt, worked way) Traits {
	out := Traits{}
	patched, put := false, false
	for _, a := range tried {
		patched = patched || a.way != byPut
		put = put || a.way == byPut
	}
	switch {
	case worked == byPut && patched:
		out[NoPatch], out[NoPut] = true, false
	case worked != byPut && put:
		out[NoPut], out[NoPatch] = true, false
	}
	if worked != byPut && patched {
		out[NeedsPath] = worked == byPathPatch
	}
	return out
}
