package model

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/scimwright/scimwright/internal/docstore"
)

// Event tells of a change. It is a struct whose JSON is the data of the outbox event.
type Event interface {
	// Topic is one of the EventXxx constants; it does not depend on the value.
	Topic() string
	// Key names what changed, as an id or ids joined with docstore.JoinID.
	Key() string
}

// The topics of users, groups and memberships.
const (
	EventUserChanged       = "user.changed"
	EventUserActivated     = "user.activated"
	EventUserDeactivated   = "user.deactivated"
	EventUserDeleted       = "user.deleted"
	EventGroupChanged      = "group.changed"
	EventGroupDeleted      = "group.deleted"
	EventMembershipChanged = "membership.changed"
)

// UserChanged tells that a user was created or that its profile, credentials or status changed. It is emitted for
// every write to a user but its deletion, also beside UserActivated and UserDeactivated, and before them.
type UserChanged struct {
	ID string `json:"id"`
	// New says that the user has just been created, so that nothing is there that belongs to it. For reactions only.
	New bool `json:"-"`
}

// UserActivated tells that a user has left STAGED or DEPROVISIONED, or was created in another status than STAGED. The
// user is a member of Everyone already.
type UserActivated struct {
	ID string `json:"id"`
	// New says that the user was created as an active one, and joined its groups as that. For reactions only.
	New bool `json:"-"`
	// Returning reports whether the user was DEPROVISIONED before. For reactions only.
	Returning bool `json:"-"`
}

// UserDeactivated tells that a user has become DEPROVISIONED. The group memberships are gone already, each with a
// MembershipChanged of its own.
type UserDeactivated struct {
	ID string `json:"id"`
}

// UserDeleted tells that a DEPROVISIONED user was removed.
type UserDeleted struct {
	ID string `json:"id"`
}

// GroupChanged tells that a group was created or that its profile changed.
type GroupChanged struct {
	ID string `json:"id"`
}

// GroupDeleted tells that a group was removed, with all its memberships. No MembershipChanged is emitted for these.
type GroupDeleted struct {
	ID string `json:"id"`
	// Members are the ids of those who were in the group, for reactions only.
	Members []string `json:"-"`
}

// MembershipChanged tells that a user has joined or left a group.
type MembershipChanged struct {
	Group string `json:"group"`
	User  string `json:"user"`
	// Member says whether the user is in the group now.
	Member bool `json:"member"`
	// Of is the group. For reactions only.
	Of docstore.Doc[Group] `json:"-"`
}

// Topic is EventUserChanged.
func (UserChanged) Topic() string { return EventUserChanged }

// Key is the id of the user.
func (e UserChanged) Key() string { return e.ID }

// Topic is EventUserActivated.
func (UserActivated) Topic() string { return EventUserActivated }

// Key is the id of the user.
func (e UserActivated) Key() string { return e.ID }

// Topic is EventUserDeactivated.
func (UserDeactivated) Topic() string { return EventUserDeactivated }

// Key is the id of the user.
func (e UserDeactivated) Key() string { return e.ID }

// Topic is EventUserDeleted.
func (UserDeleted) Topic() string { return EventUserDeleted }

// Key is the id of the user.
func (e UserDeleted) Key() string { return e.ID }

// Topic is EventGroupChanged.
func (GroupChanged) Topic() string { return EventGroupChanged }

// Key is the id of the group.
func (e GroupChanged) Key() string { return e.ID }

// Topic is EventGroupDeleted.
func (GroupDeleted) Topic() string { return EventGroupDeleted }

// Key is the id of the group.
func (e GroupDeleted) Key() string { return e.ID }

// Topic is EventMembershipChanged.
func (MembershipChanged) Topic() string { return EventMembershipChanged }

// Key is the id of the membership.
func (e MembershipChanged) Key() string { return MembershipID(e.Group, e.User) }

// Feed is the way every event takes: first through the reactions, then into the outbox, all in the transaction of the
// change. Reactions are how slices act on each other's changes without knowing each other.
type Feed struct {
	store     *docstore.Store
	reactions map[string][]func(context.Context, *docstore.Tx, Event) error
}

// NewFeed makes a feed without reactions into the outbox of the store.
func NewFeed(store *docstore.Store) *Feed {
	return &Feed{store: store, reactions: map[string][]func(context.Context, *docstore.Tx, Event) error{}}
}

// On adds a reaction to the events of a type. An error rolls the change back and is answered to its caller. Reactions
// run in the order they were added, may emit events themselves, and are added before the first event is emitted.
func On[E Event](f *Feed, react func(ctx context.Context, tx *docstore.Tx, e E) error) {
	topic := (*new(E)).Topic()
	f.reactions[topic] = append(f.reactions[topic], func(ctx context.Context, tx *docstore.Tx, e Event) error {
		return react(ctx, tx, e.(E))
	})
}

// Emit runs the reactions to the events, one event after the other, and writes them to the outbox.
func (f *Feed) Emit(ctx context.Context, tx *docstore.Tx, events ...Event) error {
	for _, e := range events {
		for _, react := range f.reactions[e.Topic()] {
			if err := react(ctx, tx, e); err != nil {
				return err
			}
		}
		data, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("event %s: %w", e.Topic(), err)
		}
		if err := f.store.Emit(ctx, tx, docstore.Event{Topic: e.Topic(), Key: e.Key(), Data: data}); err != nil {
			return fmt.Errorf("event %s: %w", e.Topic(), err)
		}
	}
	return nil
}
