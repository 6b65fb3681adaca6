package conformance

import (
	"context"
	"fmt"
	"net/http"
)

// rights contains what the run has detected about its permission to write. A read-only token is not an error of the target, and RFC 7644
// permits a target that is read-only: with either, every check that writes would report the rejection as a finding.
//
// After a rejected write the run tries once to create a minimal object. If the target rejects that too, the run stops writing.
type rights struct {
	rejected bool   // the target rejected a write with the run's own credentials (401 or 403), or rejected the method (405 or 501)
	probed   bool   // the run has tried to create a plain object
	denied   string // why the run no longer writes: the credentials or the target do not permit it
	readOnly bool   // the reason is the target, whatever the credentials
}

// observe records a write that the target rejected because of the run's own credentials, or because it does not implement the method.
func (r *rights) observe(req Request, res *Response) {
	if req.Method != http.MethodGet && req.Credentials == (Credentials{}) && (forbids(res.Status) || lacksMethod(res.Status)) {
		r.rejected = true
	}
}

func forbids(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

func lacksMethod(status int) bool {
	return status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented
}

// probePermission creates a plain object, once in a run and only if the target rejected a write before any succeeded. It reports whether
// the run may not write.
func (s *session) probePermission(ctx context.Context) (denied bool) {
	if !s.rights.rejected || s.created.wrote || s.rights.probed || s.opts.ReadOnly || !s.caps.Users && !s.caps.Groups {
		return s.rights.denied != ""
	}
	s.rights.probed = true
	s.scratch(ctx, "permission", func(t *T, where string, body Doc) {
		res := t.Post(ctx, where, body)
		what := map[string]string{"/Users": "users", "/Groups": "groups"}[where]
		switch {
		case forbids(res.Status):
			s.rights.denied = fmt.Sprintf("these credentials may not create %s (%s returned %s): use --read-only, or a token with write permission",
				what, res.Name, statusText(res.Status))
		case lacksMethod(res.Status):
			s.rights.denied = fmt.Sprintf("the target creates no %s (%s returned %s): use --read-only", what, res.Name, statusText(res.Status))
			s.rights.readOnly = true
		}
	})
	return s.rights.denied != ""
}
