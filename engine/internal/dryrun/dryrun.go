package dryrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/internal/sequence"
	"github.com/scimwright/scimwright/engine/internal/target"
	"github.com/scimwright/scimwright/engine/internal/trace"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// Store has the methods of package store that a dry run uses. All of them are reads.
type Store interface {
	Lane(ctx context.Context, app string) (engine.Lane, error)
	States(ctx context.Context, q engine.StateQuery) ([]engine.State, error)
	StatesByID(ctx context.Context, app string, kind engine.Kind, ids []string) ([]engine.State, error)
	Members(ctx context.Context, app string, q store.MemberQuery) ([]store.Member, error)
	Halts(ctx context.Context, app string) ([]engine.Halt, error)
	CountRemovals(ctx context.Context, app string, kind engine.Kind, id string, now time.Time, g engine.Guard) (many int, err error)
}

// Deps are the dependencies of the dry runs of an engine; all fields are required.
type Deps struct {
	sequence.Settings
	Store     Store
	Directory engine.Directory
	Targets   *target.Connector
}

// App performs dry runs for the principals of an app. It may be used by several goroutines.
type App struct {
	d          Deps
	app        string
	connection *target.Connection
	limiter    *lane.RateLimiter
	known      knowledge
}

// Open prepares dry runs of an app with the candidate directory, or with the engine's directory if candidate is nil.
func (d Deps) Open(ctx context.Context, app string, candidate engine.Directory) (*App, error) {
	d.Logger = slog.New(slog.DiscardHandler) // no logs: a dry run writes nothing
	x := &App{app: app, limiter: d.Targets.RateLimiter(app)}
	if candidate != nil {
		d.Directory = candidate
		x.limiter = lane.NewRateLimiter(d.Now) // a candidate's rate limit must not affect the lane
	}
	x.d = d
	t, err := d.Directory.Target(ctx, app)
	if err != nil {
		return nil, fmt.Errorf("engine: target of %s: %w", app, err)
	}
	x.connection = d.Targets.Connect(t)
	row, err := d.Store.Lane(ctx, app)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return nil, err
	}
	known := row.Learned
	if known.BaseURL != t.BaseURL {
		known = engine.Learned{BaseURL: t.BaseURL}
	}
	known = known.UsedFor(t)
	x.limiter.Resume(known.Rate)
	x.limiter.Allow(t.Rate, t.Burst)
	if config := x.connection.Config(ctx, known, d.Now()); config != nil {
		known.Config = config
	}
	x.known = knowledge{known}
	return x, nil
}

// Target returns the configuration of the dry runs.
func (x *App) Target() engine.Target { return x.connection.Target }

// Directory returns the directory of the dry runs.
func (x *App) Directory() engine.Directory { return x.d.Directory }

// Concurrency returns the maximum number of concurrent dry runs.
func (x *App) Concurrency() int { return x.connection.Requests }

// SlowDown halves the rate of the reads, after the target has requested a pause.
func (x *App) SlowDown() { x.limiter.Report(engine.SignalThrottled) }

// MembersHidden reports whether the target is known not to return the members of groups.
func (x *App) MembersHidden() bool { return x.known.value.TraitsAt(x.d.Now())[engine.MembersHidden] }

// Assumptions are conditions that a dry run assumes to hold. The zero value contains no assumption.
type Assumptions struct {
	Marked      bool // the principal is marked; a group is marked with all members
	Unguarded   bool // the deletion guard allows the removal
	NameUnknown bool // the group's name on the target is unknown
	Unwaiting   bool // an accepted change is ignored: the target is compared although the change may not be carried out yet
}

// knowledge implements sequence.Knowledge for a dry run: it returns the stored knowledge and records nothing.
type knowledge struct{ value engine.Learned }

func (k knowledge) Learned() engine.Learned {
	known := k.value
	known.Traits = maps.Clone(known.Traits)
	return known
}

func (k knowledge) Note(context.Context, func(*engine.Learned)) error { return nil }

// Run is a completed dry run.
type Run struct {
	sequence.End
	Before engine.State // as stored
	at     time.Time
	line   *line // nil if no sequence was started
	roster []store.Member
}

// Run performs a dry run of a principal.
func (x *App) Run(ctx context.Context, kind engine.Kind, id string, o Assumptions) (*Run, error) {
	if err := principal.Check(x.app, kind, id); err != nil {
		return nil, err
	}
	row, err := principal.State(ctx, x.d.Store, x.app, kind, id)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		row = engine.State{App: x.app, Kind: kind, ID: id}
	case err != nil:
		return nil, err
	}
	r := &Run{Before: row, at: x.d.Now()}
	// A principal that was never marked has the generation 0. The run uses 1, because a read of all members of a group requires a
	// generation.
	row.Desired = max(row.Desired, 1)
	if o.Marked {
		if row.Desired++; kind == engine.Group {
			row.Full = row.Desired
		}
	}
	if o.Unwaiting {
		row.Pending = nil
	}
	if o.NameUnknown && kind == engine.Group {
		row.RemoteName = ""
	}
	l := &ledger{Store: x.d.Store, row: row, unguarded: o.Unguarded}
	d := sequence.Deps{
		Settings: x.d.Settings, Ledger: l, Halts: halts{x.d.Store, x.app}, Directory: x.d.Directory, Knowledge: x.known, Connection: x.connection,
		Lease: engine.Lease{App: x.app}, Valid: func() bool { return true }, Draining: func() bool { return false }, Sent: func() {},
		Line: func(_ func(wirelog.Exchange), secrets ...string) sequence.Line {
			r.line = x.newLine(secrets)
			return r.line
		},
	}
	r.End, err = d.Run(ctx, row, false)
	r.roster = l.roster()
	return r, err
}

// Trace returns the trace of the dry run.
func (r *Run) Trace() engine.Trace {
	o := r.Outcome
	t := engine.Trace{
		App: r.Before.App, Kind: r.Before.Kind, ID: r.Before.ID, Rehearsed: true, At: r.at, State: principal.Shown(r.Before),
		Requests:  []engine.Sent{},
		Operation: o.Operation, Outcome: o.Class, HTTP: o.Status, Message: cmp.Or(o.Message, r.Waiting),
	}
	t.Want, t.Desired = trace.Desired(r.Desired)
	for _, m := range r.roster {
		if m.Want && m.RemoteID == "" && len(t.Waiting) < engine.MaxNamed {
			t.Waiting = append(t.Waiting, m.User)
		}
	}
	if r.line == nil {
		return t
	}
	for _, q := range r.line.client.Requests() {
		t.Requests = append(t.Requests, engine.Sent{
			Method: q.Method, Path: q.Path, IfMatch: q.IfMatch, Body: q.Body, Pretended: q.Pretended, Status: q.Status,
			Answer: q.Answer, Error: q.Error,
		})
	}
	trace.AddChanges(&t, r.line.client.Changes(), r.roster)
	return t
}

// Trace performs a dry run of a principal and returns its trace, with the reason why the lane currently sends nothing, if any.
func (x *App) Trace(ctx context.Context, kind engine.Kind, id string) (engine.Trace, error) {
	r, err := x.Run(ctx, kind, id, Assumptions{})
	if err != nil {
		return engine.Trace{}, err
	}
	t := r.Trace()
	l, err := x.d.Store.Lane(ctx, x.app)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return t, err
	}
	now := x.d.Now()
	t.Hold = trace.Hold(l, x.connection.Target, x.connection.Suspension(now), t.State, now)
	return t, nil
}
