package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// annexed is a shelf with a third collection, /Devices, that accepts bulk requests with POST operations.
type annexed struct {
	*shelf
	// loseResults makes bulk responses omit the results of the operations.
	loseResults bool
	// fails makes each operation fail with 409 and the location of its collection.
	fails bool
	// status returns the member status of a result. Default: a string.
	status func(code int) any
}

func (a annexed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if rest, ok := strings.CutPrefix(r.URL.Path, "/Devices"); ok {
		r.URL.Path = "/Groups" + rest
	}
	if r.URL.Path != "/Bulk" {
		a.shelf.ServeHTTP(w, r)
		return
	}
	var job struct {
		Operations []struct {
			Method, Path, BulkID string
			Data                 json.RawMessage
		}
	}
	if json.NewDecoder(r.Body).Decode(&job) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if a.status == nil {
		a.status = func(code int) any { return strconv.Itoa(code) }
	}
	results := []map[string]any{}
	for _, op := range job.Operations {
		if a.fails {
			results = append(results, map[string]any{"method": op.Method, "bulkId": op.BulkID, "status": a.status(http.StatusConflict),
				"location": "https://example.com" + op.Path})
			continue
		}
		rec := httptest.NewRecorder()
		a.shelf.ServeHTTP(rec, httptest.NewRequest(op.Method, op.Path, bytes.NewReader(op.Data)))
		var made struct{ ID string }
		location := "https://example.com" + op.Path
		if json.Unmarshal(rec.Body.Bytes(), &made) == nil && op.Method == http.MethodPost {
			location += "/" + made.ID
		}
		results = append(results,
			map[string]any{"method": op.Method, "bulkId": op.BulkID, "location": location, "status": a.status(rec.Code)})
	}
	if a.loseResults {
		results = nil
	}
	_ = json.NewEncoder(w).Encode(
		map[string]any{"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:BulkResponse"}, "Operations": results})
}

// annex starts an annexed target. Like every shelf it contains a user of another client.
func annex(t *testing.T, a annexed) (*shelf, conformance.Target) {
	t.Helper()
	s, target := newShelf(t)
	a.shelf = s
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	target.URL = server.URL
	return s, target
}

func TestBulk_CreatedObjectsRemoved(t *testing.T) {
	s, target := annex(t, annexed{})
	r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{
		one("bulk.create", []conformance.Need{conformance.NeedWrite}, func(ctx context.Context, t *conformance.T) {
			t.Post(ctx, "/Bulk", conformance.Doc{"Operations": []conformance.Doc{
				{"method": "POST", "path": "/Users", "bulkId": "a", "data": t.User("a", nil)},
				{"method": "POST", "path": "/Groups", "bulkId": "b", "data": t.Group("b", nil)},
			}})
			t.Expect("number of objects on the shelf", 3, len(s.names()))
		}),
	}})
	require.Equal(t, conformance.Pass, r.Checks[0].Outcome, r.Checks[0].Findings)
	require.Equal(t, 3, r.Checks[0].Requests, "the bulk request and one DELETE for each object")
	require.Equal(t, foreignUsers, s.names())
	require.Empty(t, r.Leftovers)
}

// TestBulk_UnreportedObjectsRemoved checks that the run, or Cleanup later, finds by name an object that the bulk response omits.
func TestBulk_UnreportedObjectsRemoved(t *testing.T) {
	creates := func(after func(ctx context.Context)) conformance.Check {
		return one("bulk.create", []conformance.Need{conformance.NeedWrite}, func(ctx context.Context, t *conformance.T) {
			t.Post(ctx, "/Bulk",
				conformance.Doc{"Operations": []conformance.Doc{{"method": "POST", "path": "/Users", "bulkId": "a", "data": t.User("a", nil)}}})
			after(ctx)
		})
	}
	t.Run("at the end of the run", func(t *testing.T) {
		s, target := annex(t, annexed{loseResults: true})
		var during []string
		r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{creates(func(context.Context) { during = s.names() })}})
		require.Len(t, during, 2, "created by the target but not reported")
		require.Equal(t, foreignUsers, s.names())
		require.Empty(t, r.Leftovers)
	})
	t.Run("by the journal of an aborted run", func(t *testing.T) {
		s, target := annex(t, annexed{loseResults: true})
		journal, copied := filepath.Join(t.TempDir(), "run.journal"), filepath.Join(t.TempDir(), "copy.journal")
		runChecks(t, target, conformance.Options{Journal: journal, Checks: []conformance.Check{creates(func(ctx context.Context) {
			open, err := os.ReadFile(journal)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(copied, open, 0o600))
			c, err := conformance.Cleanup(ctx, copied, conformance.Target{Transport: target.Transport}, conformance.Options{})
			require.NoError(t, err)
			require.Equal(t, 1, c.Removed)
			require.Equal(t, foreignUsers, s.names())
		})}})
	})
}

// TestBulk_FailedResultsHaveNoID checks that a run does not take the collection in the location of a failed operation for a created object,
// whatever the form of the status.
func TestBulk_FailedResultsHaveNoID(t *testing.T) {
	for name, status := range map[string]func(code int) any{
		"string": nil,
		"number": func(code int) any { return code },
		"object": func(code int) any { return map[string]any{"code": strconv.Itoa(code)} },
		"none":   func(int) any { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s, target := annex(t, annexed{fails: true, status: status})
			r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{
				one("bulk.create", []conformance.Need{conformance.NeedWrite}, func(ctx context.Context, t *conformance.T) {
					t.Post(ctx, "/Bulk",
						conformance.Doc{"Operations": []conformance.Doc{{"method": "POST", "path": "/Groups", "bulkId": "a", "data": t.Group("a", nil)}}})
				}),
			}})
			require.Equal(t, 1, r.Checks[0].Requests, "the bulk request, and no DELETE")
			require.Equal(t, foreignUsers, s.names())
			require.Empty(t, r.Leftovers)
			require.Empty(t, r.Cautions)
		})
	}
}

// TestBulk_NumericStatusRecorded checks that objects are removed, and deletions recorded, if the status of results is a number.
func TestBulk_NumericStatusRecorded(t *testing.T) {
	s, target := annex(t, annexed{status: func(code int) any { return code }})
	r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{
		one("bulk.create", []conformance.Need{conformance.NeedWrite}, func(ctx context.Context, t *conformance.T) {
			t.Post(ctx, "/Bulk",
				conformance.Doc{"Operations": []conformance.Doc{{"method": "POST", "path": "/Users", "bulkId": "a", "data": t.User("a", nil)}}})
		}),
		one("bulk.delete", []conformance.Need{conformance.NeedWrite}, func(ctx context.Context, t *conformance.T) {
			c := t.CreateUser(ctx, "b", nil)
			t.Post(ctx, "/Bulk", conformance.Doc{"Operations": []conformance.Doc{{"method": "DELETE", "path": c.Path()}}})
		}),
	}})
	require.Equal(t, 2, r.Checks[0].Requests, "the bulk request and the DELETE of the object")
	require.Equal(t, 2, r.Checks[1].Requests, "the POST and the bulk request, and no further DELETE")
	require.Equal(t, foreignUsers, s.names())
	require.Empty(t, r.Leftovers)
}
