package truth_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/scim"
)

// TestSuite_UserDomain checks that a server which rejects every userName outside its domain passes with Options.UserDomain.
func TestSuite_UserDomain(t *testing.T) {
	t.Parallel()
	const domain = "corp.example.org"
	target := conformance.Target{
		URL: "http://127.0.0.1/scim/v2", Token: referenceToken, Transport: inProcess{requireDomain(newReferenceServer(t), "@"+domain)},
	}
	r, err := conformance.Run(t.Context(), target,
		conformance.Options{Checks: checks.All(), Order: checks.Order(), Profiles: profiles.All(), UserDomain: domain})
	require.NoError(t, err)
	for c := range r.All() {
		assert.False(t, complains(*c), "%s", describe(*c))
	}
	require.Empty(t, r.Blocks)
	require.Greater(t, r.Count(conformance.Pass), len(checks.All())*9/10)
}

// requireDomain returns next behind a handler that rejects every request with a userName that does not end with the suffix.
func requireDomain(next http.Handler, suffix string) http.Handler {
	reject := constantResponse(400, scim.MediaType, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"400",`+
		`"scimType":"invalidValue","detail":"the userName is not in the domain"}`)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		var body any
		if json.Unmarshal(data, &body) == nil && outsideDomain(body, suffix) {
			reject(w, r)
			return
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(data))
		next.ServeHTTP(w, r)
	})
}

// outsideDomain reports whether a body contains a userName without the suffix, as a member or as the value of a PATCH operation.
func outsideDomain(body any, suffix string) bool {
	outside := func(value any) bool {
		name, ok := value.(string)
		return ok && name != "" && !strings.HasSuffix(strings.ToLower(name), suffix)
	}
	switch body := body.(type) {
	case map[string]any:
		path, _ := body["path"].(string)
		if strings.EqualFold(path, "userName") && outside(body["value"]) {
			return true
		}
		for name, value := range body {
			if strings.EqualFold(name, "userName") && outside(value) || outsideDomain(value, suffix) {
				return true
			}
		}
	case []any:
		for _, value := range body {
			if outsideDomain(value, suffix) {
				return true
			}
		}
	}
	return false
}
