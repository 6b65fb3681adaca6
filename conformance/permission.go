package conformance

import (
	"context"
	"fmt"
	"net/http"
)

// A token that may only read is no fault of the target, but every check that writes would blame it for its 403. So a refused
// write makes the run ask once whether these credentials may create the plainest object there is; when they may not, nothing
// further is written.

// observeWrite remembers that a write with the run's own credentials was refused.
func (s *session) observeWrite(req Request, res *Response) {
	if req.Method != http.MethodGet && req.Credentials == (Credentials{}) && forbids(res.Status) {
		s.refused = true
	}
}

func forbids(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// probePermission creates a plain object, once in a run and only after a write was refused while none had succeeded. It says
// whether the credentials are found to be too weak for writing.
func (s *session) probePermission(ctx context.Context) (denied bool) {
	if !s.refused || s.wrote || s.probed || s.opts.ReadOnly || !s.caps.Users && !s.caps.Groups {
		return s.denied != ""
	}
	s.probed = true
	s.scratch(ctx, "permission", func(t *T, where string, body Doc) {
		if res := t.Post(ctx, where, body); forbids(res.Status) {
			what := map[string]string{"/Users": "users", "/Groups": "groups"}[where]
			s.denied = fmt.Sprintf("these credentials may not create %s (%s answered %s): use --read-only, or a token that may write", what,
				res.Name, statusText(res.Status))
		}
	})
	return s.denied != ""
}

// scratch hands fn a plain object that could be created, a group where the target serves no users, and removes what fn makes
// of it.
func (s *session) scratch(ctx context.Context, name string, fn func(t *T, where string, body Doc)) {
	check := Check{ID: "discovery." + name}
	var ledger []*Created
	t := &T{Capabilities: s.caps, session: s, check: &check, prefix: s.run + "-" + name + "-", ledger: &ledger, outcome: Pass}
	t.run(func() {
		where, body := "/Users", t.User("probe", nil)
		if !s.caps.Users {
			where, body = "/Groups", t.Group("probe", nil)
		}
		fn(t, where, body)
	})
	cleanup, done := s.cleanupContext(ctx)
	defer done()
	s.remove(cleanup, ledger)
}
