package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/scimwright/scimwright/scim"
)

// A group is the group of the rows, or the reason why it does not exist.
type group struct {
	resource
	err error
}

// A team is a group in requests and responses.
type team struct {
	Schemas     []string `json:"schemas"`
	DisplayName string   `json:"displayName"`
	Members     []value  `json:"members,omitempty"`
}

// memberBatch is the number of members in a PATCH that fills the group.
const memberBatch = 100

// ensureGroup creates the group of the rows at the first call.
func (s *session) ensureGroup(ctx context.Context, w *worker) error {
	if s.group == nil {
		s.group = &group{}
		s.group.resource, s.group.err = s.createGroup(ctx, w)
	}
	return s.group.err
}

// createGroup creates a group with the first users. Members that the group does not show after its creation are added by PATCH.
func (s *session) createGroup(ctx context.Context, w *worker) (resource, error) {
	members := make([]value, 0, s.members)
	for _, user := range s.users[:min(s.members, len(s.users))] {
		members = append(members, value{user.id})
	}
	made := resource{path: "/Groups", name: s.marker + "-group"}
	body, err := json.Marshal(team{Schemas: []string{scim.GroupSchema}, DisplayName: made.name, Members: members})
	if err != nil {
		return made, err
	}
	made, err = s.create(ctx, w, made, body)
	if status := statusOf(err); status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge { // too many members
		if body, err = json.Marshal(team{Schemas: []string{scim.GroupSchema}, DisplayName: made.name}); err == nil {
			made, err = s.create(ctx, w, made, body)
		}
	}
	if err != nil {
		return made, fmt.Errorf("POST /Groups: %w", err)
	}
	shown, err := s.shownMembers(ctx, w, made)
	if err != nil || len(shown) == len(members) {
		return made, err
	}
	for batch := range slices.Chunk(members, memberBatch) {
		if err := s.patch(ctx, w, made.url(), operation{Op: scim.OpAdd, Path: "members", Value: batch}); err != nil {
			return made, fmt.Errorf("PATCH that adds %d members: %w", len(batch), err)
		}
	}
	return made, nil
}

// shownMembers returns the members in the response to a GET of the group.
func (s *session) shownMembers(ctx context.Context, w *worker, g resource) ([]value, error) {
	var got team
	err := s.get(ctx, w, g.url(), &got)
	return got.Members, err
}

func prepareGroup(ctx context.Context, s *session, w *worker) (request, error) {
	if err := s.ensureGroup(ctx, w); err != nil {
		return nil, err
	}
	shown, err := s.shownMembers(ctx, w, s.group.resource)
	if err != nil {
		return nil, err
	}
	if want := min(s.members, len(s.users)); len(shown) != want {
		return nil, fmt.Errorf("the response has %s of %s members", grouped(len(shown)), grouped(want))
	}
	return s.repeat(s.group.url(), w.body.Len()), nil
}

// removals are the forms of an operation that removes a member. The first accepted one is measured.
var removals = []func(id string) operation{
	func(id string) operation {
		return operation{Op: scim.OpRemove, Path: fmt.Sprintf("members[value eq %q]", id)}
	},
	func(id string) operation {
		return operation{Op: scim.OpRemove, Path: "members", Value: []value{{id}}}
	},
}

func addition(id string) operation {
	return operation{Op: scim.OpAdd, Path: "members", Value: []value{{id}}}
}

// prepareMembers returns a request that alternately adds and removes the spare user of the worker.
func prepareMembers(ctx context.Context, s *session, w *worker) (request, error) {
	if err := s.ensureGroup(ctx, w); err != nil {
		return nil, err
	}
	for n := len(s.spares); n < s.clients; n++ {
		spare, err := s.createUser(ctx, w, spareNumber+n)
		if err != nil {
			return nil, fmt.Errorf("POST of a further user: %w", err)
		}
		s.spares = append(s.spares, spare)
	}
	id := s.spares[0].id
	if err := s.changeMembers(ctx, w, addition(id), id); err != nil {
		return nil, err
	}
	var err error
	for _, remove := range removals {
		if err = s.changeMembers(ctx, w, remove(id), id); err == nil {
			return func(ctx context.Context, w *worker) error {
				id, op := s.spares[w.number].id, remove
				if w.turn++; w.turn%2 == 1 {
					op = addition
				}
				return s.patch(ctx, w, s.group.url(), op(id))
			}, nil
		}
	}
	return nil, err
}

// spareNumber is the number of the first spare user.
const spareNumber = MaxUsers + 1

// changeMembers adds or removes a member and verifies the change: a server that does not show the members of a group may not store them.
func (s *session) changeMembers(ctx context.Context, w *worker, op operation, id string) error {
	if err := s.patch(ctx, w, s.group.url(), op); err != nil {
		return fmt.Errorf("PATCH with the operation %s: %w", op.Op, err)
	}
	members, err := s.shownMembers(ctx, w, s.group.resource)
	if err != nil {
		return err
	}
	switch shown := slices.Contains(members, value{id}); {
	case op.Op == scim.OpAdd && !shown:
		return errors.New("a GET of the group does not show the member that a PATCH has added")
	case op.Op != scim.OpAdd && shown:
		return errors.New("a GET of the group shows the member that a PATCH has removed")
	}
	return nil
}
