package desired

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Outcome is the outcome of an attempt to reach the desired state.
type Outcome string

// The outcomes.
const (
	Started Outcome = "started" // an attempt is running, or the target accepted a change to carry out later
	Done    Outcome = "done"    // the target has the desired state
	Skipped Outcome = "skipped" // the settings of the application exclude the necessary requests
	Failed  Outcome = "failed"
)

// Result describes an attempt.
type Result struct {
	// Want is the state that the attempt tried to reach. The desired state may have changed since.
	Want    Want
	Outcome Outcome
	// RemoteID is the id on the target, empty if unknown.
	RemoteID string
	// More reports that the desired state has changed since the attempt started, so that another attempt follows.
	More bool
	// Error is the cause of a failure, worded for administrators.
	Error string
	// Operation is the main operation of the attempt.
	Operation Operation
	// Confirmed is a change that the target accepted in an earlier attempt and has carried out now. Empty without such a change.
	Confirmed Operation
	// Lapsed reports that the target accepted a change in an earlier attempt and did not carry it out in time.
	Lapsed bool
	// Steps are the requests of the attempt, in order.
	Steps []Step
	// PasswordVersion is the version of the password that the user's account has, empty if unknown.
	PasswordVersion string
}

// setPassword reports whether the attempt changed the password of an existing account.
func (r Result) setPassword(u *model.AppUser) bool {
	return r.Outcome == Done && r.Operation != Created && r.PasswordVersion != "" && r.PasswordVersion != u.SyncedPassword
}

// Operation is the kind of an attempt, which its most important request determines.
type Operation string

// The operations that the log distinguishes.
const (
	Created     Operation = "create"
	Linked      Operation = "link" // an existing account was linked
	Updated     Operation = "update"
	Reactivated Operation = "reactivate"
	Deactivated Operation = "deactivate"
	Removed     Operation = "delete" // a group was deleted
)

// Step is a request that was sent to the target.
type Step struct {
	Method string
	Path   string // relative to the base URL, with the query
	Status int    // 0 without a response
	// Message is the cause of a failure, quoted from the target if its response contains one. Empty for a success.
	Message string
	// Alternative names the form of the request and the reason for it, if the form is not that of the update style.
	Alternative string
}

// maxErrorSummary is the maximum length of a stored error, in bytes.
const maxErrorSummary = 1000

func (r Result) summary() string { return model.Shortened(r.Error, maxErrorSummary) }

// ReportUser stores a result in the assignment of a user. It ignores a result about a user without an assignment.
func (s *State) ReportUser(ctx context.Context, app, user string, r Result) error {
	return s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := model.Optional(ctx, tx, s.AppUsers, model.AppUserID(app, user))
		if err != nil || doc == nil {
			return err
		}
		if err := s.logUser(ctx, tx, &doc.Value, r); err != nil {
			return err
		}
		u := doc.Value
		if r.RemoteID != "" {
			u.ExternalID = r.RemoteID
		}
		switch {
		case !u.Listed():
			s.removed(&u, r)
		case u.Provisioned() && !u.Blocked:
			s.assigned(&u, r)
		}
		if r.PasswordVersion != "" {
			u.SyncedPassword = r.PasswordVersion
		}
		if err := s.dropPassword(ctx, tx, doc.ID, &u, r); err != nil {
			return err
		}
		if !u.Listed() && !u.Pending() {
			gone, err := model.Optional(ctx, tx, s.Users, user)
			if err != nil {
				return err
			}
			if gone == nil {
				return s.AppUsers.Delete(ctx, tx, doc.ID) // the user was deleted: no later assignment needs the tombstone
			}
		}
		if same(&doc.Value, &u) {
			return nil
		}
		_, err = s.AppUsers.Update(ctx, tx, doc.ID, doc.Rev, u)
		return err
	})
}

// dropPassword deletes a pending password that the target has received, that is no longer to be sent, or that is older than
// model.SyncPasswordLife.
func (s *State) dropPassword(ctx context.Context, tx *docstore.Tx, id string, u *model.AppUser, r Result) error {
	p, err := model.Optional(ctx, tx, s.SyncPasswords, id)
	if err != nil || p == nil {
		return err
	}
	done := r.Outcome == Done && u.ExternalID != ""
	switch {
	case !u.Listed(), s.Now().Sub(p.Created) >= model.SyncPasswordLife:
	case p.Value.Follows && done && r.PasswordVersion == p.Value.Version:
	case !p.Value.Follows && done:
	case r.Outcome == Skipped && !r.More:
	default:
		return nil
	}
	return s.SyncPasswords.Delete(ctx, tx, id)
}

// assigned applies a result to an assignment that is provisioned to the target.
func (s *State) assigned(u *model.AppUser, r Result) {
	switch r.Outcome {
	case Started:
		u.SyncState = model.SyncSyncing
	case Done:
		u.ErrorSummary = ""
		if u.ExternalID == "" {
			return // the user has no account on the target, so that the engine had nothing to send
		}
		u.Enter(model.AppUserProvisioned, s.Now())
		u.LastSync = s.Now()
		u.SyncState = model.SyncSynchronized
		if r.More {
			u.SyncState = model.SyncOutOfSync
		}
	case Skipped:
		u.ErrorSummary = ""
		if u.Status == model.AppUserStaged {
			u.SyncState = model.SyncDisabled
		}
	case Failed:
		u.SyncState, u.ErrorSummary = model.SyncError, r.summary()
	}
}

// removed applies a result to a tombstone.
func (s *State) removed(u *model.AppUser, r Result) {
	if u.SyncState == model.SyncDisabled {
		return // no request was necessary for this tombstone, so its state does not change
	}
	switch r.Outcome {
	case Started:
		u.SyncState = model.SyncSyncing
	case Done:
		if !r.More && r.Want != Active {
			u.SyncState, u.LastSync, u.ErrorSummary = model.SyncSynchronized, s.Now(), ""
		}
	case Skipped:
		u.SyncState, u.ErrorSummary = model.SyncDisabled, ""
	case Failed:
		u.SyncState, u.ErrorSummary = model.SyncError, r.summary()
	}
}

// same reports whether two versions of an app user are equal in the members that a result can change.
func same(a, b *model.AppUser) bool {
	return a.Status == b.Status && a.SyncState == b.SyncState && a.ExternalID == b.ExternalID &&
		a.ErrorSummary == b.ErrorSummary && a.SyncedPassword == b.SyncedPassword && a.LastSync.Equal(b.LastSync)
}

// ReportGroup stores a result in the push mapping of a group. It deletes the tombstone of a mapping once the target has the change.
func (s *State) ReportGroup(ctx context.Context, app, group string, r Result) error {
	return s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.mapping(ctx, tx, app, group)
		if err != nil || doc == nil {
			return err
		}
		if err := s.logGroup(ctx, tx, *doc, r); err != nil {
			return err
		}
		m := doc.Value
		// even if another attempt follows (More): with the tombstone, that attempt would delete the group again
		if m.Deleted && r.Outcome == Done && r.Want == Absent {
			return s.PushMappings.Delete(ctx, tx, doc.ID)
		}
		if r.RemoteID != "" {
			m.RemoteID = r.RemoteID
		}
		switch {
		case m.Deleted, m.Status == model.PushInactive:
		case r.Outcome == Done:
			m.Status, m.ErrorSummary, m.LastPush = model.PushActive, "", s.Now()
		case r.Outcome == Failed:
			m.Status, m.ErrorSummary = model.PushError, r.summary()
		}
		if m == doc.Value {
			return nil
		}
		_, err = s.PushMappings.Update(ctx, tx, doc.ID, doc.Rev, m)
		return err
	})
}
