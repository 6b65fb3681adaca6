package truth_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/scim"
)

// constantResponse returns a handler with a constant response.
func constantResponse(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// rawResponse returns a handler that writes raw bytes and closes the connection.
func rawResponse(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, buffer, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = buffer.WriteString(text)
		_ = buffer.Flush()
		_ = conn.Close()
	}
}

// badResponses are invalid and unexpected responses of a target.
var badResponses = map[string]http.HandlerFunc{
	"HTML":                  constantResponse(200, "text/html", "<!doctype html><title>Sign in</title>"),
	"HTML declared as JSON": constantResponse(200, scim.MediaType, "<!doctype html><title>Sign in</title>"),
	"401": constantResponse(401, scim.MediaType,
		`{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"401"}`),
	"403 without a body": constantResponse(403, "text/plain", ""),
	"500":                constantResponse(500, "text/plain", "boom"),
	"204":                func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
	"an empty object":    constantResponse(200, scim.MediaType, `{}`),
	"an empty list": constantResponse(200, scim.MediaType,
		`{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":0,"Resources":[]}`),
	"a list of invalid resources": constantResponse(200, scim.MediaType,
		`{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":7,"Resources":[null,1,"x",[],{},{"id":7,"meta":[]},`+
			`{"id":"x","emails":{"value":1},"meta":{"created":1}}]}`),
	"an invalid resource": constantResponse(201, scim.MediaType,
		`{"schemas":"x","id":"x","userName":{},"emails":[1,null,[]],"members":"x","meta":"x","Operations":{"x":1},"totalResults":"x","name":[]}`),
	"JSON without SCIM":       constantResponse(200, "application/json", `{"hello":"world"}`),
	"an array":                constantResponse(200, scim.MediaType, `[{"id":"x"}]`),
	"JSON 10,000 levels deep": constantResponse(200, scim.MediaType, strings.Repeat(`{"a":`, 10_000)+"1"+strings.Repeat("}", 10_000)),
	"invalid UTF-8":           constantResponse(200, scim.MediaType, "{\"schemas\":[\"\xff\xfe\"],\"id\":\"\xc3\x28\"}"),
	"a redirect": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.example.com"+r.URL.Path, http.StatusFound)
	},
	"an endless redirect": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	},
	"a Content-Length too high": rawResponse("HTTP/1.1 200 OK\r\nContent-Type: application/scim+json\r\nContent-Length: 9999\r\n\r\n{}"),
	"a Content-Length too low": rawResponse(
		"HTTP/1.1 200 OK\r\nContent-Type: application/scim+json\r\nContent-Length: 3\r\n\r\n{\"schemas\":[]}"),
	"two Content-Lengths":  rawResponse("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n{}"),
	"a dropped connection": rawResponse(""),
	"another protocol":     rawResponse("SSH-2.0-OpenSSH_9.9\r\n"),
	"an undefined status":  rawResponse("HTTP/1.1 999 Whatever\r\nContent-Length: 0\r\n\r\n"),
	"16 MiB":               func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte(" "), 16<<20)) },
	"no response": func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server detects a closed connection only after it has read the body
		<-r.Context().Done()
	},
}

// A target serves valid discovery documents. Its responses to all other requests are invalid, in some cases only after 40 valid ones. The
// run finishes in time, its verdict is never clean, no check panics, and each skipped check has a reason.
func TestSuite_NeverCleanOnNonsense(t *testing.T) {
	t.Parallel()
	later := []string{"HTML", "401", "500", "a dropped connection", "no response", "an invalid resource"}
	for _, name := range alltest.Sample(slices.Sorted(maps.Keys(badResponses)), 4) {
		bad := badResponses[name]
		for _, after := range []int64{0, 40} {
			if after > 0 && !slices.Contains(later, name) {
				continue
			}
			t.Run(fmt.Sprintf("%s after %d requests", name, after), func(t *testing.T) {
				t.Parallel()
				reference := newReferenceServer(t)
				var asked atomic.Int64
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					discovery := slices.ContainsFunc([]string{"/ServiceProviderConfig", "/ResourceTypes", "/Schemas"}, func(path string) bool {
						return strings.Contains(r.URL.Path, path)
					})
					// The suite first queries the existing users and groups. These two queries succeed.
					if discovery || asked.Add(1) <= after+2 {
						reference.ServeHTTP(w, r)
						return
					}
					bad(w, r)
				}))
				defer server.Close()
				const limit = 20 * time.Second
				began := time.Now()
				r, err := conformance.Run(t.Context(), conformance.Target{URL: server.URL + "/scim/v2", Token: referenceToken},
					conformance.Options{Checks: checks.All(), Timeout: limit, RequestTimeout: 100 * time.Millisecond})
				require.NoError(t, err)
				// The bound is generous, because a busy machine may need more time to process responses that arrived in time.
				require.Less(t, time.Since(began), 6*limit)
				require.NotEqual(t, conformance.Clean, r.Verdict)
				require.True(t, r.Verdict == conformance.Findings || r.Reason != "", "an untested target has a reason")
				for _, c := range r.Checks {
					require.NotContains(t, c.Reason, "the check panicked", describe(c))
					require.False(t, c.Outcome == conformance.Skip && c.Reason == "", c.Check.ID)
				}
			})
		}
	}
}
