package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
	results := []map[string]string{}
	for _, op := range job.Operations {
		rec := httptest.NewRecorder()
		a.shelf.ServeHTTP(rec, httptest.NewRequest(op.Method, op.Path, bytes.NewReader(op.Data)))
		var made struct{ ID string }
		location := "https://example.com" + op.Path
		if json.Unmarshal(rec.Body.Bytes(), &made) == nil && op.Method == http.MethodPost {
			location += "/" + made.ID
		}
		results = append(results,
			map[string]string{"method": op.Method, "bulkId": op.BulkID, "location": location, "status": strings.Fields(rec.Result().Status)[0]})
	}
	if a.loseResults {
		results = nil
	}
	_ = json.NewEncoder(w).Encode(
		map[string]any{"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:BulkResponse"}, "Operations": results})
}

// annex starts an annexed target. Like every shelf it contains a user of another client.
func annex(t *testing.T, loseResults bool) (*shelf, conformance.Target) {
	t.Helper()
	s, target := newShelf(t)
	server := httptest.NewServer(annexed{s, loseResults})
	t.Cleanup(server.Close)
	target.URL = server.URL
	return s, target
}

func TestBulk_CreatedObjectsRemoved(t *testing.T) {
	s, target := annex(t, false)
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
		s, target := annex(t, true)
		var during []string
		r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{creates(func(context.Context) { during = s.names() })}})
		require.Len(t, during, 2, "created by the target but not reported")
		require.Equal(t, foreignUsers, s.names())
		require.Empty(t, r.Leftovers)
	})
	t.Run("by the journal of an aborted run", func(t *testing.T) {
		s, target := annex(t, true)
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
