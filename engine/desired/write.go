package desired

import (
	"context"
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/mapping"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Change is a change of one object: a User, a Group, Members, a MemberDelta or Present.
type Change interface{ change() }

func (User) change()        {}
func (Group) change()       {}
func (Members) change()     {}
func (MemberDelta) change() {}
func (Present) change()     {}
func (unreadable) change()  {}

// Present reports that a user or group still exists, without its content. It is a part of the upload of a snapshot.
type Present struct {
	Kind engine.Kind
	ID   string
}

// unreadable is a line with an error whose user or group is known.
type unreadable struct {
	key
	err error
}

// Result is what a change has done.
type Result string

// The results.
const (
	Applied   Result = "applied"   // the content was stored, and the engine has a mark
	Unchanged Result = "unchanged" // a repetition, or a higher version with the same content
	Stale     Result = "stale"     // a higher version is stored
)

// Outcome is the result of one change of several.
type Outcome struct {
	Result Result // empty if the change was rejected
	// Err is a *StaleError, *ContentError, *GapError or *InputError, ErrNoSeal or ErrSecrets. Nil: the change was applied, or had no effect.
	Err error
}

// Write writes changes of an app in one transaction, with their marks. A rejected change does not affect the others: its error is in its
// Outcome. An error of Write means that nothing was written.
func (s *Store) Write(ctx context.Context, app string, changes ...Change) ([]Outcome, error) {
	return s.write(ctx, app, changes, 0)
}

// PutUser creates or replaces a user. To delete a user, write it with the state engine.Absent.
func (s *Store) PutUser(ctx context.Context, app string, u User) (Result, error) {
	return s.writeOne(ctx, app, u)
}

// PutGroup creates or replaces a group. To delete a group, write it with the state engine.Absent.
func (s *Store) PutGroup(ctx context.Context, app string, g Group) (Result, error) {
	return s.writeOne(ctx, app, g)
}

// PutMembers replaces the members of a group.
func (s *Store) PutMembers(ctx context.Context, app string, m Members) (Result, error) {
	return s.writeOne(ctx, app, m)
}

// ChangeMembers adds and removes members of a group.
func (s *Store) ChangeMembers(ctx context.Context, app string, d MemberDelta) (Result, error) {
	return s.writeOne(ctx, app, d)
}

func (s *Store) writeOne(ctx context.Context, app string, c Change) (Result, error) {
	outcomes, err := s.Write(ctx, app, c)
	if err != nil {
		return "", err
	}
	return outcomes[0].Result, outcomes[0].Err
}

// writing is a transaction that writes changes of one app.
type writing struct {
	s        *Store
	tx       *sqldb.Tx
	app      string
	rules    *mapping.Mapping
	snapshot int64                 // whose upload contains the changes, 0 for none
	open     map[engine.Kind]int64 // the snapshots that are not confirmed yet
	now      int64
	marks    []engine.Mark
}

// write writes changes of an app in one transaction. If snapshot is not 0, the changes are a part of its upload.
func (s *Store) write(ctx context.Context, app string, changes []Change, snapshot int64) (outcomes []Outcome, err error) {
	if len(changes) > MaxChanges {
		return nil, &InputError{"", fmt.Sprintf("at most %d changes are allowed in one write", MaxChanges)}
	}
	err = s.change(ctx, app, func(tx *sqldb.Tx, e Engine) error {
		outcomes = make([]Outcome, len(changes))
		w := &writing{s: s, tx: tx, app: app, snapshot: snapshot, now: s.stamp()}
		if err := w.begin(ctx); err != nil {
			return err
		}
		if err := w.principals(ctx, changes, outcomes); err != nil {
			return fmt.Errorf("desired: write to %s: %w", app, err)
		}
		if err := w.members(ctx, changes, outcomes); err != nil {
			return fmt.Errorf("desired: write to %s: %w", app, err)
		}
		if len(w.marks) == 0 {
			return nil
		}
		return e.Mark(ctx, tx.Execer(), w.marks...)
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}

// begin locks the app and reads what the changes depend on.
func (w *writing) begin(ctx context.Context) error {
	if err := lock(ctx, w.tx, w.app); err != nil {
		return err
	}
	row, err := existing(ctx, w.tx, w.app)
	if err != nil {
		return err
	}
	c, err := w.s.compiledRow(w.app, &row)
	if err != nil {
		return err
	}
	if c.pull != nil {
		return ErrPulled
	}
	w.rules = c.rules
	w.open, err = openSnapshots(ctx, w.tx, w.app)
	if err == nil && w.snapshot != 0 && w.open[engine.User] != w.snapshot && w.open[engine.Group] != w.snapshot {
		err = ErrSnapshot
	}
	return err
}

// members writes the changes of members, in their order.
func (w *writing) members(ctx context.Context, changes []Change, outcomes []Outcome) error {
	for i, c := range changes {
		var marks []engine.Mark
		var result Result
		var err error
		switch c := c.(type) {
		case Members:
			marks, result, err = putMembers(ctx, w.tx, w.app, &c, w.now)
		case MemberDelta:
			marks, result, err = changeMembers(ctx, w.tx, w.app, &c, w.now)
		default:
			continue
		}
		if err != nil && !rejected(err) {
			return err
		}
		outcomes[i] = Outcome{Result: result, Err: err}
		w.marks = append(w.marks, marks...)
	}
	return nil
}

// rejected reports whether an error concerns one change only.
func rejected(err error) bool {
	_, stale := errors.AsType[*StaleError](err)
	_, content := errors.AsType[*ContentError](err)
	_, gap := errors.AsType[*GapError](err)
	_, input := errors.AsType[*InputError](err)
	return stale || content || gap || input || errors.Is(err, ErrNoSeal) || errors.Is(err, ErrSecrets)
}
