package conformance

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const (
	// maxRetryAfter is the longest wait that the suite grants a target which answers 429.
	maxRetryAfter = 60 * time.Second
	// defaultRetryAfter is the first wait when a 429 names none; it doubles with each further one.
	defaultRetryAfter = time.Second
	// maxAttempts is how often one request is sent to a target that keeps answering 429.
	maxAttempts = 4
)

// waitOut waits as long as a 429 asks for and says whether the request should be sent again. It does not when the target
// asks for more patience than the suite has, or the run would end before. A target that has said nothing but 429 so far is
// granted one wait, and only when it names a time: it may not want to be tested at all.
func (s *session) waitOut(ctx context.Context, busy *Response, attempt int) bool {
	wait, named := retryAfter(busy, s.opts.Now, attempt)
	if !s.served && (!named || s.throttled > 0) {
		return false
	}
	deadline, limited := ctx.Deadline()
	if attempt+1 >= maxAttempts || wait > maxRetryAfter || limited && wait > time.Until(deadline) {
		return false
	}
	s.throttled++
	s.opts.Logger.InfoContext(ctx, "the target asks to wait", "request", busy.Name, "wait", wait)
	return pause(ctx, wait)
}

// retryAfter reads the Retry-After of an answer, in seconds or as a date.
func retryAfter(busy *Response, now func() time.Time, attempt int) (wait time.Duration, named bool) {
	after := busy.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(after, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(after); err == nil {
		return max(at.Sub(now()), 0), true
	}
	return defaultRetryAfter << attempt, false
}

// pause waits and says whether the time has passed before the context ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// lagSteps is how often the suite looks, within the bound of Options.Settle, whether what it created can be found.
const lagSteps = 20

// measureLag creates an object and looks until it can be read and found by its name. A target that shows it at once has no
// lag, and neither has one that never shows it: then the checks say what is wrong.
func (s *session) measureLag(ctx context.Context) {
	if s.opts.Settle <= 0 || s.opts.ReadOnly || !s.caps.Users && !s.caps.Groups {
		return
	}
	s.scratch(ctx, "lag", func(t *T, where string, body Doc) {
		created := t.Create(ctx, where, body)
		start := s.opts.Now()
		for step := range lagSteps + 1 {
			if s.visible(ctx, t, created) {
				if step > 0 {
					s.lag = s.opts.Now().Sub(start)
				}
				return
			}
			if step < lagSteps && !pause(ctx, s.opts.Settle/lagSteps) {
				return
			}
		}
	})
}

// visible tells whether an object can be read and, unless the target declines to filter, is found by its name.
func (s *session) visible(ctx context.Context, t *T, c *Created) bool {
	if t.Get(ctx, c.Path()).Status == http.StatusNotFound {
		return false
	}
	found := t.Get(ctx, c.Collection, "filter", s.naming[c.Collection]+" eq "+strconv.Quote(c.name))
	return !found.OK() || found.Total() != 0 || slices.Contains(found.IDs(), c.ID)
}

// waitForLag gives a write the time that the target needs to show it, and says whether it had to.
func (s *session) waitForLag(ctx context.Context, req Request, res *Response) bool {
	if s.lag == 0 || req.Method == http.MethodGet || !res.OK() {
		return false
	}
	// Twice what was measured once: the next time it may take a little longer.
	pause(ctx, min(2*s.lag, s.opts.Settle))
	return true
}
