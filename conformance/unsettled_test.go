package conformance_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// What a target has made of a request is removed whatever it answered, and whatever it should have done.
func TestRun_RemovesUnacknowledgedObjects(t *testing.T) {
	post := func(body func(t *conformance.T) any) func(ctx context.Context, t *conformance.T) {
		return func(ctx context.Context, t *conformance.T) { t.Post(ctx, "/Users", body(t)) }
	}
	user := func(t *conformance.T) any { return t.User("a", nil) }
	// upserts puts an object at the address of a request that finds nothing there.
	upserts := func(s *shelf, w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut && r.Method != http.MethodPatch {
			s.ServeHTTP(w, r)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		id := path.Base(r.URL.Path)
		s.objects[r.URL.Path] = map[string]any{"id": id, "userName": "made up by the target"}
		w.WriteHeader(http.StatusNoContent)
	}
	for name, c := range map[string]struct {
		target func(s *shelf, w http.ResponseWriter, r *http.Request)
		check  func(ctx context.Context, t *conformance.T)
	}{
		"a server error after the deed": {check: post(user), target: func(s *shelf, w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				s.ServeHTTP(httptest.NewRecorder(), r)
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			s.ServeHTTP(w, r)
		}},
		"no answer": {check: post(user), target: func(s *shelf, w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				s.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			}
			s.ServeHTTP(w, r)
		}},
		"an answer without an id": {check: post(user), target: func(s *shelf, w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				s.ServeHTTP(httptest.NewRecorder(), r)
				w.WriteHeader(http.StatusCreated)
				return
			}
			s.ServeHTTP(w, r)
		}},
		"a PUT that creates": {target: upserts, check: func(ctx context.Context, t *conformance.T) {
			t.Put(ctx, "/Users/"+t.AbsentID(), t.User("a", nil))
		}},
		"a PATCH that creates": {target: upserts, check: func(ctx context.Context, t *conformance.T) {
			t.Patch(ctx, "/Users/"+t.AbsentID(), conformance.Doc{"op": "remove", "path": "title"})
		}},
		"a PUT of what was deleted": {target: upserts, check: func(ctx context.Context, t *conformance.T) {
			c := t.CreateUser(ctx, "a", nil)
			t.Delete(ctx, c.Path())
			t.Put(ctx, c.Path(), t.User("a", nil))
		}},
		"a POST to an address": {check: func(ctx context.Context, t *conformance.T) {
			t.Post(ctx, "/Users/"+t.AbsentID(), t.User("a", nil))
		}, target: (*shelf).ServeHTTP},
	} {
		t.Run(name, func(t *testing.T) {
			s, target := newShelf(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.target(s, w, r) }))
			t.Cleanup(server.Close)
			target.URL = server.URL
			grown := false
			r := runChecks(t, target,
				conformance.Options{Checks: []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
					defer func() { grown = len(s.names()) > len(strangers) }()
					c.check(ctx, t)
				})}})
			require.True(t, grown, "the target made something")
			require.Equal(t, strangers, s.names())
			require.Empty(t, r.Leftovers)
		})
	}
}

// An object that the run has not made stays, even where a request has hit it.
func TestRun_NeverRemovesForeignObjects(t *testing.T) {
	s, target := newShelf(t)
	runChecks(t, target, conformance.Options{Checks: []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
		t.Put(ctx, "/Users/theirs", conformance.Doc{"userName": "somebody@example.com"})
		t.Patch(ctx, "/Users/theirs", conformance.Doc{"op": "remove", "path": "title"})
	})}})
	require.Equal(t, strangers, s.names())
}
