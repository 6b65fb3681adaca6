package sandbox

import (
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// routes passes each request to the handler of its path. Unlike http.ServeMux, routes does not redirect a path with empty, "." or ".."
// segments to its clean form: the handler decides how to respond to such a path.
type routes struct {
	api     http.Handler     // paths with one of apiPrefixes
	control http.Handler     // paths for which servedByControl returns true
	scim    *tenants.Tenants // /scim, /t/{tenant}/scim, in every version of the protocol
	openAPI http.Handler     // /openapi.json
	health  http.Handler     // /sandbox/v1/health, without credentials
	metrics http.Handler     // /metrics, see serving.MetricsServer
	console http.Handler     // everything else

	following *following // nil on SQLite
}

// apiPrefixes are the path prefixes of the management API. The last three contain the pages and logos of applications.
var apiPrefixes = []string{"/api/v1", "/oauth2", "/.well-known", "/sandbox/v1", "/app", "/home", "/assets/logos"}

func (r *routes) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	h := r.route(req.URL.Path)
	switch req.URL.Path {
	case openAPIPath, healthPath, serving.MetricsPath: // these depend on this process only
	default:
		h = r.following.before(h)
	}
	h.ServeHTTP(w, req)
}

const (
	openAPIPath = "/openapi.json"
	healthPath  = "/sandbox/v1/health"
)

func (r *routes) route(path string) http.Handler {
	switch path {
	case openAPIPath:
		return r.openAPI
	case healthPath:
		return r.health
	case serving.MetricsPath:
		return r.metrics
	}
	if r.scim.Owns(path) {
		return r.scim
	}
	if servedByControl(path) {
		return r.control
	}
	for _, prefix := range apiPrefixes {
		if under(path, prefix) {
			return r.api
		}
	}
	return r.console
}

func under(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// health returns 503 until the sandbox is ready, and then 200. It checks neither the database nor other services.
func (s *Sandbox) health(w http.ResponseWriter, _ *http.Request) {
	if !s.available.Load() {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		writeJSON(w, []byte(`{"status":"starting"}`))
		return
	}
	writeJSON(w, []byte(`{"status":"ok"}`))
}

// document serves a constant JSON document. The first request generates the document, because the generation takes longer than the rest of
// the start of the sandbox.
func document(generate func() ([]byte, error), log *slog.Logger) http.Handler {
	generated := sync.OnceValues(generate)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := generated()
		if err != nil {
			log.ErrorContext(r.Context(), "generating the OpenAPI document failed", "path", r.URL.Path, "error", err)
			http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
			return
		}
		writeJSON(w, text)
	})
}

func writeJSON(w http.ResponseWriter, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache, no-store")
	_, _ = w.Write(text)
}
