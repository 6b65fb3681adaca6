package conformance

import (
	"context"
	"net/http"
	"regexp"
)

// A selectionProbe contains what the run has detected about filters with the operator sw. The checks select the objects of a fixture by
// such filters.
type selectionProbe struct {
	suspected bool // the target rejected a request with such a filter; another part of the request may be the reason
	sent      bool // the run has sent a request that contains only such a filter
	rejected  bool // the target rejected that request
}

// prefixFilter matches the filters that select objects by the prefix of their names.
var prefixFilter = regexp.MustCompile(`^(?:userType pr and )?(?:userName|displayName) sw "(?:\\.|[^"\\])*"$`)

// observe records that the target rejected a request that selects objects by the prefix of their names.
func (p *selectionProbe) observe(req Request, res *Response) {
	filter := req.Query.Get("filter")
	if body, ok := req.Body.(Doc); ok && filter == "" {
		filter, _ = body["filter"].(string)
	}
	p.suspected = p.suspected || rejectsFilter(res) && prefixFilter.MatchString(filter)
}

// rejectsFilter reports whether a response has a status with which a target rejects a filter that it does not support: 400 (RFC 7644 table
// 9) or 501.
func rejectsFilter(res *Response) bool {
	return res.Status == http.StatusBadRequest || res.Status == http.StatusNotImplemented
}

// learnSelection finds out, once per run, whether the target rejects filters with the operator sw: after the target rejected a request with
// such a filter, it sends the filter alone. It reports whether the check must be run again.
func (s *session) learnSelection(ctx context.Context, t *T) bool {
	p := &s.selection
	if !p.suspected || p.sent || t.outcome == Pass || !s.caps.Users || s.interruption(ctx) != "" {
		return false
	}
	p.sent = true
	res, err := s.wire.call(ctx, Request{Method: http.MethodGet, Path: "/Users",
		Query: pairs([]string{"filter", `userName sw "` + s.created.run + `"`, "count", "1"})}, false)
	p.rejected = err == nil && rejectsFilter(res)
	return p.rejected
}

// RejectsPrefixes reports whether the target rejects filters with the operator sw. It is false until the target has rejected one in this
// run; the check that sent it is then run again.
func (t *T) RejectsPrefixes() bool { return t.session.selection.rejected }

// fixtureOf returns the fixture of a check, or its Equal if the target rejects the operator sw and Equal can be built.
func (s *session) fixtureOf(ctx context.Context, t *T, check Check) *Fixture {
	if f := check.Fixture; s.selection.rejected && f.Equal != nil {
		if objects, _ := s.fixture(ctx, t, f.Equal); objects != nil {
			return f.Equal
		}
	}
	return check.Fixture
}
