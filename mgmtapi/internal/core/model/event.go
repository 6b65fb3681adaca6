package model

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/scimwright/scimwright/internal/docstore"
)

// Event describes a change. It is a struct whose JSON is the data of the outbox event.
type Event interface {
	// Topic is one of the EventXxx constants; it does not depend on the value.
	Topic() string
	// Key returns the id of the changed object, or ids joined with docstore.JoinID.
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

// UserChanged reports that a user was created or that its profile, credentials or status changed. It is emitted for every write to a user
// except its deletion. It precedes a UserActivated or UserDeactivated of the same change.
type UserChanged struct {
	ID string `json:"id"`
	// New is true if the user has just been created, so that no other object refers to it. For event handlers only.
	New bool `json:"-"`
}

// UserActivated reports that a user has left STAGED or DEPROVISIONED, or was created in a status other than STAGED. The user is already a
// member of Everyone.
type UserActivated struct {
	ID string `json:"id"`
	// New is true if the user was created as active and joined its groups with that status. For event handlers only.
	New bool `json:"-"`
	// Returning is true if the user was DEPROVISIONED before. For event handlers only.
	Returning bool `json:"-"`
}

// UserDeactivated reports that a user has become DEPROVISIONED. The group memberships have already been removed, each with its own
// MembershipChanged.
type UserDeactivated struct {
	ID string `json:"id"`
}

// UserDeleted reports that a DEPROVISIONED user was removed.
type UserDeleted struct {
	ID string `json:"id"`
}

// GroupChanged reports that a group was created or that its profile changed.
type GroupChanged struct {
	ID string `json:"id"`
}

// GroupDeleted reports that a group was removed, with all its memberships. No MembershipChanged is emitted for them.
type GroupDeleted struct {
	ID string `json:"id"`
	// Members holds the ids of the users who were in the group. For event handlers only.
	Members []string `json:"-"`
}

// MembershipChanged reports that a user has joined or left a group.
type MembershipChanged struct {
	Group string `json:"group"`
	User  string `json:"user"`
	// Member is true if the user is in the group now.
	Member bool `json:"member"`
	// Of is the group. For event handlers only.
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

// Feed is the event bus. Each event runs through the event handlers and is then written to the outbox, all in the transaction of the
// change. Handlers let slices react to changes of other slices without importing them.
type Feed struct {
	store     *docstore.Store
	reactions map[string][]func(context.Context, *docstore.Tx, Event) error
}

// NewFeed returns a feed without event handlers that writes to the outbox of the store.
func NewFeed(store *docstore.Store) *Feed {
	return &Feed{store: store, reactions: map[string][]func(context.Context, *docstore.Tx, Event) error{}}
}

// On adds an event handler for the events of a type. An error of the handler rolls back the change and is returned to its caller. Handlers
// run in the order in which they were added and may emit events. Add all handlers before the first event is emitted.
func On[E Event](f *Feed, react func(ctx context.Context, tx *docstore.Tx, e E) error) {
	topic := (*new(E)).Topic()
	f.reactions[topic] = append(f.reactions[topic], func(ctx context.Context, tx *docstore.Tx, e Event) error {
		return react(ctx, tx, e.(E))
	})
}

// Emit runs the handlers for each event in order and writes the events to the outbox.
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
