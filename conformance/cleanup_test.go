package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
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
					defer func() { grown = len(s.names()) > len(foreignUsers) }()
					c.check(ctx, t)
				})}})
			require.True(t, grown, "the target made something")
			require.Equal(t, foreignUsers, s.names())
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
	require.Equal(t, foreignUsers, s.names())
}

func TestNames_CollectionCleanedUp(t *testing.T) {
	s, target := annex(t, false)
	runChecks(t, target, conformance.Options{Checks: []conformance.Check{
		one("types.create", []conformance.Need{conformance.NeedWrite}, func(ctx context.Context, t *conformance.T) {
			t.Names("/Devices", "serial")
			c := t.Create(ctx, "/Devices", conformance.Doc{"serial": t.Prefix() + "x"})
			t.Expect("path", "/Devices/"+c.ID, c.Path())
		}),
	}})
	require.Equal(t, foreignUsers, s.names())
}

// TestLeftovers_LookupsBoundedOnErrors checks that the suite sends few lookups to a target that returns 500, and counts the remaining names
// in one leftover.
func TestLeftovers_LookupsBoundedOnErrors(t *testing.T) {
	s, _ := newShelf(t)
	lookups := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost || r.URL.Query().Has("filter") {
			if r.Method == http.MethodGet {
				lookups++
			}
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	r := runChecks(t, conformance.Target{URL: server.URL}, conformance.Options{Checks: []conformance.Check{
		one("create.many", []conformance.Need{conformance.NeedWrite}, func(ctx context.Context, t *conformance.T) {
			for range 20 {
				t.Post(ctx, "/Users", t.User("a", nil))
			}
		}),
	}})
	require.Len(t, r.Leftovers, 1, "it says once what could not be seen")
	require.Contains(t, r.Leftovers[0].Reason, "19 further names")
	require.LessOrEqual(t, lookups, 4)
}

// TestRun_RemovesCreatedObjects checks that the run removes the objects of a check that panics, and no other object.
func TestRun_RemovesCreatedObjects(t *testing.T) {
	s, target := newShelf(t)
	journal := filepath.Join(t.TempDir(), "run.journal")
	var during []string
	r := runChecks(t, target,
		conformance.Options{Journal: journal, Checks: []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
			t.CreateUser(ctx, "ann", nil)
			t.CreateUser(ctx, "ben", nil)
			during = s.names()
			panic("and the check breaks")
		})}})
	require.Len(t, during, 3)
	require.Equal(t, []string{"somebody@example.com"}, s.names())
	require.Empty(t, r.Leftovers)
	require.NoFileExists(t, journal)
}

// TestLeftovers_RemainInJournal checks that the run reports an object that it cannot remove, and leaves it in the journal.
func TestLeftovers_RemainInJournal(t *testing.T) {
	s, target := newShelf(t)
	s.refuse = func(r *http.Request) int {
		if r.Method == http.MethodDelete {
			return 500
		}
		return 0
	}
	journal := filepath.Join(t.TempDir(), "run.journal")
	r := runChecks(t, target,
		conformance.Options{Journal: journal, Checks: []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
			t.CreateUser(ctx, "ann", nil)
		})}})
	require.Len(t, r.Leftovers, 1)
	require.Equal(t, journal, r.Journal)
	data, err := os.ReadFile(journal)
	require.NoError(t, err)
	require.NotContains(t, string(data), "very-secret-token")

	s.refuse = nil
	cleaned, err := conformance.Cleanup(t.Context(), journal, target, conformance.Options{})
	require.NoError(t, err)
	require.Equal(t, 1, cleaned.Removed)
	require.Equal(t, []string{"somebody@example.com"}, s.names())
	require.NoFileExists(t, journal)
}

// A DELETE that is answered with success is not believed as long as a GET finds the object.
func TestLeftovers_VerifiedByGET(t *testing.T) {
	for _, status := range []int{200, 204, 404} {
		t.Run(fmt.Sprint("DELETE answers ", status, " and keeps the object"), func(t *testing.T) {
			s, target := newShelf(t)
			s.refuse = func(r *http.Request) int {
				if r.Method == http.MethodDelete {
					return status
				}
				return 0
			}
			journal := filepath.Join(t.TempDir(), "run.journal")
			opts := conformance.Options{Journal: journal,
				Checks: []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
					t.CreateUser(ctx, "ann", nil)
					t.Delete(ctx, t.CreateUser(ctx, "ben", nil).Path())
					t.CreateGroup(ctx, "team", nil)
				})}}
			r := runChecks(t, target, opts)
			require.Len(t, r.Leftovers, 3)
			require.Contains(t, r.Leftovers[0].Reason, "still finds it")
			require.Equal(t, journal, r.Journal)

			cleaned, err := conformance.Cleanup(t.Context(), journal, target, conformance.Options{})
			require.NoError(t, err)
			require.Zero(t, cleaned.Removed)
			require.Len(t, cleaned.Leftovers, 3, "cleaning up does not believe it either")
			require.FileExists(t, journal)

			s.refuse = nil
			cleaned, err = conformance.Cleanup(t.Context(), journal, target, conformance.Options{})
			require.NoError(t, err)
			require.Equal(t, 3, cleaned.Removed)
			require.Equal(t, []string{"somebody@example.com"}, s.names())
			require.NoFileExists(t, journal)
		})
	}
}

// TestRun_BoundsDeletionReads checks that one read confirms all deletions answered with 204, and one read each those answered with 200.
func TestRun_BoundsDeletionReads(t *testing.T) {
	const users = 10
	for status, reads := range map[int]int{204: 1, 200: users} {
		t.Run(fmt.Sprint("DELETE answers ", status), func(t *testing.T) {
			s, target := newShelf(t)
			s.refuse = func(r *http.Request) int {
				if r.Method != http.MethodDelete || status == 204 {
					return 0
				}
				delete(s.objects, r.URL.Path)
				return status
			}
			journal := filepath.Join(t.TempDir(), "run.journal")
			r := runChecks(t, target,
				conformance.Options{Journal: journal, Checks: []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
					for i := range users {
						t.CreateUser(ctx, fmt.Sprint("u", i), nil)
					}
				})}})
			require.Empty(t, r.Leftovers)
			require.NoFileExists(t, journal)
			require.Equal(t, reads, s.reads)
		})
	}
}

// TestCleanup_RemovesOnlyOwnObjects checks that Cleanup removes the objects of a crashed run, and no object that was renamed or belongs to
// another client.
func TestCleanup_RemovesOnlyOwnObjects(t *testing.T) {
	s, target := newShelf(t)
	const run = "scimconf-abcdefgh"
	s.objects["/Users/known"] = map[string]any{"id": "known", "userName": run + "-1-known@example.com"}
	s.objects["/Users/lost"] = map[string]any{"id": "lost", "userName": run + "-2-lost@example.com"}
	s.objects["/Users/renamed"] = map[string]any{"id": "renamed", "userName": "now-somebody-else@example.com"}
	journal := filepath.Join(t.TempDir(), "crash.journal")
	lines := []string{
		`{"journal":1,"target":"` + target.URL + `","run":"` + run + `"}`,
		`{"op":"intent","entry":1,"collection":"/Users","attribute":"userName","name":"` + run + `-1-known@example.com"}`,
		`{"op":"created","entry":1,"collection":"/Users","id":"known"}`,
		// the answer never came
		`{"op":"intent","entry":2,"collection":"/Users","attribute":"userName","name":"` + run + `-2-lost@example.com"}`,
		`{"op":"intent","entry":3,"collection":"/Users","attribute":"userName","name":"` + run + `-3-never@example.com"}`, // nor was it created
		`{"op":"intent","entry":4,"collection":"/Users","attribute":"userName","name":"` + run + `-4-renamed@example.com"}`,
		`{"op":"created","entry":4,"collection":"/Users","id":"renamed"}`,
		`{"op":"intent","entry":5,"collection":"/Users","attribute":"userName","name":"` + run + `-5-gone@example.com"}`,
		`{"op":"gone","entry":5}`,
		`{"op":"intent","entry":6,"collec`, // cut by the crash
	}
	require.NoError(t, os.WriteFile(journal, []byte(strings.Join(lines, "\n")), 0o600))

	cleaned, err := conformance.Cleanup(t.Context(), journal, conformance.Target{Token: target.Token, Transport: target.Transport},
		conformance.Options{})
	require.NoError(t, err)
	require.Equal(t, 2, cleaned.Removed)
	require.Equal(t, 1, cleaned.Absent)
	require.Len(t, cleaned.Leftovers, 1)
	require.Contains(t, cleaned.Leftovers[0].Reason, "marker")
	require.FileExists(t, journal, "the journal stays while something is left")
	names := s.names()
	slices.Sort(names)
	require.Equal(t, []string{"now-somebody-else@example.com", "somebody@example.com"}, names)
}

func TestCleanup_RejectsNonJournal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "other.txt")
	require.NoError(t, os.WriteFile(file, []byte("hello\n"), 0o600))
	for _, path := range []string{file, filepath.Join(t.TempDir(), "absent")} {
		_, err := conformance.Cleanup(t.Context(), path, conformance.Target{}, conformance.Options{})
		var usage *conformance.UsageError
		require.ErrorAs(t, err, &usage)
	}
}

func TestRun_CleansUpOnInterrupt(t *testing.T) {
	s, target := newShelf(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := conformance.Run(ctx, target, conformance.Options{Checks: []conformance.Check{
		one("x.first", writes, func(ctx context.Context, t *conformance.T) {
			t.CreateUser(ctx, "ann", nil)
			cancel()
			t.Get(ctx, "/Users")
		}),
		one("x.second", writes, func(ctx context.Context, t *conformance.T) { t.CreateUser(ctx, "ben", nil) }),
	}})
	require.NoError(t, err)
	require.Equal(t, []string{"somebody@example.com"}, s.names())
	require.Equal(t, conformance.Untested, r.Verdict)
	require.Contains(t, r.Reason, "interrupted")
	require.Equal(t, conformance.Skip, r.Checks[1].Outcome)
}
