package conformance_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/scimwright/scimwright/conformance"
)

// shelf is a minimal target that stores posted objects: these tests are about the suite, not the target.
type shelf struct {
	mu       sync.Mutex
	objects  map[string]map[string]any // by path
	next     int
	requests []string
	refuse   func(r *http.Request) int // returns a status to respond with, 0 for none
	reads    int                       // GET requests of single objects
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	reply := func(status int, body any) {
		w.Header().Set("Content-Type", "application/scim+json")
		w.WriteHeader(status)
		if body != nil {
			_ = json.NewEncoder(w).Encode(body)
		}
	}
	if s.refuse != nil {
		if status := s.refuse(r); status != 0 {
			reply(status, nil)
			return
		}
	}
	collection, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if r.Method == http.MethodGet && id != "" {
		s.reads++
	}
	switch {
	case collection == "ServiceProviderConfig":
		reply(200,
			map[string]any{"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"},
				"patch": map[string]any{"supported": false}})
	case collection != "Users" && collection != "Groups":
		reply(404, nil)
	case r.Method == http.MethodPost:
		var body map[string]any
		if json.NewDecoder(r.Body).Decode(&body) != nil {
			reply(400, nil)
			return
		}
		s.next++
		body["id"] = fmt.Sprint(s.next)
		s.objects["/"+collection+"/"+fmt.Sprint(s.next)] = body
		reply(201, body)
	case id == "":
		items := []any{}
		for path, o := range s.objects {
			name, _ := o["userName"].(string)
			if f := r.URL.Query().Get("filter"); strings.HasPrefix(path, "/"+collection) && (f == "" || f == fmt.Sprintf("userName eq %q", name)) {
				items = append(items, o)
			}
		}
		reply(200,
			map[string]any{"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:ListResponse"}, "totalResults": len(items),
				"Resources": items})
	case s.objects[r.URL.Path] == nil:
		reply(404, nil)
	case r.Method == http.MethodDelete:
		delete(s.objects, r.URL.Path)
		reply(204, nil)
	default:
		reply(200, s.objects[r.URL.Path])
	}
}

func (s *shelf) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, o := range s.objects {
		names = append(names, fmt.Sprint(o["userName"]))
	}
	return names
}

func newShelf(t *testing.T) (*shelf, conformance.Target) {
	t.Helper()
	s := &shelf{objects: map[string]map[string]any{"/Users/theirs": {"id": "theirs", "userName": "other@example.com"}}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return s, conformance.Target{URL: server.URL, Token: "very-secret-token", Transport: transport}
}

// foreignUsers are the users that every shelf has from the start.
var foreignUsers = []string{"other@example.com"}

// direct passes requests to a handler without a network, so that the clock of a synctest bubble applies.
func direct(h http.Handler) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		if r.Body == nil {
			r.Body = http.NoBody
		}
		h.ServeHTTP(w, r)
		return w.Result(), nil
	})
}

func newDirectShelf() (*shelf, conformance.Target) {
	s := &shelf{objects: map[string]map[string]any{}}
	return s, conformance.Target{URL: "http://127.0.0.1", Token: "very-secret-token", Transport: direct(s)}
}
