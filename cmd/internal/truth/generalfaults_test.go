package truth_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance/causes"
)

// TestCauses_GeneralFaults checks that a fault which changes the responses to many kinds of requests is one cause, with its own headline
// and fix. The checks that it blocks belong to this cause.
func TestCauses_GeneralFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wrap          func(http.Handler) http.Handler
		only          []string
		headline, fix string
		blocks        bool
	}{
		"a crash": {
			wrap: when(func(r *http.Request) bool {
				return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/Groups")
			}, abort),
			only: []string{"groups", "root"}, headline: "POST /Groups: the server closes the connection without a response",
			fix: "Find the panic in the server's log", blocks: true,
		},
		"no documents": {
			wrap:     func(next http.Handler) http.Handler { return withQuirk(t, next, "no-discovery") },
			headline: "missing documents: GET /ServiceProviderConfig, /ResourceTypes and /Schemas returns 404",
			fix:      "Serve /ServiceProviderConfig, /ResourceTypes and /Schemas", blocks: true,
		},
		"empty errors":      {wrap: emptyErrors, headline: "error responses have an empty body (400, 401, 404", fix: "Write an Error message"},
		"meta is not asked": {wrap: withMeta, headline: "responses contain meta although attributes= does not name it", fix: "Omit meta"},
		"a path is required": {
			wrap:     func(next http.Handler) http.Handler { return withQuirk(t, next, "patch-needs-path") },
			headline: "PATCH with an operation without a path returns 400 instead of 200 or 204", fix: "Accept operations without a path",
			blocks: true,
		},
		"readable after DELETE": {
			wrap: mutantNamed(t, "delete.still-readable"), only: []string{"delete", "concurrency", "list", "groups"},
			headline: "GET /Users/{id} after DELETE returns 200 instead of 404", fix: "Remove the resource", blocks: true,
		},
		"no scimType": {
			wrap: mutantNamed(t, "errors.type-renamed"), headline: "error responses have no scimType (", fix: "Set scimType in each Error message",
		},
		"no required name": {
			wrap: mutantNamed(t, "create.required-unchecked"), headline: "POST /Users without userName returns 201 instead of 400",
			fix: "Check required attributes", blocks: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := suite(t, c.wrap(newReferenceServer(t)), c.only...)
			found := causes.Of(r)
			require.Len(t, found, 1, "%+v", found)
			require.True(t, strings.HasPrefix(found[0].Headline, c.headline), found[0].Headline)
			require.True(t, strings.HasPrefix(found[0].Fix, c.fix), found[0].Fix)
			require.Equal(t, c.blocks, len(found[0].Blocked) > 0)
			for _, blocked := range r.Checks {
				if blocked.BlockedBy != nil {
					require.Contains(t, found[0].Blocked, blocked.Check.ID)
				}
			}
		})
	}
}

// emptyErrors removes the bodies of all errors.
func emptyErrors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		next.ServeHTTP(recorder, r)
		for name, values := range recorder.Header() {
			w.Header()[name] = values
		}
		if recorder.Code >= http.StatusBadRequest {
			w.Header().Del("Content-Type")
			w.WriteHeader(recorder.Code)
			return
		}
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes())
	})
}

// withMeta adds meta to each parameter attributes.
func withMeta(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		if query := r.URL.Query(); query.Get("attributes") != "" {
			query.Set("attributes", query.Get("attributes")+",meta")
			r.URL.RawQuery = query.Encode()
		}
		if strings.HasSuffix(r.URL.Path, "/.search") {
			data, _ := io.ReadAll(r.Body)
			var body map[string]any
			if json.Unmarshal(data, &body) == nil && body["attributes"] != nil {
				body["attributes"] = append(body["attributes"].([]any), "meta")
				data, _ = json.Marshal(body)
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		}
		next.ServeHTTP(w, r)
	})
}
