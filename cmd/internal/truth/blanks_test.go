package truth_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// TestGroupWithoutBlanks_RejectionPermitted checks that a server may reject a filter without the space between a parenthesis and "or",
// which the grammar of RFC 7644 requires. It must not return other users, and it must evaluate "not(".
func TestGroupWithoutBlanks_RejectionPermitted(t *testing.T) {
	t.Parallel()
	const list = `{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":0,"Resources":[]}`
	for _, tt := range []struct {
		part   string
		status int
		body   string
		want   conformance.Outcome
	}{
		{")or(", 400, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400","scimType":"invalidFilter"}`, conformance.Pass},
		{")or(", 200, list, conformance.Fail},
		{")or(", 500, `{}`, conformance.Fail},
		{"not(", 200, list, conformance.Fail},
	} {
		reference := newReferenceServer(t)
		r := suite(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Query().Get("filter"), tt.part) {
				w.Header().Set("Content-Type", "application/scim+json")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
				return
			}
			reference.ServeHTTP(w, r)
		}), "filter.group-without-blanks")
		require.Len(t, r.Checks, 1)
		assert.Equal(t, tt.want, r.Checks[0].Outcome, "%s %d: %s", tt.part, tt.status, describe(r.Checks[0]))
	}
}
