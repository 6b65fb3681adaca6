package truth_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/scimwright/scimwright/conformance"
)

// TestSuite_AllowsUnprotectedUnsupportedPATCH checks that a server without PATCH support passes the auth checks if it returns 501 to every
// PATCH.
func TestSuite_AllowsUnprotectedUnsupportedPATCH(t *testing.T) {
	t.Parallel()
	reference := newReferenceServer(t)
	r := suite(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case req.Method == http.MethodPatch:
			w.WriteHeader(http.StatusNotImplemented)
		case strings.HasSuffix(req.URL.Path, "/ServiceProviderConfig"):
			w.Header().Set("Content-Type", "application/scim+json")
			_, _ = w.Write([]byte(`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],"patch":{"supported":false}}`))
		default:
			reference.ServeHTTP(w, req)
		}
	}), "auth.every-method", "auth.every-group-method", "auth.wrong-token-writing")
	for _, c := range r.Checks {
		assert.Equal(t, conformance.Pass, c.Outcome, "%s", describe(c))
	}
}
