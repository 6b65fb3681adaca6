package provision

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/internal/target"
	"github.com/scimwright/scimwright/scim"
)

// A read outside of the lanes is repeated this often when the target asks for a pause or the connection breaks, after the pause
// but not after more than this.
const (
	readRepeats  = 3
	maxReadPause = 30 * time.Second
)

// reader reads from the target of an app, outside of its lane but at its pace. It sends nothing but GET.
type reader struct {
	e *Engine
	*target.Connection
	pace *lane.RateLimiter
}

func (e *Engine) reader(ctx context.Context, app string) (*reader, error) {
	t, err := e.o.Directory.Target(ctx, app)
	switch {
	case err != nil:
		return nil, fmt.Errorf("engine: target of %s: %w", app, err)
	case t.Paused:
		return nil, engine.ErrPaused
	}
	r := &reader{e: e, Connection: e.targets.Connect(t), pace: e.targets.Pace(app)}
	if r.Broken != nil {
		return nil, fmt.Errorf("engine: the connection of %s is not configured: %w", app, r.Broken)
	}
	if rest := r.Rest(e.o.Now()); rest.Reason != "" {
		return nil, fmt.Errorf("%w: %s until %s", engine.ErrPaused, rest.Reason, rest.Until.Format(time.RFC3339))
	}
	r.pace.Allow(t.Rate, t.Burst)
	return r, nil
}

// recall reads what is known about the target, and goes on at the pace that it has taught. It is called once, before many reads.
func (r *reader) recall(ctx context.Context, app string) (engine.Learned, error) {
	row, err := r.e.o.Store.Lane(ctx, app)
	if errors.Is(err, engine.ErrNotFound) || err == nil && row.Learned.BaseURL != r.Target.BaseURL {
		return engine.Learned{}, nil
	}
	if err == nil {
		r.pace.Resume(row.Learned.Rate)
	}
	return row.Learned, err
}

// get sends a request, again after a pause that the target asks for and after a broken connection.
func (r *reader) get(ctx context.Context, req plan.Request) plan.Response {
	if req.Method != http.MethodGet {
		return plan.Response{Err: fmt.Errorf("engine: a list is not read by %s", req.Method)}
	}
	for repeats := 0; ; repeats++ {
		if err := r.pace.Wait(ctx); err != nil {
			return plan.Response{Err: err}
		}
		answer := r.Client.Do(ctx, req)
		wait, again := r.pause(answer, repeats)
		if !again || repeats == readRepeats || ctx.Err() != nil {
			return answer
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return answer
		}
	}
}

// pause says whether a request may be sent again, and after how long.
func (r *reader) pause(a plan.Response, repeats int) (time.Duration, bool) {
	throttled := a.Status == http.StatusTooManyRequests || a.Status == http.StatusServiceUnavailable
	switch {
	case a.Status == http.StatusTooManyRequests:
		r.pace.Report(engine.SignalThrottled)
	case a.Err == nil && a.Status < http.StatusInternalServerError:
		r.pace.Report(engine.SignalOK)
	}
	switch {
	case throttled && a.RetryAfter != "":
		now := r.e.o.Now()
		until := connect.RetryAfter(a.RetryAfter, now)
		if until.IsZero() {
			until = now.Add(r.e.sequences.Backoff.Delay(repeats + 1))
		}
		return min(max(until.Sub(now), 0), maxReadPause), true
	case a.Err != nil && a.Status == 0 && !final(a.Err):
		return min(r.e.sequences.Backoff.Delay(repeats+1), maxReadPause), true
	default:
		return 0, false
	}
}

// final says whether the same request would only fail the same way, or take as long again.
func final(err error) bool {
	_, forbidden := errors.AsType[*connect.EgressError](err)
	return forbidden || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// page reads the next page of a list. What an error quotes of the target has no secrets.
func (r *reader) page(ctx context.Context, p *plan.Pages) (page []*scim.Resource, last bool, err error) {
	page, last, failed := p.Read(r.get(ctx, p.Request()))
	if failed != nil {
		failed.Message = r.Client.Redact(failed.Message)
		return nil, false, failed
	}
	return page, last, nil
}

// endpoints of the kinds.
var endpoints = map[engine.Kind]string{engine.User: plan.UsersEndpoint, engine.Group: plan.GroupsEndpoint}
