package users

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// prefersAsync reports whether the header Prefer (RFC 7240) requests a response before the change is performed.
func prefersAsync(prefer string) bool {
	for preference := range strings.SplitSeq(prefer, ",") {
		name, _, _ := strings.Cut(preference, ";")
		if strings.EqualFold(strings.TrimSpace(name), "respond-async") {
			return true
		}
	}
	return false
}

// queue stores that the status of a user has to change to a new one. Work performs this change later.
func (s *Slice) queue(ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.User], to model.UserStatus, how model.Transition) error {
	user := doc.Value
	user.Transition = to
	if _, err := s.Users.Update(ctx, tx, doc.ID, doc.Rev, user); err != nil {
		return err
	}
	if _, err := s.Transitions.Insert(ctx, tx, doc.ID, how); err != nil {
		return err
	}
	return s.Feed.Emit(ctx, tx, model.UserChanged{ID: doc.ID})
}

// Work performs the queued changes, the oldest first, and stops at the first error. The next call retries the remaining ones.
func (s *Slice) Work(ctx context.Context) (more bool, err error) {
	return false, model.Each(ctx, s.Store.Reader(), s.Transitions, nil, func(waiting docstore.Doc[model.Transition]) error {
		err := s.Update(ctx, func(tx *docstore.Tx) error { return s.finish(ctx, tx, waiting.ID) })
		if refusal, ok := errors.AsType[*rest.Error](err); ok && refusal.Status() < 500 {
			err = s.Update(ctx, func(tx *docstore.Tx) error { return s.abandon(ctx, tx, waiting.ID, refusal) })
		}
		if err != nil {
			return fmt.Errorf("user %s: %w", waiting.ID, err)
		}
		return nil
	})
}

// claim removes the queued change of a user from the queue. The returned user is nil if no change is queued or the user was deleted.
func (s *Slice) claim(ctx context.Context, tx *docstore.Tx, id string) (waiting model.Transition, user *docstore.Doc[model.User],
	err error) {
	queued, err := model.Optional(ctx, tx, s.Transitions, id)
	if err != nil || queued == nil { // another process has performed the change
		return waiting, nil, err
	}
	if err := s.Transitions.Delete(ctx, tx, id); err != nil {
		return waiting, nil, err
	}
	user, err = model.Optional(ctx, tx, s.Users, id)
	if user != nil {
		user.Value.Transition = ""
	}
	return queued.Value, user, err
}

func (s *Slice) finish(ctx context.Context, tx *docstore.Tx, id string) error {
	waiting, user, err := s.claim(ctx, tx, id)
	if err != nil || user == nil {
		return err
	}
	switch {
	case waiting.Delete:
		return s.remove(ctx, tx, *user, &waiting.By)
	case waiting.Activate:
		return s.activateQueued(rest.WithBaseURL(ctx, waiting.Base), tx, *user, waiting)
	}
	return s.deactivated(ctx, tx, *user, waiting)
}

// abandon drops a queued change that is no longer allowed, and logs the reason.
func (s *Slice) abandon(ctx context.Context, tx *docstore.Tx, id string, refusal *rest.Error) error {
	waiting, user, err := s.claim(ctx, tx, id)
	if err != nil || user == nil {
		return err
	}
	doc, err := s.Users.Update(ctx, tx, id, user.Rev, user.Value)
	if err != nil {
		return err
	}
	entry := audit.Entry{Type: audit.UserDeactivate, Targets: []model.LogParty{audit.User(doc)}, Actor: &waiting.By, Failure: refusal.Text()}
	switch {
	case waiting.Delete:
		entry.Type = audit.UserDeleteCompleted
	case waiting.Activate:
		entry.Type = audit.UserActivate
	}
	if err := audit.Write(ctx, tx, s.Deps, entry); err != nil {
		return err
	}
	return s.Feed.Emit(ctx, tx, model.UserChanged{ID: id})
}
