package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/scimwright/scimwright/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// one returns a check with a function as its Run.
func one(id string, needs []conformance.Need, run func(ctx context.Context, t *conformance.T)) conformance.Check {
	return conformance.Check{ID: id, Title: "a check of the test", Level: conformance.Must, Needs: needs, Requests: 2, Run: run}
}

func runChecks(t *testing.T, target conformance.Target, opts conformance.Options) *conformance.Result {
	t.Helper()
	opts.Unmeasured = opts.Settle == 0 // only the tests of the measurement of the steadiness set Settle
	r, err := conformance.Run(t.Context(), target, opts)
	require.NoError(t, err)
	return r
}

var writes = []conformance.Need{conformance.NeedWrite}

func TestOutcome_FollowsCheckLevel(t *testing.T) {
	_, target := newShelf(t)
	for level, want := range map[conformance.Level]conformance.Outcome{
		conformance.Must: conformance.Fail, conformance.Should: conformance.Warn, conformance.Interop: conformance.Warn,
		conformance.May: conformance.Info,
	} {
		check := one("x.y", nil, func(ctx context.Context, t *conformance.T) {
			t.Get(ctx, "/Users")
			t.Expect("a thing", []string{"one"}, []string{"two"})
			t.Expect("an equal number", 1, 1)
		})
		check.Level = level
		r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{check}})
		require.Equal(t, want, r.Checks[0].Outcome, level)
		require.Len(t, r.Checks[0].Findings, 1)
		f := r.Checks[0].Findings[0]
		require.Equal(t, []string{"a thing", `["one"]`, `["two"]`}, []string{f.What, f.Want, f.Got})
		require.NotNil(t, f.Exchange)
		require.NotContains(t, fmt.Sprint(f.Exchange.RequestHeader), "very-secret-token")
	}
}

// TestRequire_StopsCheck checks that Require stops the check after a difference, and Expect continues.
func TestRequire_StopsCheck(t *testing.T) {
	_, target := newShelf(t)
	r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{one("x.y", nil, func(_ context.Context, t *conformance.T) {
		t.Expect("first", 1, 2)
		t.Require("second", 1, 2)
		t.Expect("never reached", 1, 2)
	})}})
	require.Len(t, r.Checks[0].Findings, 2)
	require.Equal(t, conformance.Findings, r.Verdict)
}

// TestRun_PanicReportedAsError checks that a panic in a check gives the outcome Error and that the next check runs.
func TestRun_PanicReportedAsError(t *testing.T) {
	_, target := newShelf(t)
	r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{
		one("x.broken", nil, func(context.Context, *conformance.T) { panic("an error of the suite") }),
		one("x.fine", nil, func(ctx context.Context, t *conformance.T) { t.Get(ctx, "/Users") }),
	}})
	require.Equal(t, conformance.Error, r.Checks[0].Outcome)
	require.Contains(t, r.Checks[0].Reason, "an error of the suite")
	require.Equal(t, conformance.Pass, r.Checks[1].Outcome)
	require.Equal(t, conformance.Untested, r.Verdict, "a run with errors is not clean")
}

func TestMaxRequests_LimitsRun(t *testing.T) {
	s, target := newShelf(t)
	var checks []conformance.Check
	for i := range 10 {
		checks = append(checks, one(fmt.Sprint("x.", i), writes, func(ctx context.Context, t *conformance.T) {
			t.CreateUser(ctx, "ann", nil)
			t.Get(ctx, "/Users")
		}))
	}
	r := runChecks(t, target, conformance.Options{Checks: checks, MaxRequests: 12})
	require.Equal(t, conformance.Untested, r.Verdict)
	require.Contains(t, r.Reason, "budget")
	require.LessOrEqual(t, r.Requests, 12+3, "the budget does not count deletions, their verification and the search for leftovers")
	require.Equal(t, []string{"other@example.com"}, s.names())
}

func TestConsent_RequiredForRemoteWrites(t *testing.T) {
	checks := []conformance.Check{one("x.y", writes, func(context.Context, *conformance.T) {})}
	for _, url := range []string{"https://scim.example.com/v2", "http://10.0.0.1", "http://localhost.example.com"} {
		_, err := conformance.Run(t.Context(), conformance.Target{URL: url}, conformance.Options{Checks: checks})
		var consent *conformance.ConsentError
		require.ErrorAs(t, err, &consent, url)
	}
}

func TestRun_RejectsMalformedURL(t *testing.T) {
	for _, url := range []string{"", "example.com/scim", "ftp://localhost", "http://localhost/scim?tenant=1", "http://localhost/#a",
		"http://user:pass@localhost", "http://[::1", "http://"} {
		_, err := conformance.Run(t.Context(), conformance.Target{URL: url}, conformance.Options{})
		var usage *conformance.UsageError
		require.ErrorAs(t, err, &usage, url)
	}
}

func TestReadOnly_SendsOnlyGET(t *testing.T) {
	s, target := newShelf(t)
	r := runChecks(t, target, conformance.Options{ReadOnly: true, Checks: []conformance.Check{
		one("x.writes", writes, func(ctx context.Context, t *conformance.T) { t.CreateUser(ctx, "ann", nil) }),
		one("x.reads", nil, func(ctx context.Context, t *conformance.T) { t.Get(ctx, "/Users") }),
	}})
	require.Equal(t, conformance.Clean, r.Verdict)
	require.Equal(t, conformance.Skip, r.Checks[0].Outcome)
	require.NotEmpty(t, r.Cautions)
	for _, request := range s.requests {
		require.True(t, strings.HasPrefix(request, "GET "), request)
	}
}

func TestVerdict_UntestedOnRejectedCreates(t *testing.T) {
	s, target := newShelf(t)
	s.refuse = func(r *http.Request) int {
		if r.Method == http.MethodPost {
			return 403
		}
		return 0
	}
	r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{
		one("x.writes", writes, func(ctx context.Context, t *conformance.T) { t.CreateUser(ctx, "ann", nil) }),
		one("x.reads", nil, func(ctx context.Context, t *conformance.T) { t.Get(ctx, "/Users") }),
	}})
	require.Equal(t, conformance.Skip, r.Checks[0].Outcome)
	require.Contains(t, r.Checks[0].Reason, "403")
	require.Equal(t, conformance.Untested, r.Verdict)
}

// TestVerdict_UntestedOnForbiddenWrites checks that credentials without write permission make the run untested, while other rejected writes
// are findings.
func TestVerdict_UntestedOnForbiddenWrites(t *testing.T) {
	blames := one("x.blames", writes, func(ctx context.Context, t *conformance.T) {
		t.Expect("status", 201, t.Post(ctx, "/Users", t.User("ann", nil)).Status)
	})
	reads := one("x.reads", nil, func(ctx context.Context, t *conformance.T) {
		t.Expect("status", 200, t.Get(ctx, "/Users").Status)
	})
	for name, tt := range map[string]struct {
		status  int
		settle  time.Duration
		only    string // the userName that is rejected; all of them if empty
		verdict conformance.Verdict
		outcome conformance.Outcome
	}{
		"every write is forbidden":                 {403, 0, "", conformance.Untested, conformance.Skip},
		"forbidden, with the lag measured":         {403, time.Second, "", conformance.Untested, conformance.Skip},
		"rejected with 401":                        {401, 0, "", conformance.Untested, conformance.Skip},
		"the method is not permitted":              {405, 0, "", conformance.Untested, conformance.Skip},
		"the method is not implemented":            {501, 0, "", conformance.Untested, conformance.Skip},
		"only what the check creates is 405":       {405, 0, "-ann@", conformance.Findings, conformance.Fail},
		"every write is malformed":                 {400, 0, "", conformance.Findings, conformance.Fail},
		"only what the check creates is forbidden": {403, 0, "-ann@", conformance.Findings, conformance.Fail},
		"every write is allowed":                   {0, 0, "", conformance.Clean, conformance.Pass},
	} {
		t.Run(name, func(t *testing.T) {
			s, target := newShelf(t)
			s.refuse = func(r *http.Request) int {
				if r.Method == http.MethodGet {
					return 0
				}
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				if r.Method == http.MethodPost && strings.Contains(string(body), tt.only) {
					return tt.status
				}
				return 0
			}
			r := runChecks(t, target, conformance.Options{Settle: tt.settle, Checks: []conformance.Check{blames, reads, blames}})
			require.Equal(t, tt.verdict, r.Verdict)
			require.Equal(t, []conformance.Outcome{tt.outcome, conformance.Pass, tt.outcome},
				[]conformance.Outcome{r.Checks[0].Outcome, r.Checks[1].Outcome, r.Checks[2].Outcome})
			if tt.verdict == conformance.Untested {
				require.Regexp(t, "these credentials may not create users|the target creates no users", r.Reason)
				require.Equal(t, r.Reason, r.Checks[2].Reason)
				require.LessOrEqual(t, r.Count(conformance.Skip), 2)
			}
			require.Equal(t, []string{"other@example.com"}, s.names())
		})
	}
}

// TestFinding_QuotesMisleadingStrings checks that a finding quotes a string that could be read as another JSON value.
func TestFinding_QuotesMisleadingStrings(t *testing.T) {
	_, target := newShelf(t)
	r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{
		one("x.shows", nil, func(_ context.Context, t *conformance.T) {
			for _, got := range []any{"False", "5", false, "plain"} {
				t.Expect("active", true, got)
			}
		}),
	}})
	var got []string
	for _, f := range r.Checks[0].Findings {
		got = append(got, f.Got)
	}
	require.Equal(t, []string{`"False"`, `"5"`, "false", "plain"}, got)
}

// TestCautions_NameBlockedChecks checks that the cautions name a check that was blocked, and no check that passes or does not apply.
func TestCautions_NameBlockedChecks(t *testing.T) {
	_, target := newShelf(t)
	r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{
		one("x.kept-away", nil, func(ctx context.Context, t *conformance.T) { t.Read(ctx, "/Users/absent") }),
		one("x.does-not-apply", nil, func(ctx context.Context, t *conformance.T) {
			t.Get(ctx, "/Users")
			t.NotApplicable("not applicable")
		}),
		one("x.unsupported", nil, func(ctx context.Context, t *conformance.T) {
			t.Get(ctx, "/Users")
			t.Skip("the target does not support HEAD")
		}),
		one("x.passes", nil, func(ctx context.Context, t *conformance.T) { t.Get(ctx, "/Users") }),
	}})
	require.Equal(t, 3, r.Count(conformance.Skip))
	require.Contains(t, r.Cautions, "1 applicable check blocked without a result: x.kept-away")
}

// TestNewPlan_CountsRequests checks that NewPlan counts the requests of the checks, and sends only GET requests.
func TestNewPlan_CountsRequests(t *testing.T) {
	s, target := newShelf(t)
	fixture := &conformance.Fixture{Name: "f", Requests: 7}
	check := one("x.y", writes, nil)
	check.Fixture = fixture
	plan, err := conformance.NewPlan(t.Context(), target, conformance.Options{Checks: []conformance.Check{
		check, check, one("x.patch", []conformance.Need{conformance.NeedPatch}, nil),
	}})
	require.NoError(t, err)
	require.Equal(t, 5+2+2+7+14, plan.Requests, "discovery, checks, fixture, steadiness")
	require.True(t, plan.Writes)
	require.Contains(t, plan.Checks[2].Skip, "patch is not supported")
	for _, request := range s.requests {
		require.True(t, strings.HasPrefix(request, "GET "), request)
	}
}

// TestFixture_BuiltOnce checks that the run builds a fixture once for all its checks, and that a failed fixture blocks them.
func TestFixture_BuiltOnce(t *testing.T) {
	s, target := newShelf(t)
	built := 0
	fixture := &conformance.Fixture{Name: "pair", Build: func(ctx context.Context, t *conformance.T) map[string]*conformance.Created {
		built++
		return map[string]*conformance.Created{"ann": t.CreateUser(ctx, "ann", nil)}
	}}
	var seen []string
	check := one("x.y", writes, func(_ context.Context, t *conformance.T) { seen = append(seen, t.Fixture["ann"].ID) })
	check.Fixture = fixture
	opts := conformance.Options{Checks: []conformance.Check{check, check}}
	runChecks(t, target, opts)
	require.Equal(t, 1, built)
	require.Len(t, slices.Compact(seen), 1)
	require.Equal(t, []string{"other@example.com"}, s.names())

	s.refuse = func(r *http.Request) int {
		if r.Method == http.MethodPost {
			return 500
		}
		return 0
	}
	r := runChecks(t, target, opts)
	require.Contains(t, r.Checks[1].Reason, "blocked")
}

func TestRun_StopsOnUnresponsiveTarget(t *testing.T) {
	s, target := newShelf(t)
	server := target.Transport
	down := false
	target.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		if down {
			return nil, errors.New("connection refused")
		}
		return server.RoundTrip(r)
	})
	var checks []conformance.Check
	for i := range 10 {
		checks = append(checks, one(fmt.Sprint("x.", i), nil, func(ctx context.Context, t *conformance.T) {
			down = true
			t.Get(ctx, "/Users")
		}))
	}
	r := runChecks(t, target, conformance.Options{Checks: checks, Timeout: time.Minute})
	require.Equal(t, conformance.Untested, r.Verdict)
	require.Contains(t, r.Reason, "stopped responding")
	require.Equal(t, 3, r.Count(conformance.Error))
	require.NotEmpty(t, s.requests)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
