package truth_test

import (
	"cmp"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/truth/mutants"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/scim"
)

// A brokenServer is a server whose operation is unreliable, and what a run of all checks reports about it.
type brokenServer struct {
	// server returns the server behind wrap. Default: newReferenceServer.
	server  func(t *testing.T) http.Handler
	wrap    func(http.Handler) http.Handler
	options conformance.Options
	verdict conformance.Verdict
	// reason is a part of the reason of the verdict, sentences are parts of the sentences about the steadiness, in order.
	reason    string
	sentences []string
	// fails are the checks that may have the outcome Fail, because the server really violates their requirement.
	fails []string
	// warns are the checks that may have the outcome Warn.
	warns []string
	// noResponse permits any check to fail, if each of its findings is that a request gets no response.
	noResponse bool
	// remaining is the maximum number of objects that remain on the server. The result names them as leftovers.
	remaining int
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

// limitedServer returns the wrapper of a server that lacks an optional feature or treats attributes in a permitted way.
func limitedServer(t *testing.T, variant string) func(http.Handler) http.Handler {
	t.Helper()
	all := mutants.Variants()
	i := slices.IndexFunc(all, func(v mutants.Variant) bool { return v.ID == variant })
	require.GreaterOrEqual(t, i, 0, variant)
	return all[i].Wrap
}

// methodRejected returns a wrapper for a server that rejects methods with 405 and a correct Allow header.
func methodRejected(rejected ...string) func(http.Handler) http.Handler {
	allowed := slices.DeleteFunc([]string{"GET", "POST", "PUT", "PATCH", "DELETE"},
		func(m string) bool { return slices.Contains(rejected, m) })
	return when(func(r *http.Request) bool {
		return slices.Contains(rejected, r.Method) && !strings.HasSuffix(r.URL.Path, "/.search")
	}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		constantResponse(405, scim.MediaType,
			`{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"405","detail":"not permitted"}`)(w, r)
	})
}

// budget returns a wrapper for a server that processes n requests in each second and rejects further ones with 429.
func budget(n int) func(http.Handler) http.Handler {
	var mu sync.Mutex
	var second time.Time
	used := 0
	return when(func(*http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now().Truncate(time.Second); now.After(second) {
			second, used = now, 0
		}
		used++
		return used > n
	}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "1")
		constantResponse(429, scim.MediaType,
			`{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"429","detail":"5 requests per second"}`)(w, r)
	})
}

// notUnique are the checks that complain about package memstore, which permits two devices with the same tag.
var notUnique = []string{"characteristics.unique", "characteristics.unique-other-case"}

// TestBroken_NoFalseFailures runs all checks against servers that are unreliable or lack features. The run ends with a verdict, within its
// limits, and leaves nothing behind. No check fails because of the unreliability alone.
func TestBroken_NoFalseFailures(t *testing.T) {
	t.Parallel()
	always := func(*http.Request) bool { return true }
	users := 2_500
	if alltest.All() && !raceDetector {
		users = 20_000
	}
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
			warns: []string{"steadiness.responses"}, verdict: conformance.Findings, sentences: []string{"responses: "}},
		"every tenth response is 500": {
			wrap: func(next http.Handler) http.Handler {
				hit := sometimes(10)
				return when(func(*http.Request) bool { return hit() }, unavailable)(next)
			},
			verdict: conformance.Findings, warns: []string{"steadiness.responses", "traffic.no-server-errors"},
			sentences: []string{"responses: "}},
		"DELETE is rejected": {
			wrap: methodRejected("DELETE"), verdict: conformance.Findings, remaining: maxRemaining,
			fails: []string{"delete.status", "delete.group-status"},
			warns: []string{"auth.every-method", "auth.every-group-method", "auth.wrong-token-writing", "delete.unknown"}},
		"read-only":          {wrap: methodRejected("POST", "PUT", "PATCH", "DELETE"), verdict: conformance.Untested},
		"no PATCH":           {wrap: limitedServer(t, "no-patch"), verdict: conformance.Clean},
		"no groups":          {wrap: limitedServer(t, "no-groups"), verdict: conformance.Clean},
		"filters only by eq": {wrap: limitedServer(t, "filter-eq-only"), verdict: conformance.Clean},
		"derived attributes": {wrap: limitedServer(t, "three-attributes"), verdict: conformance.Clean},
		"lists in random order": {
			wrap: mutantNamed(t, "steadiness.random-order"), verdict: conformance.Findings, sentences: []string{"lists: the order changes"},
			warns: []string{"steadiness.list-order", "list.stable-order"}},
		strconv.Itoa(users) + " users": {
			server:  func(t *testing.T) http.Handler { return crowdedServer(t, users) },
			wrap:    func(h http.Handler) http.Handler { return h },
			verdict: conformance.Findings, warns: notUnique},
		"a panic on a filter": {wrap: when(hasFilter("sw"), abort), verdict: conformance.Findings, noResponse: true},
	}
	for _, name := range alltest.Sample(slices.Sorted(maps.Keys(servers)), 2) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := servers[name]
			if b.server == nil {
				b.server = newReferenceServer
			}
			reference := b.server(t)
			server := httptest.NewServer(b.wrap(reference))
			t.Cleanup(server.Close)
			checkBroken(t, b, reference, conformance.Target{URL: server.URL + "/scim/v2", Token: referenceToken})
		})
	}
}

// TestBroken_RateLimit checks the run against a server that rejects every request after the fifth of a second, with the virtual clock of
// synctest: the run waits, its results are those of the server without the limit, and a rate in the options avoids most rejections.
func TestBroken_RateLimit(t *testing.T) {
	for name, rate := range map[string]float64{"without a rate": 0, "with a rate": 4} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reference := crowdedServer(t, 1)
				b := brokenServer{verdict: conformance.Findings, warns: notUnique, options: conformance.Options{Rate: rate, Timeout: 30 * time.Minute}}
				checkBroken(t, b, reference, conformance.Target{URL: "http://127.0.0.1/scim/v2", Token: referenceToken,
					Transport: inProcess{budget(5)(reference)}})
			})
		})
	}
}

func checkBroken(t *testing.T, b brokenServer, reference http.Handler, target conformance.Target) {
	t.Helper()
	before := holdings(reference)
	opts := b.options
	opts.Checks, opts.MaxRequests, opts.Timeout = checks.All(), 7000, cmp.Or(opts.Timeout, 4*time.Minute)
	began := time.Now()
	r, err := conformance.Run(t.Context(), target, opts)
	require.NoError(t, err)
	assert.Less(t, time.Since(began), opts.Timeout, "the run ended before its timeout")
	assert.Equal(t, b.verdict, r.Verdict, r.Reason)
	assert.Contains(t, r.Reason, b.reason)
	assert.LessOrEqual(t, r.Requests, cmp.Or(b.requests, 8000))
	told := strings.Join(r.Steadiness.Sentences(), "\n")
	for _, sentence := range b.sentences {
		assert.Contains(t, told, sentence)
	}
	for _, c := range r.Checks {
		if c.Outcome == conformance.Fail && !slices.Contains(b.fails, c.Check.ID) {
			assert.True(t, b.noResponse && !slices.ContainsFunc(c.Findings, hasResponse), describe(c))
		}
		if c.Outcome == conformance.Warn {
			assert.Contains(t, b.warns, c.Check.ID, describe(c))
		}
		assert.NotEqual(t, conformance.Error, c.Outcome, describe(c))
	}
	assert.LessOrEqual(t, len(r.Leftovers), b.remaining, "%v", r.Leftovers)
	for id, name := range holdings(reference) {
		told := slices.ContainsFunc(r.Leftovers, func(l conformance.Leftover) bool {
			return strings.HasSuffix(l.Path, "/"+id) || l.Name == name
		})
		assert.True(t, before[id] != "" || told, "%s %s is an unreported leftover", id, name)
	}
	t.Log(r.Verdict, r.Requests, "requests", r.Duration, r.Count(conformance.Fail), "fails", r.Count(conformance.Warn), "warnings",
		r.Count(conformance.Skip), "skipped", told)
}

// TestBroken_ReadOnlyBreaksClients checks that the client flows run against a server that rejects all writes with 405: each client breaks
// at its first write.
func TestBroken_ReadOnlyBreaksClients(t *testing.T) {
	t.Parallel()
	r := runProfiles(t, methodRejected("POST", "PUT", "PATCH", "DELETE")(newReferenceServer(t)), profiles.All()...)
	require.NotEmpty(t, r.Profiles)
	for _, v := range r.Profiles {
		require.Equal(t, conformance.Breaks, v.Compatibility, "%s %s: %s", v.Client, v.ClientFlow, v.Reason)
		require.Contains(t, v.Breaks[0].Finding.Got, "405", v.Client)
	}
}

// hasResponse reports whether a finding that blames the target is not about a request without a response.
func hasResponse(f conformance.Finding) bool {
	return f.Outcome == conformance.Fail && !strings.HasPrefix(f.What, "robustness: ")
}

// TestBroken_UnsteadyClients checks the client flows against unreliable servers: no client breaks because of the unreliability, except one
// that reads lists by pages from a server whose lists change their order. For that client, the order is what to change.
func TestBroken_UnsteadyClients(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"every tenth response is 500": func(next http.Handler) http.Handler {
			hit := sometimes(10)
			return when(func(*http.Request) bool { return hit() }, unavailable)(next)
		},
		"every twentieth connection is closed": func(next http.Handler) http.Handler {
			hit := sometimes(20)
			return when(func(*http.Request) bool { return hit() }, abort)(next)
		},
		"lists in random order": mutantNamed(t, "steadiness.random-order"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(wrap(newReferenceServer(t)))
			t.Cleanup(server.Close)
			r, err := conformance.Run(t.Context(), conformance.Target{URL: server.URL + "/scim/v2", Token: referenceToken},
				conformance.Options{Profiles: profiles.All()})
			require.NoError(t, err)
			require.Empty(t, r.Leftovers)
			for _, p := range r.Profiles {
				for _, step := range p.Breaks {
					assert.Contains(t, step.Fix, "Order lists by a value that does not change", "%s: %s: %s", p.ClientFlow, step.Check, step.Finding.What)
				}
			}
		})
	}
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
