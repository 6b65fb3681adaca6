package conformance

import (
	"context"
	"net/http"
	"slices"
	"strconv"
)

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
	found := t.Get(ctx, c.Collection, "filter", s.estate.naming[c.Collection]+" eq "+strconv.Quote(c.name))
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
