package listing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/pause"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/internal/target"
	"github.com/scimwright/scimwright/scim"
)

// Limits of the retries of a read outside of the lanes, after the target requests a pause or the connection breaks: the number of retries,
// and the longest pause before each.
const (
	readRepeats  = 3
	maxReadPause = 30 * time.Second
)

// Store has the methods of package store that a Reader uses.
type Store interface {
	Lane(ctx context.Context, app string) (engine.Lane, error)
}

// Deps are the dependencies of the readers of an engine; all fields are required.
type Deps struct {
	Store     Store
	Directory engine.Directory
	Targets   *target.Connector
	Backoff   lane.Backoff
	Now       func() time.Time
}

// Reader reads from the target of an app.
type Reader struct {
	Target  engine.Target
	d       Deps
	app     string
	client  *connect.Client
	limiter *lane.RateLimiter
}

// Open returns a reader of the target that the directory currently returns. The error is ErrPaused while the app is paused or in a
// maintenance window.
func (d Deps) Open(ctx context.Context, app string) (*Reader, error) {
	t, err := d.Directory.Target(ctx, app)
	switch {
	case err != nil:
		return nil, fmt.Errorf("engine: target of %s: %w", app, err)
	case t.Paused:
		return nil, engine.ErrPaused
	}
	c := d.Targets.Connect(t)
	if c.Broken != nil {
		return nil, fmt.Errorf("engine: the connection of %s is not configured: %w", app, c.Broken)
	}
	if rest := c.Suspension(d.Now()); rest.Reason != "" {
		return nil, fmt.Errorf("%w: %s until %s", engine.ErrPaused, rest.Reason, rest.Until.Format(time.RFC3339))
	}
	r := &Reader{Target: t, d: d, app: app, client: c.Client, limiter: d.Targets.RateLimiter(app)}
	r.limiter.Allow(t.Rate, t.Burst)
	return r, nil
}

// Recall returns the learned properties of the target, and sets the learned rate limit of the reads. Call it once, before a series of
// reads.
func (r *Reader) Recall(ctx context.Context) (engine.Learned, error) {
	row, err := r.d.Store.Lane(ctx, r.app)
	if errors.Is(err, engine.ErrNotFound) || err == nil && row.Learned.BaseURL != r.Target.BaseURL {
		return engine.Learned{}, nil
	}
	if err == nil {
		r.limiter.Resume(row.Learned.Rate)
	}
	return row.Learned, err
}

// Get sends a request. It retries the request after a pause that the target requests and after a broken connection.
func (r *Reader) Get(ctx context.Context, req plan.Request) plan.Response {
	if req.Method != http.MethodGet {
		return plan.Response{Err: fmt.Errorf("engine: a list is read by GET, not by %s", req.Method)}
	}
	for repeats := 0; ; repeats++ {
		if err := r.limiter.Wait(ctx); err != nil {
			return plan.Response{Err: err}
		}
		answer := r.client.Do(ctx, req)
		wait, again := r.repeatAfter(answer, repeats)
		if !again || repeats == readRepeats || ctx.Err() != nil {
			return answer
		}
		if !pause.For(ctx, wait) {
			return answer
		}
	}
}

// repeatAfter reports whether a request may be repeated, and after which delay.
func (r *Reader) repeatAfter(a plan.Response, repeats int) (time.Duration, bool) {
	throttled := a.Status == http.StatusTooManyRequests || a.Status == http.StatusServiceUnavailable
	switch {
	case a.Status == http.StatusTooManyRequests:
		r.limiter.Report(engine.SignalThrottled)
	case a.Err == nil && a.Status < http.StatusInternalServerError:
		r.limiter.Report(engine.SignalOK)
	}
	switch {
	case throttled && a.RetryAfter != "":
		now := r.d.Now()
		until := connect.RetryAfter(a.RetryAfter, now)
		if until.IsZero() {
			until = now.Add(r.d.Backoff.Delay(repeats + 1))
		}
		return min(max(until.Sub(now), 0), maxReadPause), true
	case a.Err != nil && a.Status == 0 && !final(a.Err):
		return min(r.d.Backoff.Delay(repeats+1), maxReadPause), true
	default:
		return 0, false
	}
}

// final reports whether a repeated request would fail with the same error, or would take as long as the failed one.
func final(err error) bool {
	_, forbidden := errors.AsType[*connect.EgressError](err)
	return forbidden || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// Page reads the next page of a list. An error may quote the target, without secrets.
//
// Invariant 18: Imports and drift reports send GET only. The engine discards inconsistent lists. An account that is missing from a list is
// not changed for that reason.
func (r *Reader) Page(ctx context.Context, p *plan.Pages) (page []*scim.Resource, last bool, err error) {
	page, last, failed := p.Read(r.Get(ctx, p.Request()))
	if failed != nil {
		failed.Message = r.client.Redact(failed.Message)
		return nil, false, failed
	}
	return page, last, nil
}

// Redact replaces secrets in a string that quotes the target.
func (r *Reader) Redact(text string) string { return r.client.Redact(text) }

// Endpoints has the endpoint of each kind.
var Endpoints = map[engine.Kind]string{engine.User: plan.UsersEndpoint, engine.Group: plan.GroupsEndpoint}
