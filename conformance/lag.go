package conformance

import (
	"context"
	"net/http"
	"slices"
	"strconv"
)

// lagSteps is the maximum number of times that the run searches for an object that it created, within Options.Settle.
const lagSteps = 20

// measureLag creates an object and waits until it can be read and found by its name. If the target shows the object immediately or never,
// there is no lag; in the second case the checks report the violation.
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

// visible reports whether an object can be read and, unless the target does not support the filter, is found by its name.
func (s *session) visible(ctx context.Context, t *T, c *Created) bool {
	if t.Get(ctx, c.Path()).Status == http.StatusNotFound {
		return false
	}
	found := t.Get(ctx, c.Collection, "filter", s.created.naming[c.Collection]+" eq "+strconv.Quote(c.name))
	return !found.OK() || found.Total() != 0 || slices.Contains(found.IDs(), c.ID)
}

// waitForLag waits after a successful write for twice the measured lag, at most Options.Settle. It reports whether it waited.
func (s *session) waitForLag(ctx context.Context, req Request, res *Response) bool {
	if s.lag == 0 || req.Method == http.MethodGet || !res.OK() {
		return false
	}
	// The lag of a single write may be longer than the measured lag.
	pause(ctx, min(2*s.lag, s.opts.Settle))
	return true
}
