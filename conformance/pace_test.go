package conformance_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// TestTooManyRequests_RetriedAfterWait checks that the suite waits and retries after 429, within bounds for the time and the number of
// attempts.
func TestTooManyRequests_RetriedAfterWait(t *testing.T) {
	for name, tt := range map[string]struct {
		retryAfter string
		busy       int // responses of 429 in the middle of the run
		outcome    conformance.Outcome
		waits      time.Duration
	}{
		"seconds":                        {"3", 2, conformance.Pass, 6 * time.Second},
		"a date":                         {"Sat, 01 Jan 2000 00:00:09 GMT", 1, conformance.Pass, 9 * time.Second},
		"no time: the wait doubles":      {"", 3, conformance.Pass, 7 * time.Second},
		"one minute is within the limit": {"60", 1, conformance.Pass, time.Minute},
		"one hour is beyond the limit":   {"3600", 1, conformance.Fail, 0},
		"a negative time is ignored":     {"-5", 1, conformance.Pass, time.Second},
		"always: the check reports it":   {"1", 100, conformance.Fail, 2 * 3 * time.Second}, // two executions
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, target := newDirectShelf()
				left := 0
				inner := target.Transport
				target.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
					if left > 0 {
						left--
						w := httptest.NewRecorder()
						if tt.retryAfter != "" {
							w.Header().Set("Retry-After", tt.retryAfter)
						}
						w.WriteHeader(http.StatusTooManyRequests)
						return w.Result(), nil
					}
					return inner.RoundTrip(r)
				})
				began := time.Now()
				r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{one("x.y", nil, func(ctx context.Context, t *conformance.T) {
					left = tt.busy
					t.Expect("status", 200, t.Get(ctx, "/Users").Status)
					left = 0
				})}})
				require.Equal(t, tt.outcome, r.Checks[0].Outcome, r.Checks[0].Reason)
				require.Equal(t, tt.waits, time.Since(began))
				require.Equal(t, tt.waits > 0, strings.Contains(strings.Join(r.Cautions, " "), "limits the rate of requests"), r.Cautions)
				require.NotEmpty(t, s.requests)
			})
		})
	}
}

func TestRate_LimitsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, target := newDirectShelf()
		began := time.Now()
		r := runChecks(t, target,
			conformance.Options{Rate: 4, Checks: []conformance.Check{one("x.y", nil, func(ctx context.Context, t *conformance.T) {
				for range 10 {
					t.Get(ctx, "/Users")
				}
			})}})
		require.Equal(t, conformance.Clean, r.Verdict)
		require.Equal(t, time.Duration(r.Requests-1)*time.Second/4, time.Since(began))
	})
}

func TestTimeout_StopsSlowRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, target := newDirectShelf()
		began := time.Now()
		r := runChecks(t, target,
			conformance.Options{Rate: 1, Timeout: 20 * time.Second,
				Checks: []conformance.Check{one("x.y", nil, func(ctx context.Context, t *conformance.T) {
					for range 100 {
						t.Get(ctx, "/Users")
					}
				})}})
		require.Equal(t, conformance.Untested, r.Verdict)
		require.LessOrEqual(t, time.Since(began), 20*time.Second)
	})
}

// TestDiscovery_HonorsRetryAfterOnce checks that discovery waits once for the time in Retry-After, unless it is too long or absent.
func TestDiscovery_HonorsRetryAfterOnce(t *testing.T) {
	const config = `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"]}`
	for _, tt := range []struct {
		name, retryAfter string
		busy             int // the number of requests that get 429
		waits            time.Duration
		reason           string
	}{
		{"a few seconds", "7", 1, 7 * time.Second, ""},
		{"a date", "Sat, 01 Jan 2000 00:00:09 GMT", 1, 9 * time.Second, ""},
		{"longer than the limit", "3600", 100, 0, "limits the rate"},
		{"without a time", "", 100, 0, "limits the rate"},
		{"always busy", "1", 100, time.Second, "limits the rate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the clock of synctest starts in the year 2000
				asked := 0
				target := conformance.Target{URL: "http://127.0.0.1", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					w := httptest.NewRecorder()
					w.Header().Set("Content-Type", "application/scim+json")
					if asked++; asked <= tt.busy {
						if tt.retryAfter != "" {
							w.Header().Set("Retry-After", tt.retryAfter)
						}
						w.WriteHeader(http.StatusTooManyRequests)
					} else {
						_, _ = w.WriteString(config)
					}
					return w.Result(), nil
				})}
				began := time.Now()
				plan, err := conformance.NewPlan(t.Context(), target, conformance.Options{Checks: []conformance.Check{one("x.y", nil, nil)}})
				require.NoError(t, err)
				require.Equal(t, tt.waits, time.Since(began))
				if tt.reason == "" {
					require.Empty(t, plan.Reason)
				} else {
					require.Contains(t, plan.Reason, tt.reason)
				}
			})
		})
	}
}
