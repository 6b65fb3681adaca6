package provision

import (
	"context"

	"github.com/scimwright/scimwright/engine"
)

// Drift compares targets with the directory. See [Engine.Drift].
type Drift struct{ e *Engine }

// Drift returns the handle that compares targets with the directory.
func (e *Engine) Drift() Drift { return Drift{e} }

// Compare compares the objects on the target of an app with the desired state, and writes nothing to the target. It reads the target's list
// once, within the app's rate limit. Groups that are listed without members are read one by one. Differences that a sequence would not
// write because of the target's options (CreateUsers, UpdateUsers, DeactivateUsers, PushGroups) are not drift. If the list is inconsistent
// or the directory cannot return a desired state, Compare returns an error and marks nothing. If Target.Paused is set, it returns
// ErrPaused.
func (d Drift) Compare(ctx context.Context, app string, r engine.DriftRequest) (engine.DriftReport, error) {
	if _, err := d.e.can.repairs.get(); err != nil {
		return engine.DriftReport{}, err
	}
	return d.e.reconcile.Drift(ctx, app, r)
}

// Reconcile makes a target and the engine's state of the app match the directory again, for example after one of them was restored from a
// backup. It runs [Drift.Compare] with Repair for users and, if groups are pushed, for groups. If the directory is an [engine.Lister], it
// also marks principals that have no state in the engine.
//
// A principal that is missing from the list of the directory or of the target is not deprovisioned. A user is deprovisioned only if
// Directory.User returns Inactive or Absent, subject to the target's Guard. After an error Reconcile marks no further principals.
func (d Drift) Reconcile(ctx context.Context, app string) (map[engine.Kind]engine.Reconciliation, error) {
	if _, err := d.e.can.repairs.get(); err != nil {
		return nil, err
	}
	return d.e.reconcile.Reconcile(ctx, app)
}
