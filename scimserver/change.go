package scimserver

import (
	"errors"

	"github.com/scimwright/scimwright/scim"
)

// maxAttempts is the maximum number of attempts to store a change while other processes change the same resource.
const maxAttempts = 16

// edit returns the new state of a resource. It must not modify current, whose values the record of the store shares, and it may be called
// several times.
type edit func(current *scim.Resource) (*scim.Resource, error)

// change reads a resource, checks the request's preconditions, edits the resource and stores the result. All steps use the same version of
// the resource. If the edit returns an unchanged resource, change stores nothing, so that version and lastModified do not change.
//
// The resource that the edit receives contains the hash of a user's password in place of the password, so that the edit can remove, keep or
// replace it. For a group, it contains only the members in the scope. It has no id and no meta if the edit is plain: an edit that does not
// depend on them.
func (s *server) change(r *request, t *resourceType, scope memberScope, plain bool, apply edit) (*Record, error) {
	ctx := r.Context()
	unlock, err := s.locks.lock(ctx, r.id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for range maxAttempts {
		rec, err := s.store.Get(ctx, t.Name, r.id)
		if err != nil {
			return nil, err
		}
		if err := precondition(r.Header, rec); err != nil {
			return nil, err
		}
		current, err := s.editable(r, t, rec, scope, plain)
		if err != nil {
			return nil, err
		}
		next, err := apply(current)
		if err != nil {
			return nil, err
		}
		changed, members, err := s.record(t, &scim.Resource{Object: *next.Copy()}, rec) // a copy: next may be current
		if err != nil {
			return nil, err
		}
		moves := memberChange(memberIDs(current), members)
		if moves.Empty() && changed.PasswordHash == rec.PasswordHash && scim.Equal(&changed.Resource.Object, &rec.Resource.Object) {
			return rec, nil
		}
		changed.Previous = rec.alone()
		stored, err := s.store.Replace(ctx, changed, moves)
		if !errors.Is(err, ErrConflict) {
			return stored, err
		}
	}
	return nil, ErrConflict
}

// alone returns the record without Previous, so that a store that keeps the records it receives does not keep all earlier ones.
func (rec *Record) alone() *Record {
	if rec.Previous == nil {
		return rec
	}
	alone := *rec
	alone.Previous = nil
	return &alone
}

// editable returns the state of a resource to pass to an edit. It shares values with the record.
func (s *server) editable(r *request, t *resourceType, rec *Record, scope memberScope, plain bool) (*scim.Resource, error) {
	var current *scim.Resource
	if plain {
		current = &scim.Resource{Object: *rec.Resource.Copy()}
	} else {
		full, err := s.complete(r.Context(), r.base, t, []*Record{rec}, false)
		if err != nil {
			return nil, err
		}
		current = full[0]
	}
	if t.isUser && rec.PasswordHash != "" {
		current.Set(attrPassword, rec.PasswordHash)
	}
	if t.isGroup {
		members, err := s.readScope(r.Context(), r.base, rec.ID, scope)
		if err != nil {
			return nil, err
		}
		if len(members) > 0 {
			current.Set(attrMembers, members)
		}
	}
	return current, nil
}
