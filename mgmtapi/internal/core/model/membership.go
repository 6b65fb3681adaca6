package model

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
)

// Membership makes a user a member of a group. Its document id is MembershipID(group, user).
type Membership struct {
	Group string `json:"group"`
	User  string `json:"user"`
}

// MembershipID returns the document id of a user's membership in a group.
func MembershipID(group, user string) string { return docstore.JoinID(group, user) }

// The indexes of the memberships. Their insertion order is the order in which users joined.
const (
	MembershipByGroup = "group_id" // index by the group
	MembershipByUser  = "user_id"  // index by the user
)

// memberBatch is the number of memberships per read of all memberships of a user.
const memberBatch = 1000

func membershipCollection() docstore.Collection[Membership] {
	return docstore.NewCollection("memberships",
		docstore.Index[Membership]{Name: MembershipByGroup, Values: func(m *Membership) []any { return []any{m.Group} }},
		docstore.Index[Membership]{Name: MembershipByUser, Values: func(m *Membership) []any { return []any{m.User} }},
	)
}

// IsMember reports whether a user is in a group.
func (d Deps) IsMember(ctx context.Context, q docstore.Reader, group, user string) (bool, error) {
	_, err := d.Memberships.Get(ctx, q, MembershipID(group, user))
	if errors.Is(err, docstore.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Join makes a user a member of a group. Both must exist. A second call has no effect.
func (d Deps) Join(ctx context.Context, tx *docstore.Tx, group, user string) error {
	member, err := d.IsMember(ctx, tx, group, user)
	if err != nil || member {
		return err
	}
	doc, err := d.groupOf(ctx, tx, group)
	if err != nil {
		return err
	}
	return d.Admit(ctx, tx, doc, user)
}

// Admit is Join for a group that the transaction has already read and that the user is not in.
func (d Deps) Admit(ctx context.Context, tx *docstore.Tx, group docstore.Doc[Group], user string) error {
	if _, err := d.Memberships.Insert(ctx, tx, MembershipID(group.ID, user), Membership{Group: group.ID, User: user}); err != nil {
		return err
	}
	return d.membershipChanged(ctx, tx, MembershipChanged{Group: group.ID, User: user, Member: true, Of: group})
}

// Leave removes a user from a group. It has no effect if the user is not in the group.
func (d Deps) Leave(ctx context.Context, tx *docstore.Tx, group, user string) error {
	err := d.Memberships.Delete(ctx, tx, MembershipID(group, user))
	if errors.Is(err, docstore.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	doc, err := d.groupOf(ctx, tx, group)
	if err != nil {
		return err
	}
	return d.membershipChanged(ctx, tx, MembershipChanged{Group: group, User: user, Of: doc})
}

func (d Deps) groupOf(ctx context.Context, tx *docstore.Tx, id string) (docstore.Doc[Group], error) {
	doc, err := d.Groups.Get(ctx, tx, id)
	if err != nil {
		return doc, fmt.Errorf("group of a membership: %w", err)
	}
	return doc, nil
}

// LeaveAll removes all memberships of a user.
func (d Deps) LeaveAll(ctx context.Context, tx *docstore.Tx, user string) error {
	for {
		page, err := d.Memberships.Query(ctx, tx, docstore.Query[Membership]{
			Where: docstore.Eq(MembershipByUser, user), Limit: memberBatch,
		})
		if err != nil || len(page.Docs) == 0 {
			return err
		}
		for _, doc := range page.Docs {
			if err := d.Leave(ctx, tx, doc.Value.Group, user); err != nil {
				return err
			}
		}
	}
}

// Disband removes all memberships of a group that is about to be deleted, without an event for each, and returns the ids of the former
// members.
func (d Deps) Disband(ctx context.Context, tx *docstore.Tx, group string) (members []string, err error) {
	where := docstore.Eq(MembershipByGroup, group)
	err = Each(ctx, tx, d.Memberships, where, func(m docstore.Doc[Membership]) error {
		members = append(members, m.Value.User)
		return nil
	})
	if err != nil {
		return nil, err
	}
	_, err = d.Memberships.DeleteWhere(ctx, tx, where)
	return members, err
}

// membershipChanged updates the group's time of the last membership change and emits the event.
func (d Deps) membershipChanged(ctx context.Context, tx *docstore.Tx, e MembershipChanged) error {
	if now := d.Now().Truncate(time.Second); now.After(e.Of.Value.LastMembershipUpdated) {
		group := e.Of.Value
		group.LastMembershipUpdated = now
		var err error
		if e.Of, err = d.Groups.Update(ctx, tx, e.Group, e.Of.Rev, group); err != nil {
			return err
		}
	}
	return d.Feed.Emit(ctx, tx, e)
}
