package scimserver

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/scimwright/scimwright/internal/processor"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/patch"
)

// yieldSteps is the number of steps of a PATCH after which it lets other threads run.
const yieldSteps = 8

// interrupt returns a function that returns the error of the context, and lets other threads run from time to time.
func interrupt(ctx context.Context) func() error {
	steps := 0
	return func() error {
		if steps++; steps%yieldSteps == 0 {
			processor.Yield()
		}
		return ctx.Err()
	}
}

// manyOperations is the number of operations that may be a long computation.
const manyOperations = 50

// isPlain reports whether no operation of a PATCH can read or change id or meta.
func isPlain(req *scim.PatchRequest) bool {
	return !slices.ContainsFunc(req.Operations, func(op scim.PatchOperation) bool {
		if op.Path != "" {
			return !isPlainName(op.Path)
		}
		value, ok := op.Value.(*scim.Object)
		if !ok {
			return true
		}
		for name := range value.All() {
			if !isPlainName(name) {
				return true
			}
		}
		return false
	})
}

// isPlainName reports whether a path starts with the name of an attribute of the core schema other than id and meta.
func isPlainName(path string) bool {
	end := strings.IndexFunc(path, func(c rune) bool { return c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	name := path
	if end >= 0 {
		name = path[:end]
	}
	plain := name != "" && !scim.EqualName(name, "id") && !scim.EqualName(name, "meta")
	return plain && (end < 0 || path[end] == '.' || path[end] == '[')
}

// patch handles PATCH on one resource (RFC 7644 section 3.5.2). Either all operations take effect or none.
//
// The response contains the resource. Only for a group it has no body, unless attributes or excludedAttributes request one: a change of one
// member of a large group must not return all members.
func (s *server) patch(r *request, t *resourceType) (*reply, error) {
	p, err := r.projection()
	if err != nil {
		return nil, err
	}
	body, err := s.readObject(r)
	if err != nil {
		return nil, err
	}
	req, err := scim.ParsePatchRequest(body)
	if err != nil {
		return nil, err
	}
	if n := len(req.Operations); n > s.limits.MaxPatchOperations {
		return nil, scim.Errorf(http.StatusRequestEntityTooLarge, "", "%d operations exceed the limit of %d", n,
			s.limits.MaxPatchOperations)
	}
	if len(req.Operations) > manyOperations && !r.inTurn {
		turn, err := s.turns.enter(r.Context())
		if err != nil {
			return nil, err
		}
		defer turn.leave()
	}
	step := interrupt(r.Context())
	for _, op := range req.Operations {
		if err := step(); err != nil {
			return nil, err
		}
		p.Written = append(p.Written, writtenByOperation(op, t)...)
	}
	var scope memberScope
	if t.isGroup {
		scope = patchScope(req, t)
	}
	rec, err := s.change(r, t, scope, isPlain(req), func(current *scim.Resource) (*scim.Resource, error) {
		next, _, err := patch.Apply(current, req, t.ResourceType, patch.Options{
			Accept: s.accept, MaxOperations: s.limits.MaxPatchOperations, MaxWork: s.limits.MaxPatchWork, Interrupt: step,
		})
		return next, err
	})
	if err != nil {
		return nil, err
	}
	if t.isGroup && !r.params.Has("attributes") && !r.params.Has("excludedAttributes") {
		return &reply{status: http.StatusNoContent, etag: versionTag(rec)}, nil
	}
	return s.resourceReply(r, t, http.StatusOK, rec, p)
}
