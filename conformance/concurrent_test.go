package conformance_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// TestTogether_SendsConcurrently checks that CallConcurrently sends its requests concurrently, returns the responses in order, and that the
// run removes the created objects.
func TestTogether_SendsConcurrently(t *testing.T) {
	s, target := newShelf(t)
	// The server responds only when all requests have arrived.
	const n = 4
	var arrived sync.WaitGroup
	arrived.Add(n)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			arrived.Done()
			arrived.Wait()
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	target.URL = server.URL
	var statuses []int
	r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{
		one("create.together", []conformance.Need{conformance.NeedWrite}, func(ctx context.Context, t *conformance.T) {
			var posts []conformance.Request
			for _, label := range []string{"a", "b", "c", "d"} {
				posts = append(posts, conformance.Request{Method: "POST", Path: "/Users", Body: t.User(label, nil)})
			}
			for i, res := range t.CallConcurrently(ctx, posts...) {
				statuses = append(statuses, res.Status)
				name, _ := res.Object().Get("userName")
				t.Expect("order of the responses", t.UserName([]string{"a", "b", "c", "d"}[i]), name)
			}
		}),
	}})
	require.Equal(t, []int{201, 201, 201, 201}, statuses)
	require.Equal(t, conformance.Pass, r.Checks[0].Outcome, r.Checks[0].Findings)
	require.Equal(t, foreignUsers, s.names())
	require.Empty(t, r.Leftovers)
}

func TestMaxRequests_CountsConcurrentRequests(t *testing.T) {
	s, target := newShelf(t)
	r := runChecks(t, target, conformance.Options{MaxRequests: 7, Checks: []conformance.Check{
		one("create.together", []conformance.Need{conformance.NeedWrite}, func(ctx context.Context, t *conformance.T) {
			request := conformance.Request{Method: "POST", Path: "/Users", Body: t.User("a", nil)}
			t.CallConcurrently(ctx, request, request, request, request)
		}),
	}})
	require.Equal(t, conformance.Skip, r.Checks[0].Outcome)
	require.Contains(t, r.Checks[0].Reason, "budget")
	require.Equal(t, foreignUsers, s.names(), "no request is sent if one of them cannot be")
}

func TestConcurrency_LimitsRequests(t *testing.T) {
	var now, most atomic.Int64
	s, target := newDirectShelf()
	inner := direct(s)
	target.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		return inner.RoundTrip(r)
	})
	many := make([]conformance.Request, 40)
	for i := range many {
		many[i] = conformance.Request{Method: "GET", Path: "/Users"}
	}
	runChecks(t, target,
		conformance.Options{Concurrency: 2, Checks: []conformance.Check{one("x.y", nil, func(ctx context.Context, t *conformance.T) {
			for _, res := range t.CallConcurrently(ctx, many...) {
				t.Expect("status", 200, res.Status)
			}
		})}})
	require.LessOrEqual(t, most.Load(), int64(2))
}
