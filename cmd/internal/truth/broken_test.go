package truth_test

import (
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/truth/mutants"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/scim"
)

// A brokenServer is a server whose operation is unreliable, and what a run of all checks reports about it.
type brokenServer struct {
	wrap    func(http.Handler) http.Handler
	options conformance.Options
	verdict conformance.Verdict
	// reason is a part of the reason of the verdict, sentences are parts of the sentences about the steadiness, in order.
	reason    string
	sentences []string
	// fails are the checks that may have the outcome Fail, because the server really violates their requirement. "*" permits all checks.
	fails []string
	// remains permits objects that remain on the server, if the result names them as leftovers.
	remains bool
	// requests is the maximum number of requests. Default: 8,000.
	requests int
}

// sometimes returns a predicate that is true for about one of n requests. It looks random, but depends only on the number of the request.
func sometimes(n uint64) func() bool {
	var count atomic.Int64
	return func() bool {
		h := fnv.New64a()
		_, _ = h.Write([]byte(strconv.FormatInt(count.Add(1), 10)))
		return h.Sum64()%1009%n == 0
	}
}

// when returns a wrapper: the handler `instead` processes the requests for which `condition` returns true, the wrapped handler all others.
func when(condition func(*http.Request) bool, instead http.HandlerFunc) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if condition(r) {
				_, _ = io.Copy(io.Discard, r.Body)
				instead(w, r)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func mutantNamed(t *testing.T, id string) func(http.Handler) http.Handler {
	t.Helper()
	all := mutants.All()
	i := slices.IndexFunc(all, func(m mutants.Mutant) bool { return m.ID == id })
	require.GreaterOrEqual(t, i, 0, id)
	return all[i].Wrap
}

func hasFilter(operator string) func(*http.Request) bool {
	return func(r *http.Request) bool { return strings.Contains(r.URL.Query().Get("filter"), " "+operator+" ") }
}

func abort(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// hang sends no response until the client gives up.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

var unavailable = constantResponse(500, scim.MediaType,
	`{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"500","detail":"out of connections"}`)

// A run of all checks against an unreliable server ends with a verdict, within its limits, leaves nothing behind, and no check fails
// because of the unreliability alone.
func TestBroken_NoFalseFailures(t *testing.T) {
	t.Parallel()
	always := func(*http.Request) bool { return true }
	servers := map[string]brokenServer{
		"HTML on every path": {
			wrap: when(always, badResponses["HTML"]), verdict: conformance.Untested, reason: "this is a web site", requests: 10},
		"no response to any request": {
			wrap: when(always, hang), verdict: conformance.Untested, reason: "no complete response", requests: 10,
			options: conformance.Options{RequestTimeout: time.Second}},
		"no response to filters with co": {
			wrap: when(hasFilter("co"), hang), verdict: conformance.Findings, fails: []string{"filter.invalid-two-operators", "filter.co"},
			options: conformance.Options{RequestTimeout: time.Second}},
		"every twentieth connection is closed": {
			wrap: func(next http.Handler) http.Handler {
				hit := sometimes(20)
				return when(func(*http.Request) bool { return hit() }, abort)(next)
			},
			verdict: conformance.Findings, sentences: []string{"responses: "}},
		"every tenth response is 500": {
			wrap: func(next http.Handler) http.Handler {
				hit := sometimes(10)
				return when(func(*http.Request) bool { return hit() }, unavailable)(next)
			},
			remains: true, verdict: conformance.Findings, sentences: []string{"responses: "}},
		"lists in random order": {
			wrap: mutantNamed(t, "steadiness.random-order"), verdict: conformance.Findings, sentences: []string{"lists: the order changes"}},
		"a panic on a filter": {
			wrap: when(hasFilter("sw"), abort), verdict: conformance.Findings, fails: []string{"*"}},
	}
	for _, name := range alltest.Sample(slices.Sorted(maps.Keys(servers)), 2) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkBroken(t, servers[name])
		})
	}
}

func checkBroken(t *testing.T, b brokenServer) {
	t.Helper()
	reference := newReferenceServer(t)
	before := holdings(reference)
	server := httptest.NewServer(b.wrap(reference))
	t.Cleanup(server.Close)
	opts := b.options
	opts.Checks, opts.MaxRequests, opts.Timeout = checks.All(), 7000, 4*time.Minute
	r, err := conformance.Run(t.Context(), conformance.Target{URL: server.URL + "/scim/v2", Token: referenceToken}, opts)
	require.NoError(t, err)
	assert.Equal(t, b.verdict, r.Verdict, r.Reason)
	assert.Contains(t, r.Reason, b.reason)
	limit := b.requests
	if limit == 0 {
		limit = 8000
	}
	assert.LessOrEqual(t, r.Requests, limit)
	told := strings.Join(r.Steadiness.Sentences(), "\n")
	for _, sentence := range b.sentences {
		assert.Contains(t, told, sentence)
	}
	for _, c := range r.Checks {
		if c.Outcome == conformance.Fail && !slices.Contains(b.fails, "*") {
			assert.Contains(t, b.fails, c.Check.ID, describe(c))
		}
		assert.NotEqual(t, conformance.Error, c.Outcome, describe(c))
	}
	if !b.remains {
		assert.Empty(t, r.Leftovers)
	}
	for id, name := range holdings(reference) {
		told := slices.ContainsFunc(r.Leftovers, func(l conformance.Leftover) bool {
			return strings.HasSuffix(l.Path, "/"+id) || l.Name == name
		})
		assert.True(t, before[id] != "" || told, "%s %s is an unreported leftover", id, name)
	}
	t.Log(r.Verdict, r.Requests, "requests", r.Duration, r.Count(conformance.Fail), "fails", r.Count(conformance.Warn), "warnings",
		r.Count(conformance.Skip), "skipped", told)
}

// TestBroken_PanicShown checks that the finding of a panic has the request, its body and a curl command as evidence.
func TestBroken_PanicShown(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(when(func(r *http.Request) bool {
		return r.Method == http.MethodPatch
	}, abort)(newReferenceServer(t)))
	t.Cleanup(server.Close)
	selected, err := conformance.Selection{Only: []string{"patch"}}.Apply(checks.All())
	require.NoError(t, err)
	r, err := conformance.Run(t.Context(), conformance.Target{URL: server.URL + "/scim/v2", Token: referenceToken},
		conformance.Options{Checks: selected[:5]})
	require.NoError(t, err)
	for _, c := range r.Checks {
		require.Equal(t, conformance.Fail, c.Outcome, describe(c))
		f := c.Findings[0]
		require.Regexp(t, `^robustness: response to PATCH /Users/`, f.What)
		require.Contains(t, f.Exchange.RequestBody, "Operations")
		require.Zero(t, f.Exchange.Status)
		require.NotEmpty(t, f.Exchange.Err)
	}
}

// TestBroken_LateVisibility checks that a run waits for writes that are visible after 300 ms, and that no check fails because of the delay.
func TestBroken_LateVisibility(t *testing.T) {
	t.Parallel()
	only := []string{"steadiness", "read"}
	if alltest.All() {
		only = append(only, "create", "list", "put", "delete")
	}
	selected, err := conformance.Selection{Only: only}.Apply(checks.All())
	require.NoError(t, err)
	reference := newReferenceServer(t)
	before := holdings(reference)
	target := conformance.Target{URL: "http://127.0.0.1/scim/v2", Token: referenceToken,
		Transport: inProcess{mutants.Delayed(300 * time.Millisecond)(reference)}}
	r, err := conformance.Run(t.Context(), target, conformance.Options{Checks: selected, Timeout: 10 * time.Minute})
	require.NoError(t, err)
	for _, c := range r.Checks {
		if c.Check.ID == "steadiness.visibility" {
			require.Equal(t, conformance.Warn, c.Outcome, describe(c))
			continue
		}
		assert.False(t, complains(c), describe(c))
	}
	assert.InDelta(t, 400, r.Lag.Milliseconds(), 250)
	assert.Contains(t, strings.Join(r.Steadiness.Sentences(), ""), "writes: visible after")
	assert.Empty(t, r.Leftovers)
	assert.Equal(t, before, holdings(reference))
}

// findingsOf returns the findings of a result without the names and ids of the run. Unsteady findings are omitted: on a server that fails
// every n-th request, they depend on the order of concurrent requests.
func findingsOf(r *conformance.Result) []string {
	var out []string
	for _, c := range r.Checks {
		for _, f := range c.Findings {
			if f.Unsteady {
				continue
			}
			out = append(out, c.Check.ID+": "+string(f.Outcome)+" "+variable.ReplaceAllString(f.What, ""))
		}
	}
	return out
}

// variable matches the names and ids in a finding.
var variable = regexp.MustCompile(`scimconf-[a-z0-9]{8}(-[0-9]+[a-z]?-)?|[0-9a-f]{8}-[0-9a-f-]{20,}`)

// TestSuite_RunsAgree checks that two runs of all checks on an unchanged server have the same findings.
func TestSuite_RunsAgree(t *testing.T) {
	t.Parallel()
	chosen := []string{"steadiness.random-order", "steadiness.some-503", "steadiness.some-dropped", "list.order-changes",
		"filter.eq-is-sw", "create.manager-name-taken", "patch.not-atomic", "delete.keeps", "concurrency.put-mixed"}
	servers := map[string]func(http.Handler) http.Handler{"reference": func(h http.Handler) http.Handler { return h }}
	for _, m := range mutants.All() {
		if slices.Contains(chosen, m.ID) {
			servers[m.ID] = m.Wrap
		}
	}
	require.GreaterOrEqual(t, len(servers), 6)
	for _, name := range alltest.Sample(slices.Sorted(maps.Keys(servers)), 4) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrap := servers[name]
			first, second := suite(t, wrap(newReferenceServer(t))), suite(t, wrap(newReferenceServer(t)))
			require.Equal(t, findingsOf(first), findingsOf(second))
		})
	}
}
