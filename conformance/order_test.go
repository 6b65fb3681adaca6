package conformance_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// orderedChecks are checks of several phases and levels, with the number of requests that they send. ran records their order.
func orderedChecks(ran *[]string) []conformance.Check {
	check := func(id string, level conformance.Level, requests int) conformance.Check {
		return conformance.Check{ID: id, Title: "a check of the test", Level: level, Requests: requests,
			Run: func(ctx context.Context, t *conformance.T) {
				*ran = append(*ran, id)
				for range requests {
					t.Get(ctx, "/Users")
				}
			}}
	}
	return []conformance.Check{
		check("list.may", conformance.May, 1),
		check("list.dear", conformance.Must, 5),
		check("list.cheap", conformance.Must, 1),
		check("create.should", conformance.Should, 1),
		check("create.must", conformance.Must, 2),
		check("delete.last", conformance.Must, 1),
	}
}

var twoPhases = []conformance.Phase{
	{Name: "create", Checks: []string{"create"}},
	{Name: "must", Checks: []string{"must"}},
}

// TestOrder_PhaseLevelCost checks the order of execution, and that the results have the order of the checks.
func TestOrder_PhaseLevelCost(t *testing.T) {
	_, target := newShelf(t)
	var ran, progress []string
	all := orderedChecks(&ran)
	r := runChecks(t, target, conformance.Options{Checks: all, Order: twoPhases,
		Progress: func(done, planned int, c conformance.CheckResult) {
			progress = append(progress, c.Check.ID)
			require.Equal(t, len(progress), done)
			require.Equal(t, len(all), planned)
		}})
	want := []string{"create.must", "create.should", "list.cheap", "delete.last", "list.dear", "list.may"}
	require.Equal(t, want, ran)
	require.Equal(t, want, progress)
	var reported []string
	for _, c := range r.Checks {
		reported = append(reported, c.Check.ID)
	}
	require.Equal(t, []string{"list.may", "list.dear", "list.cheap", "create.should", "create.must", "delete.last"}, reported)

	ran = nil
	runChecks(t, target, conformance.Options{Checks: all})
	require.Equal(t, reported, ran, "without Options.Order")
}

// TestOrder_ClientFlowsBetweenPhases checks that client flows run in their phase, and that the results of their steps are in the profiles.
func TestOrder_ClientFlowsBetweenPhases(t *testing.T) {
	_, target := newShelf(t)
	var ran []string
	all := orderedChecks(&ran)
	step := conformance.Step{ID: "lookup", Title: "a lookup", Method: http.MethodGet, Path: "/Users", Status: []int{200}}
	second := step
	second.ID = "again"
	flow := conformance.Profile{ID: "client", Client: "Client",
		ClientFlows: []conformance.ClientFlow{{Title: "flow", Steps: []conformance.Step{step, second}}}}
	opts := conformance.Options{Checks: all, Profiles: []conformance.Profile{flow},
		Order: []conformance.Phase{{Name: "flows", Clients: true}, {Name: "must", Checks: []string{"must"}}},
		Progress: func(_, _ int, c conformance.CheckResult) {
			if c.Check.ID == "client.lookup" {
				ran = append(ran, c.Check.ID)
			}
		}}
	r := runChecks(t, target, opts)
	require.Equal(t, "client.lookup", ran[0])
	require.Len(t, r.Checks, len(all))
	require.Len(t, r.Profiles, 1)
	require.Len(t, r.Profiles[0].Steps, 2)
	require.Equal(t, "client.lookup", r.Profiles[0].Steps[0].Check.ID)

	ran, opts.Order = nil, nil
	runChecks(t, target, opts)
	require.Equal(t, "client.lookup", ran[len(ran)-1], "without Options.Order")
}

// TestProgress_CountsClientSteps checks that the number of planned checks includes the steps of client flows in every report of progress,
// also in that of a check whose result is complete at the end of the run.
func TestProgress_CountsClientSteps(t *testing.T) {
	_, target := newShelf(t)
	step := conformance.Step{ID: "lookup", Title: "a lookup", Method: http.MethodGet, Path: "/Users", Status: []int{200}}
	flow := conformance.Profile{ID: "client", Client: "Client",
		ClientFlows: []conformance.ClientFlow{{Title: "flow", Steps: []conformance.Step{step}}}}
	watching := conformance.Check{ID: "x.watches", Title: "a check that watches", Level: conformance.Must,
		Watch: func(*conformance.ObservedExchange) {}}
	var progress []string
	runChecks(t, target, conformance.Options{Profiles: []conformance.Profile{flow},
		Checks: []conformance.Check{watching, one("x.reads", nil, func(ctx context.Context, t *conformance.T) { t.Get(ctx, "/Users") })},
		Progress: func(done, planned int, c conformance.CheckResult) {
			progress = append(progress, fmt.Sprintf("%d/%d %s", done, planned, c.Check.ID))
		}})
	require.Equal(t, []string{"1/3 x.reads", "2/3 client.lookup", "3/3 x.watches"}, progress)
}

// TestPlan_PredictsIncompleteRun checks that the forecast of a slow run names exactly the checks that the run completes, and that a run
// that ends early has tested the first phase.
func TestPlan_PredictsIncompleteRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, target := newDirectShelf()
		var ran []string
		var plan *conformance.Plan
		// One request per second and 15 s, 3 s of which are reserved for cleanup.
		opts := conformance.Options{Checks: orderedChecks(&ran), Order: twoPhases, Rate: 1, Timeout: 15 * time.Second,
			Planned: func(p *conformance.Plan) { plan = p }}
		r := runChecks(t, target, opts)
		require.Equal(t, time.Second, plan.Interval)
		require.Equal(t, 12*time.Second, plan.Limit)
		require.Equal(t, time.Duration(plan.Requests)*time.Second, plan.Duration())
		complete, incomplete := plan.Within()
		require.NotEmpty(t, complete)
		require.NotEmpty(t, incomplete)
		require.Equal(t, "create", complete[0].Phase)
		for i, c := range complete {
			require.Equal(t, c.Check.ID, ran[i])
		}
		require.LessOrEqual(t, len(ran), len(complete)+1, "the next check may have started")
		require.Equal(t, len(complete), r.Count(conformance.Pass))
		require.Contains(t, r.Reason, "the time limit of 15s is used up")
		require.Contains(t, r.Cautions[len(r.Cautions)-1], "not run: ")

		opts.Timeout = time.Minute
		runChecks(t, target, opts)
		_, incomplete = plan.Within()
		require.Empty(t, incomplete)

		opts.MaxRequests = plan.Requests - 2
		opts.LimitNames = conformance.LimitNames{Timeout: "--timeout", MaxRequests: "--max-requests"}
		r = runChecks(t, target, opts)
		_, incomplete = plan.Within()
		require.NotEmpty(t, incomplete, "a budget of requests that is too small")
		require.Contains(t, r.Reason, fmt.Sprintf("the budget of %d requests (--max-requests) is used up", opts.MaxRequests))
	})
}

// TestPlan_MeasuresInterval checks that the forecast contains the time that a slow or throttling target takes.
func TestPlan_MeasuresInterval(t *testing.T) {
	for name, tt := range map[string]struct {
		slow      time.Duration
		busy      int
		interval  time.Duration
		throttled bool
	}{
		"fast":       {0, 0, 0, false},
		"slow":       {300 * time.Millisecond, 0, 300 * time.Millisecond, false},
		"throttling": {0, 2, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, target := newDirectShelf()
				inner, left, requests := target.Transport, tt.busy, 0
				target.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
					requests++
					time.Sleep(tt.slow)
					if left > 0 && requests > 2 {
						left--
						return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"7"}}, Body: http.NoBody}, nil
					}
					return inner.RoundTrip(r)
				})
				var plan *conformance.Plan
				var ran []string
				sent := 0
				runChecks(t, target, conformance.Options{Checks: orderedChecks(&ran),
					Planned: func(p *conformance.Plan) { plan, sent = p, requests }})
				require.Equal(t, tt.throttled, plan.Throttled)
				if tt.throttled {
					require.Equal(t, 14*time.Second/time.Duration(sent), plan.Interval)
					return
				}
				require.Equal(t, tt.interval, plan.Interval)
			})
		})
	}
}
