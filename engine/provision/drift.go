package provision

import (
	"context"

	"github.com/scimwright/scimwright/engine"
)

// Drift is the difference between what targets have and what the directory wants. See [Engine.Drift].
type Drift struct{ e *Engine }

// Drift returns the handle that compares targets with the directory.
func (e *Engine) Drift() Drift { return Drift{e} }

// Compare compares what the target of an app has with what the directory wants, and writes nothing at the target. The target's list is
// read once, at the app's pace; groups that are listed without members are read one by one. What a sequence would not write because
// of the target's options (CreateUsers, UpdateUsers, DeactivateUsers, PushGroups) is no drift. A list that contradicts itself, and a
// directory that cannot tell a desired state, end the comparison with an error, and nothing is marked. So does Target.Paused
// (ErrPaused).
func (d Drift) Compare(ctx context.Context, app string, r engine.DriftRequest) (engine.DriftReport, error) {
	if _, err := d.e.can.repairs.get(); err != nil {
		return engine.DriftReport{}, err
	}
	return d.e.reconcile.Drift(ctx, app, r)
}

// Reconcile brings a target and the engine's knowledge of it back in line with the directory, e.g. after one of them was restored
// from a backup: [Drift.Compare] with Repair for users and, if groups are pushed, for groups, and a look for principals that the
// engine was never told about, if the directory is a [engine.Lister].
//
// Nothing follows from absence. Who is not listed, by the directory or by the target, is not deprovisioned: only an explicit
// Inactive or Absent of Directory.User does that, under the target's Guard. After an error nothing more is marked.
func (d Drift) Reconcile(ctx context.Context, app string) (map[engine.Kind]engine.Reconciliation, error) {
	if _, err := d.e.can.repairs.get(); err != nil {
		return nil, err
	}
	return d.e.reconcile.Reconcile(ctx, app)
}
