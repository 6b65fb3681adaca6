package watch

import (
	"context"

	"github.com/scimwright/scimwright/engine"
)

// TaskStore has the method of store.Tasks that lists tasks.
type TaskStore interface {
	Tasks(ctx context.Context, q engine.TaskQuery) ([]engine.State, error)
}

// Tasks lists the principals that failed, are retried, are on hold or wait for the target.
func (d Deps) Tasks(ctx context.Context, store TaskStore, q engine.TaskQuery) ([]engine.Task, error) {
	if q.Now.IsZero() {
		q.Now = d.Now()
	}
	states, err := store.Tasks(ctx, q)
	if err != nil {
		return nil, err
	}
	out := make([]engine.Task, len(states))
	lanes, err := d.lanesOf(ctx, states)
	if err != nil {
		return nil, err
	}
	for i, s := range states {
		queued := s.Status == engine.StatusDirty || s.Status == engine.StatusRetrying
		if h := lanes[s.App].Hold; queued && h.Kind != engine.HoldNone && h.Until.After(q.Now) {
			s.LastError, s.NextAt = onHold(s, h)
		}
		out[i] = engine.Task{
			App: s.App, Kind: s.Kind, ID: s.ID, Status: s.Status, Operation: s.LastOperation, HTTP: s.LastStatus, Error: s.LastError,
			Since: s.DirtySince, Attempts: s.Attempts, NextAt: s.NextAt, RemoteID: s.RemoteID,
			Pending: s.Pending,
		}
	}
	return out, nil
}
