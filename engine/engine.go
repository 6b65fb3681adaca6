package engine

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"
)

// Options configures an Engine. Store and Directory are required.
type Options struct {
	Store     Store
	Directory Directory
	Observer  Observer     // Defaults to nobody
	Logger    *slog.Logger // Defaults to discarding

	// Owner names this engine among those that share a store. Defaults to a random name. A fixed name, unique per running
	// engine, lets a restarted one take its lanes back at once instead of waiting for the leases to end.
	Owner string
	// Lease is how long a lane stays with an engine that no longer answers. A call may take a little less than a third of
	// it. Defaults to 190 s, which allows calls of 60 s.
	Lease time.Duration
	// Sweep is how often the store is asked for due lanes when nobody calls Wake. Defaults to 1 s.
	Sweep time.Duration
	// Lanes is how many apps are worked on at once. Defaults to 64.
	Lanes int
	// RetryInitial and RetryMax bound the back-off after failures. Default to 1 s and 5 min.
	RetryInitial, RetryMax time.Duration
	// BreakerAfter is how many failures in a row stop a lane. Defaults to 5.
	BreakerAfter int
	// UserAgent is sent to targets. Defaults to "Svc SCIM Client 1.0.0".
	UserAgent string
	// Transport sends the requests. Defaults to a copy of http.DefaultTransport.
	Transport http.RoundTripper
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Engine provisions.
type Engine struct {
	o Options
}

// New returns an engine that does nothing until Start.
func New(o Options) (*Engine, error) {
	if o.Store == nil || o.Directory == nil {
		return nil, errors.New("engine: Options.Store and Options.Directory are required")
	}
	return &Engine{o: o}, nil
}

// Start begins to work in the background and returns. A second call does nothing.
func (e *Engine) Start(ctx context.Context) error { return nil }

// Stop lets running sequences come to their end, gives the lanes back and returns. When ctx ends first, the sequences are
// cut off; what they were about is taken up after the next Start of an engine. A second call waits too.
func (e *Engine) Stop(ctx context.Context) error { return nil }

// Mark records, inside the caller's transaction, that the desired state of principals may have changed. Call Wake after the
// commit; without it the change is found at the next sweep.
func (e *Engine) Mark(ctx context.Context, tx Execer, marks ...Mark) error {
	return e.o.Store.Mark(ctx, tx, e.o.Now(), marks)
}

// Wake says that the apps may have something to do; without names, that any may.
func (e *Engine) Wake(apps ...string) {}

// Kick ends the pause, the breaker or the quarantine of the apps and has them work at once, e.g. after new credentials were set.
func (e *Engine) Kick(ctx context.Context, apps ...string) error { return nil }

// State returns what is known about one principal, or ErrNotFound.
func (e *Engine) State(ctx context.Context, app string, kind Kind, id string) (State, error) {
	return State{}, ErrNotFound
}

// States lists what is known about principals.
func (e *Engine) States(ctx context.Context, q StateQuery) ([]State, error) {
	return e.o.Store.States(ctx, q)
}

// Attempts lists recorded exchanges, newest first.
func (e *Engine) Attempts(ctx context.Context, q AttemptQuery) ([]Attempt, error) {
	return e.o.Store.Attempts(ctx, q)
}

// Lane returns the state of an app, or ErrNotFound.
func (e *Engine) Lane(ctx context.Context, app string) (Lane, error) { return e.o.Store.Lane(ctx, app) }

// Pending counts the principals of all apps that are due now or later.
func (e *Engine) Pending(ctx context.Context) (int, error) { return e.o.Store.Pending(ctx, "") }

// Wait returns when no principal of the app (of any app, when empty) is due any more. Principals that failed for good or are
// held are not waited for; those in back-off are.
func (e *Engine) Wait(ctx context.Context, app string) error { return nil }

// Test asks the target for its first page of users with the given credentials. It returns nil when the answer is 200 with a
// ListResponse within 5 s, and otherwise an error that may be shown to an administrator.
func (e *Engine) Test(ctx context.Context, t Target) error { return nil }
