package conformance

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/scim"
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

// rejectsFilter reports whether a target rejects a filter as one that it does not support: with 501, or with 400 and the scimType
// invalidFilter (RFC 7644 section 3.4.2.2) or none. A 400 with another scimType is an error while the target evaluates the filter.
func rejectsFilter(res *Response) bool {
	return res.Status == http.StatusNotImplemented ||
		res.Status == http.StatusBadRequest && slices.Contains([]string{"", string(scim.InvalidFilter)}, res.ScimType())
}

// servedFilters are the forms of filters that the target has evaluated in this run: "/Users userName eq \"\"".
type servedFilters map[string]bool

var (
	operandText   = regexp.MustCompile(`"(?:\\.|[^"\\])*"`)
	operandNumber = regexp.MustCompile(`-?\b\d[\d.]*\b`)
)

// filterForm returns the collection and the filter of a query, in lower case and without the strings and numbers in the filter. It returns
// "" for a request without a filter.
func filterForm(req Request) string {
	filter := req.Query.Get("filter")
	if filter == "" || req.Method != http.MethodGet {
		return ""
	}
	filter = operandText.ReplaceAllString(filter, `""`)
	return strings.ToLower("/" + first(req.Path) + " " + operandNumber.ReplaceAllString(filter, "0"))
}

// observe records the form of the filter of a request, and whether the target has evaluated it.
func (f servedFilters) observe(req Request, res *Response) {
	form := filterForm(req)
	res.servedBefore = f[form]
	if form != "" && res.Status == http.StatusOK {
		f[form] = true
	}
}

// Declines reports whether the response rejects the filter of the request as RFC 7644 permits: the target does not support the filter. It
// returns false if the target has evaluated a filter of the same form, with other operands, earlier in the run.
func (r *Response) Declines() bool { return rejectsFilter(r) && !r.servedBefore }

// ServedBefore reports whether the target has evaluated a filter of the same form as that of the request, with other operands, earlier in
// the run.
func (r *Response) ServedBefore() bool { return r.servedBefore }

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
