package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// TestDelete_RetriesTemporaryFailures checks that the run deletes an object again after a failure that may be temporary, and after any
// other failure once more at its end.
func TestDelete_RetriesTemporaryFailures(t *testing.T) {
	const noResponse = 0
	for _, c := range []struct {
		status, failures int // the status of the first responses to DELETE, and their number
		left             int
		attempts         int
	}{
		{noResponse, 2, 0, 3}, {500, 2, 0, 3}, {503, 2, 0, 3}, {409, 2, 0, 3}, {412, 2, 0, 3}, {423, 2, 0, 3}, {429, 2, 0, 3},
		{500, 5, 0, 6}, {500, 100, 1, 6}, {405, 1, 0, 2}, {403, 1, 0, 2}, {501, 1, 0, 2}, {405, 100, 1, 2},
	} {
		t.Run(fmt.Sprintf("%d times status %d", c.failures, c.status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, target := newDirectShelf()
				attempts := 0
				next := target.Transport
				target.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
					if r.Method != http.MethodDelete {
						return next.RoundTrip(r)
					}
					if attempts++; attempts > c.failures {
						return next.RoundTrip(r)
					}
					if c.status == noResponse {
						return nil, errors.New("the connection was closed")
					}
					w := httptest.NewRecorder()
					w.WriteHeader(c.status)
					return w.Result(), nil
				})
				r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{
					one("x.y", writes, func(ctx context.Context, t *conformance.T) { t.CreateUser(ctx, "ann", nil) }),
				}})
				require.Len(t, r.Leftovers, c.left)
				require.Len(t, s.objects, c.left)
				require.Equal(t, c.attempts, attempts)
			})
		})
	}
}

// TestDelete_StopsCreating checks that the run creates no more objects after a target has not deleted the first one.
func TestDelete_StopsCreating(t *testing.T) {
	create := func(ctx context.Context, t *conformance.T) { t.CreateUser(ctx, "ann", nil) }
	read := func(ctx context.Context, t *conformance.T) { t.Get(ctx, "/Users") }
	negative := one("x.negative", writes, func(ctx context.Context, t *conformance.T) {
		t.Expect("status", 400, t.Post(ctx, "/Users", []byte("{")).Status)
	})
	negative.CreatesNothing = true
	opts := conformance.Options{Checks: []conformance.Check{
		one("x.first", writes, create), one("x.second", writes, create), one("x.read", nil, read), negative,
	}}
	run := func(t *testing.T, opts conformance.Options) (*shelf, *conformance.Result) {
		t.Helper()
		s, target := newDirectShelf()
		s.refuse = func(r *http.Request) int {
			if r.Method == http.MethodDelete {
				return http.StatusMethodNotAllowed
			}
			return 0
		}
		return s, runChecks(t, target, opts)
	}
	s, r := run(t, opts)
	require.Len(t, s.objects, 1)
	require.Len(t, r.Leftovers, 1)
	require.Equal(t, conformance.Skip, r.Checks[1].Outcome)
	require.Equal(t, "the target rejects a DELETE below /Users (405 Method Not Allowed): this check creates objects that could not be "+
		"removed; --keep-going runs it", r.Checks[1].Reason)
	require.Equal(t, conformance.Pass, r.Checks[2].Outcome)
	require.Equal(t, conformance.Pass, r.Checks[3].Outcome)
	require.Equal(t, conformance.Untested, r.Verdict)
	require.Contains(t, r.Reason, "405 Method Not Allowed")

	opts.KeepGoing = true
	s, r = run(t, opts)
	require.Len(t, s.objects, 2)
	require.Len(t, r.Leftovers, 2)
	require.Equal(t, conformance.Pass, r.Checks[1].Outcome)
}

// interrupted returns the path of a journal of an aborted run against the target. The journal lists a user with an id, which the target
// stores, and the users with the names. The marker of the run is "scimconf-abcdefgh".
func interrupted(t *testing.T, s *shelf, target conformance.Target, names ...string) string {
	t.Helper()
	const run = "scimconf-abcdefgh"
	s.objects["/Users/known"] = map[string]any{"id": "known", "userName": run + "-known@example.com"}
	lines := []string{
		`{"journal":1,"target":"` + target.URL + `","run":"` + run + `"}`,
		`{"op":"intent","entry":1,"collection":"/Users","attribute":"userName","name":"` + run + `-known@example.com"}`,
		`{"op":"created","entry":1,"collection":"/Users","id":"known"}`,
	}
	for i, name := range names {
		lines = append(lines, fmt.Sprintf(`{"op":"intent","entry":%d,"collection":"/Users","attribute":"userName","name":"%s"}`, i+2, name))
	}
	path := filepath.Join(t.TempDir(), "crash.journal")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path
}

// TestCleanup_SearchesWithoutFilters checks that Cleanup finds objects by the lists of a target that has no filters, and that it keeps the
// journal if these lists do not determine whether an object exists.
func TestCleanup_SearchesWithoutFilters(t *testing.T) {
	const lost = "scimconf-abcdefgh-lost@example.com"
	for name, c := range map[string]struct {
		status int // of a filter
		list   int // status of lists; 0 means that the target returns the list
		stored bool
		left   int
	}{
		"filters return 404, the object exists":              {404, 0, true, 0},
		"filters return 400, the object exists":              {400, 0, true, 0},
		"filters return 404, the object does not exist":      {404, 0, false, 0},
		"filters return 404, lists return 403":               {404, 403, true, 1},
		"lists return 403, it is unknown whether it existed": {404, 403, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, target := newShelf(t)
			journal := interrupted(t, s, target, lost)
			if c.stored {
				s.objects["/Users/lost"] = map[string]any{"id": "lost", "userName": lost}
			}
			s.refuse = func(r *http.Request) int {
				switch {
				case r.URL.Query().Has("filter"):
					return c.status
				case r.URL.Path == "/Users":
					return c.list
				}
				return 0
			}
			cleaned, err := conformance.Cleanup(t.Context(), journal, target, conformance.Options{})
			require.NoError(t, err)
			require.Len(t, cleaned.Leftovers, c.left)
			if c.left == 0 {
				require.Equal(t, foreignUsers, s.names())
				require.NoFileExists(t, journal)
				return
			}
			require.Equal(t, conformance.Leftover{Path: "/Users", Name: lost,
				Reason: "it is unknown whether it exists: GET /Users returned 403 Forbidden"}, cleaned.Leftovers[0])
			require.Equal(t, 1, cleaned.Removed, "the object with an id")
			require.FileExists(t, journal)
		})
	}
}

// TestCleanup_VerifiesLists checks that an object that a list still contains is a leftover, although a GET returns 404.
func TestCleanup_VerifiesLists(t *testing.T) {
	s, target := newShelf(t)
	journal := interrupted(t, s, target)
	ghost := s.objects["/Users/known"]
	listed := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path == "/Users" && !r.URL.Query().Has("filter") && listed {
			w.Header().Set("Content-Type", "application/scim+json")
			_ = json.NewEncoder(w).Encode(map[string]any{"totalResults": 1, "Resources": []any{ghost}})
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	data, err := os.ReadFile(journal)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(journal, []byte(strings.ReplaceAll(string(data), target.URL, server.URL)), 0o600))

	cleaned, err := conformance.Cleanup(t.Context(), journal, target, conformance.Options{})
	require.NoError(t, err)
	require.Equal(t, foreignUsers, s.names())
	require.Equal(t, []conformance.Leftover{{Path: "/Users/known", Name: "scimconf-abcdefgh-known@example.com",
		Reason: "the list of /Users still contains it"}}, cleaned.Leftovers)
	require.Zero(t, cleaned.Removed)
	require.FileExists(t, journal)

	listed = false
	cleaned, err = conformance.Cleanup(t.Context(), journal, target, conformance.Options{})
	require.NoError(t, err)
	require.Empty(t, cleaned.Leftovers)
	require.Equal(t, 1, cleaned.Absent)
	require.NoFileExists(t, journal)
}
