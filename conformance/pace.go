package conformance

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/time/rate"
)

const (
	// maxRetryAfter is the longest time that the suite waits after a 429.
	maxRetryAfter = 60 * time.Second
	// defaultRetryAfter is the first wait after a 429 without Retry-After. It doubles with each further 429.
	defaultRetryAfter = time.Second
	// maxAttempts is the maximum number of attempts for a request that gets 429.
	maxAttempts = 4
)

// pacer returns a limiter that spreads requests evenly, with a burst of one. Zero means no limit.
func pacer(perSecond float64) *rate.Limiter {
	if perSecond <= 0 {
		return rate.NewLimiter(rate.Inf, 1)
	}
	return rate.NewLimiter(rate.Limit(perSecond), 1)
}

// waitOut waits for the time that the Retry-After of a 429 requests, and reports whether to send the request again. It does not wait beyond
// the limits of the suite or the end of the run. If the target has returned only 429 so far, it waits once, and only if Retry-After is
// present, because the target may be configured to reject the suite.
func (w *wire) waitOut(ctx context.Context, busy *Response, attempt int) bool {
	wait, named := retryAfter(busy, w.opts.Now, attempt)
	if !w.served && (!named || w.throttled > 0) {
		return false
	}
	deadline, limited := ctx.Deadline()
	if attempt+1 >= maxAttempts || wait > maxRetryAfter || limited && wait > time.Until(deadline) {
		return false
	}
	w.throttled++
	w.opts.Logger.InfoContext(ctx, "waiting for the time that the target requests", "request", busy.Name, "wait", wait)
	return pause(ctx, wait)
}

// retryAfter reads the Retry-After of a response, in seconds or as a date.
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

// pause waits and reports whether the time has passed before ctx ended.
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
