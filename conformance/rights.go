package conformance

import (
	"context"
	"fmt"
	"net/http"
)

// rights contains what the run has detected about the permissions of its credentials. A read-only token is not an error of the target, but
// with it every check that writes would report a 403 as a finding.
//
// After a rejected write the run tries once to create a minimal
// object. If the target rejects that too, the run stops writing.
type rights struct {
	rejected bool   // the target rejected a write with the run's own credentials (401 or 403)
	probed   bool   // the run has tried to create a plain object
	denied   string // why the run no longer writes: the credentials do not permit it
}

// observe records a write that the target rejected because of the run's own credentials.
func (r *rights) observe(req Request, res *Response) {
	if req.Method != http.MethodGet && req.Credentials == (Credentials{}) && forbids(res.Status) {
		r.rejected = true
	}
}

func forbids(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// probePermission creates a plain object, once in a run and only if the target rejected a write before any succeeded. It reports whether
// the credentials may not write.
func (s *session) probePermission(ctx context.Context) (denied bool) {
	if !s.rights.rejected || s.created.wrote || s.rights.probed || s.opts.ReadOnly || !s.caps.Users && !s.caps.Groups {
		return s.rights.denied != ""
	}
	s.rights.probed = true
	s.scratch(ctx, "permission", func(t *T, where string, body Doc) {
		if res := t.Post(ctx, where, body); forbids(res.Status) {
			what := map[string]string{"/Users": "users", "/Groups": "groups"}[where]
			s.rights.denied = fmt.Sprintf("these credentials may not create %s (%s returned %s): use --read-only, or a token with write permission",
				what,
				res.Name, statusText(res.Status))
		}
	})
	return s.rights.denied != ""
}
