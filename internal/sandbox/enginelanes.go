package sandbox

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/mgmtapi"
	"github.com/scimwright/scimwright/mgmtapi/sandboxapi"
)

// EngineApps implements sandboxapi.Lanes.
func (e *engineAPI) EngineApps(ctx context.Context) ([]sandboxapi.EngineApp, error) {
	all := []sandboxapi.EngineApp{}
	err := e.bridge.wanted.Apps(ctx, func(a mgmtapi.App) error {
		app, err := e.describe(ctx, a)
		all = append(all, app)
		return err
	})
	slices.SortStableFunc(all, func(a, b sandboxapi.EngineApp) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)), cmp.Compare(a.ID, b.ID))
	})
	return all, err
}

// EngineApp implements sandboxapi.Lanes.
func (e *engineAPI) EngineApp(ctx context.Context, app string) (sandboxapi.EngineApp, error) {
	a, err := e.bridge.wanted.App(ctx, app)
	if err != nil {
		return sandboxapi.EngineApp{}, err
	}
	return e.describe(ctx, a)
}

func (e *engineAPI) describe(ctx context.Context, a mgmtapi.App) (sandboxapi.EngineApp, error) {
	app := sandboxapi.EngineApp{ID: a.ID, Label: a.Label, Counts: map[string]int{}}
	counts, err := e.engine.Counts(ctx, a.ID)
	if err != nil {
		return app, err
	}
	for status, n := range counts {
		app.Counts[string(status)] = n
	}
	lag, err := e.engine.Lag(ctx, a.ID)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return app, err
	}
	app.Lag = sandboxapi.Lag{Due: lag.Due, Retrying: lag.Retrying, Accepted: lag.Accepted, Failed: lag.Failed, Held: lag.Held, Oldest: lag.Oldest, LastSuccess: lag.LastSuccess}
	row, err := e.engine.Lane(ctx, a.ID)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return app, err
	}
	if app.Learned, err = shown[sandboxapi.Learned](row.Learned); err != nil {
		return app, err
	}
	if app.Halts, err = e.halted(ctx, a.ID); err != nil {
		return app, err
	}
	lacking, err := e.bridge.wanted.Unprovisioned(ctx, a.ID)
	if err != nil {
		return app, err
	}
	for _, u := range lacking {
		app.Unprovisioned = append(app.Unprovisioned, sandboxapi.Unprovisioned(u))
	}
	target, err := e.bridge.wanted.Target(ctx, a.ID)
	switch {
	case errors.Is(err, mgmtapi.ErrNoTarget):
		app.Lane = sandboxapi.LaneState{State: string(engine.SuspensionUnknownApp), Reason: "there is no provisioning connection"}
		return app, nil
	case err != nil:
		return app, err
	}
	app.BaseURL = target.BaseURL
	if row.Learned.BaseURL != target.BaseURL {
		row.Learned = engine.Learned{}
	}
	app.Style, app.Fallback = string(row.Learned.Style(e.bridge.targetOf(target), e.now())), string(fallbacks[target.Fallback])
	app.Lane = laneState(target.Paused, row)
	return app, nil
}

// laneState says whether a lane runs. What the documents say counts before what the engine last saw of them.
func laneState(paused bool, l engine.Lane) sandboxapi.LaneState {
	switch {
	case paused:
		return sandboxapi.LaneState{State: string(engine.SuspensionPaused), Reason: "the application or its connection is not active"}
	case l.Suspension.Reason == engine.SuspensionMaintenance:
		return sandboxapi.LaneState{State: string(l.Suspension.Reason), Until: l.Suspension.Until}
	case l.Hold.Kind != engine.HoldNone:
		return sandboxapi.LaneState{State: string(l.Hold.Kind), Reason: l.Hold.Reason, Until: l.Hold.Until}
	}
	return sandboxapi.LaneState{State: "running"}
}

func (e *engineAPI) halted(ctx context.Context, app string) ([]sandboxapi.Halt, error) {
	all := []sandboxapi.Halt{}
	halts, err := e.engine.Halted(ctx, app)
	for _, h := range halts {
		all = append(all, sandboxapi.Halt{App: h.App, Operation: string(h.Operation), Reason: h.Reason, Since: h.Since})
	}
	return all, err
}

// Halt implements sandboxapi.Lanes.
func (e *engineAPI) Halt(ctx context.Context, app, reason string, operations []string) ([]sandboxapi.Halt, error) {
	if err := e.engine.Halt(ctx, app, reason, named(operations)...); err != nil {
		return nil, err
	}
	return e.halted(ctx, app)
}

// Resume implements sandboxapi.Lanes.
func (e *engineAPI) Resume(ctx context.Context, app string, operations []string) ([]sandboxapi.Halt, error) {
	if err := e.engine.Resume(ctx, app, named(operations)...); err != nil {
		return nil, err
	}
	return e.halted(ctx, app)
}

func named(operations []string) (all []engine.Operation) {
	for _, o := range operations {
		all = append(all, engine.Operation(o))
	}
	return all
}

// Approve implements sandboxapi.Lanes.
func (e *engineAPI) Approve(ctx context.Context, app string, expected int) error {
	return refused(e.engine.Approve(ctx, app, expected), "AppInstance", app)
}

// Release implements sandboxapi.Lanes.
func (e *engineAPI) Release(ctx context.Context, app string) error { return e.engine.Kick(ctx, app) }

// Probe implements sandboxapi.Lanes.
func (e *engineAPI) Probe(ctx context.Context, app, domain string) (sandboxapi.Profile, error) {
	p, err := e.engine.ProbeApp(ctx, app, engine.ProbeOptions{Domain: domain})
	if err != nil {
		return sandboxapi.Profile{}, unread(err, app)
	}
	return shown[sandboxapi.Profile](p)
}

// Profile implements sandboxapi.Lanes.
func (e *engineAPI) Profile(ctx context.Context, app string) (sandboxapi.Profile, error) {
	p, err := e.engine.Profile(ctx, app)
	if err != nil {
		return sandboxapi.Profile{}, refused(err, "Profile", app)
	}
	return shown[sandboxapi.Profile](p)
}

// Unlearn implements sandboxapi.Lanes.
func (e *engineAPI) Unlearn(ctx context.Context, app string) error {
	return e.engine.ResetLearned(ctx, app)
}

// WaitApp implements sandboxapi.Lanes.
func (e *engineAPI) WaitApp(ctx context.Context, app string) error {
	if err := e.relayed(ctx); err != nil {
		return refused(err, "AppInstance", app)
	}
	return e.waited(ctx, e.engine.Wait(ctx, app), "AppInstance", app, "", "")
}

// eventPage is how many events are read at once when those of one principal are looked for.
const eventPage = 1000

// Events implements sandboxapi.Lanes.
func (e *engineAPI) Events(ctx context.Context, app, kind, id string, after int64, limit int) ([]sandboxapi.Event, error) {
	var found []engine.Event
	for size := limit; len(found) < limit; {
		if id != "" {
			size = eventPage
		}
		page, err := e.engine.Events(ctx, engine.EventQuery{App: app, After: after, Limit: size})
		if err != nil {
			return nil, err
		}
		for _, v := range page {
			if after = v.Seq; id == "" || string(v.Kind) == kind && v.Principal == id {
				found = append(found, v)
			}
		}
		if len(page) < size || id == "" {
			break
		}
	}
	found = found[:min(limit, len(found))]
	about := make([]engine.Principal, 0, len(found))
	for _, v := range found {
		about = append(about, engine.Principal{Kind: v.Kind, ID: v.Principal})
	}
	names, err := e.names(ctx, app, about)
	if err != nil {
		return nil, err
	}
	all := make([]sandboxapi.Event, 0, len(found))
	for i, v := range found {
		all = append(all, sandboxapi.Event{
			Seq: v.Seq, At: v.At, Type: string(v.Type), Kind: string(v.Kind), ID: v.Principal, Name: names[about[i]],
			Operation: string(v.Data.Operation), Status: string(v.Data.Status), HTTP: v.Data.HTTP, RemoteID: v.Data.RemoteID, Run: v.Data.Run,
			Hold: string(v.Data.Hold), Until: v.Data.Until, Since: v.Data.Since,
		})
	}
	return all, nil
}
