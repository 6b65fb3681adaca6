package desired

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Outcome is how an attempt to reach the desired state ended.
type Outcome string

// The outcomes.
const (
	Started Outcome = "started" // an attempt is running, or the target has accepted a change that it carries out later
	Done    Outcome = "done"    // the target has the desired state
	Skipped Outcome = "skipped" // the options exclude what would be needed
	Failed  Outcome = "failed"
)

// Result tells of an attempt.
type Result struct {
	// Want is what the attempt worked towards, which may not be what is wanted by now.
	Want    Want
	Outcome Outcome
	// RemoteID is the id in the target, empty when not known.
	RemoteID string
	// More says that the desired state has changed since the attempt began, so
	// that another one follows.
	More bool
	// Error is what went wrong, for administrators.
	Error string
	// Operation is what the attempt came to.
	Operation Operation
	// Confirmed is a change that the target has accepted in an earlier attempt and has carried out now; empty for none.
	Confirmed Operation
	// Lapsed says that the target has not carried out in time what it had accepted in an earlier attempt.
	Lapsed bool
	// Steps are the requests of the attempt, in order.
	Steps []Step
	// PasswordVersion is the version of the password that the account of a user is known to have, empty for none.
	PasswordVersion string
}

// setPassword says whether the attempt gave an account that was there another password.
func (r Result) setPassword(u *model.AppUser) bool {
	return r.Outcome == Done && r.Operation != Created && r.PasswordVersion != "" && r.PasswordVersion != u.SyncedPassword
}

// Operation is what an attempt came to, by its weightiest request.
type Operation string

// The operations that the log tells apart.
const (
	Created     Operation = "create"
	Linked      Operation = "link" // an account that was found is used
	Updated     Operation = "update"
	Reactivated Operation = "reactivate"
	Deactivated Operation = "deactivate"
	Removed     Operation = "delete" // of a group
)

// Step is a request that was sent to the target.
type Step struct {
	Method string
	Path   string // relative to the base URL, with the query
	Status int    // 0 when no answer came
	// Message is why the request has failed, in the words of the target if it gave any; empty for a success.
	Message string
	// Alternative names the form of the request and the reason for it, if it is not the one of the update style.
	Alternative string
}

// maxErrorSummary is the length of the longest error that is kept, in bytes.
const maxErrorSummary = 1000

func (r Result) summary() string { return model.Shortened(r.Error, maxErrorSummary) }

// ReportUser writes a result into the assignment of a user. A result about a
// user that is not assigned is dropped.
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
		if err := s.arrived(ctx, tx, doc.ID, &u, r); err != nil {
			return err
		}
		if !u.Listed() && !u.Pending() {
			gone, err := model.Optional(ctx, tx, s.Users, user)
			if err != nil {
				return err
			}
			if gone == nil {
				return s.AppUsers.Delete(ctx, tx, doc.ID) // nobody can come back to this tombstone
			}
		}
		if same(&doc.Value, &u) {
			return nil
		}
		_, err = s.AppUsers.Update(ctx, tx, doc.ID, doc.Rev, u)
		return err
	})
}

// arrived forgets a password that was on its way when the target has it, or it is not to get there any more. One that a target does
// not take waits, but not for ever.
func (s *State) arrived(ctx context.Context, tx *docstore.Tx, id string, u *model.AppUser, r Result) error {
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

// assigned moves an assignment that is to be in the target.
func (s *State) assigned(u *model.AppUser, r Result) {
	switch r.Outcome {
	case Started:
		u.SyncState = model.SyncSyncing
	case Done:
		u.ErrorSummary = ""
		if u.ExternalID == "" {
			return // nothing was to be done
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

// removed moves a tombstone.
func (s *State) removed(u *model.AppUser, r Result) {
	if u.SyncState == model.SyncDisabled {
		return // nothing was to be sent
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

// same says whether a report changed nothing.
func same(a, b *model.AppUser) bool {
	return a.Status == b.Status && a.SyncState == b.SyncState && a.ExternalID == b.ExternalID &&
		a.ErrorSummary == b.ErrorSummary && a.SyncedPassword == b.SyncedPassword && a.LastSync.Equal(b.LastSync)
}

// ReportGroup writes a result into the push mapping of a group. The tombstone
// of a mapping goes once the target was told.
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
		if m.Deleted && r.Outcome == Done && r.Want == Absent { // also when another attempt follows: it must not delete once more
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
