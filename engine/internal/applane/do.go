package applane

import (
	"cmp"
	"context"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/principal"
	"github.com/scimwright/scimwright/engine/internal/sequence"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// Do implements lane.Work: it runs the sequence of a principal, and reports the result to the observer and the rate limiter.
func (w *work) Do(ctx context.Context, t lane.Task, sent func()) (lane.Signal, error) {
	w.Running.Begin(w.app(), engine.Principal{Kind: engine.Kind(t.Kind), ID: t.ID})
	if w.connection.Load().Suspension(w.Now()).Reason != "" {
		return lane.Signal{}, errSuspended // a maintenance window has started since the task was queued
	}
	row, err := principal.State(ctx, w.Store, w.app(), engine.Kind(t.Kind), t.ID)
	if err != nil {
		return lane.Signal{}, err
	}
	_, first := w.first.LoadAndDelete(t)
	if row.NextAt.IsZero() {
		return lane.Signal{Kind: engine.SignalNone}, nil // dismissed or dropped since the task was queued
	}
	if !w.accepted.admit(w.target(), t.Urgent || row.Pending != nil) {
		return lane.Signal{Kind: engine.SignalNone}, nil // too many accepted changes: the principal stays pending
	}
	ctx, ended := w.trace(ctx, row)
	connection := w.connection.Load()
	end, err := sequence.Deps{
		Settings: w.Settings, Ledger: w.Store, Halts: w.halts, Directory: w.Directory, Knowledge: w.knowledge, Connection: connection,
		Lease: w.ownership.Lease, Valid: w.ownership.Valid, Draining: w.ownership.Draining, Sent: sent,
		Line: func(record func(wirelog.Exchange), secrets ...string) sequence.Line {
			return connection.Line(w.ownership.Lease.Tenant, w.limiter, record, secrets...)
		},
	}.Run(ctx, row, first)
	ended(end, err)
	w.accepted.leave(row.Status, cmp.Or(end.Status, row.Status))
	switch {
	case err != nil:
		return lane.Signal{}, err
	case end.Interrupted:
		return lane.Signal{}, context.Cause(ctx)
	}
	w.Observer.Result(context.WithoutCancel(ctx), end.Result)
	if rate, news := w.limiter.Report(end.Signal.Kind); news {
		store, cancel := context.WithTimeout(context.WithoutCancel(ctx), sequence.StoreTimeout)
		defer cancel()
		err = w.knowledge.Note(store, func(l *engine.Learned) { l.Rate = rate })
	}
	return end.Signal, err
}

// trace starts the span of the sequence of a principal, which continues the traces of its marks. These are read after the row, so that the
// sequence covers the marks of all of them. ended ends the span, and removes the traces unless the sequence is to be repeated.
func (w *work) trace(ctx context.Context, row engine.State) (_ context.Context, ended func(sequence.End, error)) {
	if w.Spans == nil {
		return ctx, func(sequence.End, error) {}
	}
	who := engine.Principal{Kind: row.Kind, ID: row.ID}
	traces, err := w.Traces.MarkTraces(ctx, row.App, who)
	if err != nil {
		w.Logger.WarnContext(ctx, "traces of marks not read", "app", row.App, "error", err)
	}
	ctx, end := w.Spans.Sequence(ctx, row, traces)
	return ctx, func(s sequence.End, err error) {
		end(s.Result, err)
		if len(traces) == 0 || err != nil || s.Interrupted || s.Status == engine.StatusRetrying || s.Status == engine.StatusPending {
			return
		}
		store, cancel := context.WithTimeout(context.WithoutCancel(ctx), sequence.StoreTimeout)
		defer cancel()
		if err := w.Traces.EndTraces(store, row.App, who, traces); err != nil {
			w.Logger.WarnContext(ctx, "traces of marks not removed", "app", row.App, "error", err)
		}
	}
}

// Ended implements lane.Work. It releases callers that wait for the principal. When Ended returns, Running no longer has the principal.
func (w *work) Ended(t lane.Task) {
	w.Running.End(w.app(), engine.Principal{Kind: engine.Kind(t.Kind), ID: t.ID})
}
