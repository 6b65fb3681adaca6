package explain

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/directory"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/internal/trace"
	"github.com/scimwright/scimwright/engine/store"
)

// LastRun returns the last run of a principal, with the exchanges of the given generation or a later one.
func (d Deps) LastRun(ctx context.Context, s engine.State, generation int64) (engine.Trace, error) {
	t := engine.Trace{
		App: s.App, Kind: s.Kind, ID: s.ID, At: s.UpdatedAt, Want: s.Want, State: principal.Shown(s), Requests: []engine.Sent{},
		Operation: s.LastOperation, Outcome: s.Status.Outcome(), HTTP: s.LastStatus, Message: s.LastError,
	}
	to, err := d.Directory.Target(ctx, s.App)
	if err != nil {
		return t, err
	}
	if s.Kind == engine.User {
		if u, err := d.Directory.User(ctx, s.App, s.ID); err == nil {
			_, t.Desired = trace.Desired(u)
		}
	} else if g, err := d.Directory.Group(ctx, s.App, s.ID); err == nil {
		_, t.Desired = trace.Desired(g)
	}
	all, err := d.Store.Attempts(ctx, engine.AttemptQuery{App: s.App, Kind: s.Kind, Principal: s.ID})
	if err != nil {
		return t, err
	}
	for _, a := range lastRun(all, generation) {
		t.Requests = append(t.Requests, trace.Sent(a, to.BaseURL))
	}
	trace.AddChanges(&t, trace.Replay(ctx, t.Requests), nil)
	if s.Kind == engine.Group {
		if t.Waiting, err = d.waitsOn(ctx, s); err != nil {
			return t, err
		}
	}
	l, err := d.Store.Lane(ctx, s.App)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return t, err
	}
	now := d.Now()
	t.Hold = trace.Hold(l, to, d.Targets.Connect(to).Suspension(now), t.State, now)
	return t, nil
}

// waitsOn returns the users of a group that have no account yet, the first MaxNamed of them.
func (d Deps) waitsOn(ctx context.Context, s engine.State) (users []string, err error) {
	after := ""
	for {
		q := store.MemberQuery{Group: s.ID, Which: store.MembersPending, After: after, Limit: directory.Page}
		page, err := d.Store.Members(ctx, s.App, q)
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			if m.Want && m.RemoteID == "" && len(users) < engine.MaxNamed {
				users = append(users, m.User)
			}
		}
		if len(page) < directory.Page || len(users) == engine.MaxNamed {
			return users, nil
		}
		after = page[len(page)-1].User
	}
}

// lastRun returns the exchanges of the last run in order. The input is ordered newest first.
func lastRun(all []engine.Attempt, generation int64) (run []engine.Attempt) {
	for i := len(all) - 1; i >= 0; i-- {
		if a := all[i]; a.Gen >= generation && a.Run == all[0].Run {
			run = append(run, a)
		}
	}
	return run
}
