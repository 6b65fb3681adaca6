package conformance

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// defaultSettle is the maximum time that the run waits for a write to become visible, if Options.Settle is unset.
	defaultSettle = 2 * time.Second
	// lagSteps is the maximum number of times that the run searches for an object that it created, within Options.Settle.
	lagSteps = 20
	// lagCount is a count that is large enough for the result of a search by name; further searches for the same object add their number.
	lagCount = 100
)

// measureLag waits until a created object can be read and found by its name. If the target shows the object immediately or never, there is
// no lag; in the second case the checks report the violation.
func (s *session) measureLag(ctx context.Context, t *T, created *Created) {
	start := s.opts.Now()
	for step := range lagSteps + 1 {
		if s.visible(ctx, t, created, step) {
			if step > 0 {
				s.lag = s.opts.Now().Sub(start)
			}
			return
		}
		if step < lagSteps && !pause(ctx, s.opts.Settle/lagSteps) {
			return
		}
	}
}

// visible reports whether an object can be read and, unless the target does not support the filter, is found by its name. Later tries have
// other values of count, because a cache may return the list without the object to each request with the same URL.
func (s *session) visible(ctx context.Context, t *T, c *Created, try int) bool {
	if t.Get(ctx, c.Path()).Status == http.StatusNotFound {
		return false
	}
	query := []string{"filter", s.created.naming[c.Collection] + " eq " + strconv.Quote(c.name)}
	if try > 0 {
		query = append(query, "count", strconv.Itoa(lagCount+try))
	}
	found := t.Get(ctx, c.Collection, query...)
	return !found.OK() || found.Total() != 0 || slices.Contains(found.IDs(), c.ID)
}

// wrote records the time of a successful write.
func (s *session) wrote(req Request, res *Response) {
	if res.OK() && req.Method != http.MethodGet && !strings.HasSuffix(req.Path, "/.search") {
		s.lastWrite = s.opts.Now()
		if name := s.createName(req); name != "" {
			s.posted[name] = true
		}
	}
}

// waitForLag waits until the last write should be visible: twice the measured lag after the write, at most Options.Settle. For a POST of a
// name that the run has not sent before, it does not wait, because the result of such a POST does not depend on earlier writes.
func (s *session) waitForLag(ctx context.Context, req Request) {
	if name := s.createName(req); s.lag == 0 || s.lastWrite.IsZero() || name != "" && !s.posted[name] {
		return
	}
	// Twice the measured lag, because that of a single write may be longer.
	if left := s.lastWrite.Add(min(2*s.lag, s.opts.Settle)).Sub(s.opts.Now()); left > 0 {
		pause(ctx, left)
	}
	s.lastWrite = time.Time{}
}

// createName returns the collection and the name of the object that a request creates, in lower case, or "" if the request is no create.
func (s *session) createName(req Request) string {
	attribute := s.created.naming[req.Path]
	if req.Method != http.MethodPost || attribute == "" {
		return ""
	}
	return strings.ToLower(req.Path + " " + nameIn(req.Body, attribute))
}
