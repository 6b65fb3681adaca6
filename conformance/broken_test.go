package conformance_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

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
