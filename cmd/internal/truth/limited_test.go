package truth_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/truth/mutants"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/scim"
)

// limits are bounds for the servers of mutants.Limited.
var limits = map[string]struct {
	skipped    int      // maximum number of skipped checks
	requests   int      // maximum number of requests
	complaints []string // checks that correctly report a violation of this server
}{
	"filter-eq-only":           {skipped: 138, requests: 3270},
	"no-filter":                {skipped: 360, requests: 2300},
	"no-groups":                {skipped: 102, requests: 2570},
	"no-patch":                 {skipped: 189, requests: 2300},
	"inactive-create-rejected": {skipped: 1, requests: 3270},
	"second-email-rejected":    {skipped: 1, requests: 3380},
	"emails-create-rejected":   {skipped: 2, requests: 4195},
	"nested-groups-rejected":   {skipped: 3, requests: 3210},
	"members-create-rejected":  {skipped: 5, requests: 3370, complaints: []string{"groups.create"}},
}

// TestLimited_SkippedChecksBounded checks that no check complains falsely about a server that lacks an optional feature or rejects some
// objects, and that only the checks that need the feature are skipped.
func TestLimited_SkippedChecksBounded(t *testing.T) {
	for _, v := range mutants.Limited() {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			limit, ok := limits[v.ID]
			require.True(t, ok, "the server has no limits")
			r := suiteAndCompare(t, v.Wrap)
			reasons := map[string]int{}
			var complaints []string
			for _, c := range r.Checks {
				if complains(c) {
					complaints = append(complaints, c.Check.ID)
					t.Log(describe(c))
				}
				if c.Outcome == conformance.Skip {
					reasons[c.Reason]++
				}
			}
			for _, reason := range slices.SortedFunc(maps.Keys(reasons), func(a, b string) int { return reasons[b] - reasons[a] }) {
				t.Logf("%4d skipped: %s", reasons[reason], reason)
			}
			t.Logf("skipped: %d of %d, requests: %d", r.Count(conformance.Skip), len(r.Checks), r.Requests)
			assert.Equal(t, limit.complaints, complaints)
			assert.LessOrEqual(t, r.Count(conformance.Skip), limit.skipped)
			assert.LessOrEqual(t, r.Requests, limit.requests)
			for _, b := range r.Blocks {
				assert.Less(t, len(b.Checks), conformance.ManyBlocked, "%s", b.What)
			}
		})
	}
}

// TestLimited_BlockNamesAllChecks checks the blocks in the result for a server that creates no group: each block has the rejected request
// and its response, and the blocks list all blocked checks.
func TestLimited_BlockNamesAllChecks(t *testing.T) {
	t.Parallel()
	reference := newReferenceServer(t)
	r := suite(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPost && req.URL.Path == "/scim/v2/Groups" {
			w.Header().Set("Content-Type", scim.MediaType)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"schemas":["` + scim.ErrorMessage + `"],"status":"400","detail":"groups come from the directory"}`))
			return
		}
		reference.ServeHTTP(w, req)
	}), "groups", "root")
	require.NotEmpty(t, r.Blocks)
	blocked := map[string]bool{}
	for i, b := range r.Blocks {
		require.NotNil(t, b.Exchange, b.What)
		require.Equal(t, http.MethodPost, b.Exchange.Method)
		require.Contains(t, b.Exchange.ResponseBody, "groups come from the directory")
		for _, id := range b.Checks {
			blocked[id] = true
		}
		require.True(t, i == 0 || len(b.Checks) <= len(r.Blocks[i-1].Checks))
	}
	require.GreaterOrEqual(t, len(r.Blocks[0].Checks), conformance.ManyBlocked)
	for _, c := range r.Checks {
		require.Equal(t, c.BlockedBy != nil, blocked[c.Check.ID], c.Check.ID)
		if c.Check.Area() == "root" {
			require.NotNil(t, c.BlockedBy, c.Check.ID)
			require.Contains(t, c.BlockedBy.What, "the fixture mixture")
		}
	}
}
