package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
)

// direct carries requests to a handler without a network, so that the clock of a synctest bubble counts.
func direct(h http.Handler) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		if r.Body == nil {
			r.Body = http.NoBody
		}
		h.ServeHTTP(w, r)
		return w.Result(), nil
	})
}

func newDirectShelf() (*shelf, conformance.Target) {
	s := &shelf{objects: map[string]map[string]any{}}
	return s, conformance.Target{URL: "http://127.0.0.1", Token: "very-secret-token", Transport: direct(s)}
}

// TestTooManyRequests_RetriedAfterWait checks that the suite waits and retries after 429, within bounds for the time and the number of
// attempts.
func TestTooManyRequests_RetriedAfterWait(t *testing.T) {
	for name, tt := range map[string]struct {
		retryAfter string
		busy       int // answers of 429 in the middle of the run
		outcome    conformance.Outcome
		waits      time.Duration
	}{
		"seconds":                          {"3", 2, conformance.Pass, 6 * time.Second},
		"a date":                           {"Sat, 01 Jan 2000 00:00:09 GMT", 1, conformance.Pass, 9 * time.Second},
		"no time: the waits double":        {"", 3, conformance.Pass, 7 * time.Second},
		"a minute is within reason":        {"60", 1, conformance.Pass, time.Minute},
		"an hour is not":                   {"3600", 1, conformance.Fail, 0},
		"a negative time is none":          {"-5", 1, conformance.Pass, time.Second},
		"for ever: the check has its word": {"1", 100, conformance.Fail, 3 * time.Second},
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

// late shows what was created only some time later.
type late struct {
	*shelf
	delay  time.Duration
	posted map[string]time.Time
}

func (l *late) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if at, ok := l.posted[r.URL.Path]; ok && r.Method == http.MethodGet && time.Since(at) < l.delay {
		http.Error(w, "{}", http.StatusNotFound)
		return
	}
	recorder := httptest.NewRecorder()
	l.shelf.ServeHTTP(recorder, r)
	if r.Method == http.MethodPost {
		var body map[string]any
		_ = json.Unmarshal(recorder.Body.Bytes(), &body)
		l.posted[r.URL.Path+"/"+fmt.Sprint(body["id"])] = time.Now()
	}
	w.Header().Set("Content-Type", recorder.Header().Get("Content-Type"))
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(recorder.Body.Bytes())
}

// TestSettle_ToleratesBoundedLag checks that the run tolerates a lag of the target up to Settle, and reports it.
func TestSettle_ToleratesBoundedLag(t *testing.T) {
	read := []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
		t.Expect("status", 200, t.Get(ctx, t.CreateUser(ctx, "ann", nil).Path()).Status)
	})}
	for name, tt := range map[string]struct {
		delay, settle time.Duration
		outcome       conformance.Outcome
		lag           time.Duration
	}{
		"at once":                        {0, 5 * time.Second, conformance.Pass, 0},
		"a little later":                 {700 * time.Millisecond, 5 * time.Second, conformance.Pass, 750 * time.Millisecond},
		"a little later without a bound": {700 * time.Millisecond, 0, conformance.Fail, 0},
		"too late":                       {time.Minute, 5 * time.Second, conformance.Fail, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &late{shelf: &shelf{objects: map[string]map[string]any{}}, delay: tt.delay, posted: map[string]time.Time{}}
				target := conformance.Target{URL: "http://127.0.0.1", Transport: direct(s)}
				r := runChecks(t, target, conformance.Options{Settle: tt.settle, Checks: read})
				require.Equal(t, tt.outcome, r.Checks[0].Outcome)
				require.Equal(t, tt.lag, r.Lag)
				require.Equal(t, tt.lag > 0, strings.Contains(strings.Join(r.Cautions, " "), "eventually consistent"), r.Cautions)
				require.Empty(t, s.names(), "nothing is left behind")
			})
		})
	}
}

// TestAttributes_AppliedToCreatedObjects checks that created objects have the attributes and the user domain of the options, unless the
// check sets its own.
func TestAttributes_AppliedToCreatedObjects(t *testing.T) {
	_, target := newShelf(t)
	var sent conformance.Doc
	runChecks(t, target, conformance.Options{
		UserDomain: "corp.test",
		Attributes: map[string]conformance.Doc{"User": {"userType": "contractor", "title": "Tester"}, "Group": {"externalId": "g"}},
		Checks: []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
			sent = t.CreateUser(ctx, "ann", conformance.Doc{"title": "of the check", "active": conformance.Omit}).Sent
			t.CreateGroup(ctx, "crew", nil)
		})},
	})
	require.Equal(t, []any{"contractor", "of the check", nil}, []any{sent["userType"], sent["title"], sent["active"]})
	require.Regexp(t, `^scimconf-[a-z0-9]{8}-1-ann@corp\.test$`, sent["userName"])
	require.Equal(t, sent["userName"], sent["emails"].([]conformance.Doc)[0]["value"])
}

func TestResourceTypes_LimitRun(t *testing.T) {
	_, target := newShelf(t)
	checks := []conformance.Check{
		one("x.users", []conformance.Need{conformance.NeedUser}, func(ctx context.Context, t *conformance.T) { t.Get(ctx, "/Users") }),
		one("x.groups", []conformance.Need{conformance.NeedGroup}, func(ctx context.Context, t *conformance.T) { t.Get(ctx, "/Groups") }),
	}
	r := runChecks(t, target, conformance.Options{ResourceTypes: []string{"user"}, Checks: checks})
	require.Equal(t, []conformance.Outcome{conformance.Pass, conformance.Skip},
		[]conformance.Outcome{r.Checks[0].Outcome, r.Checks[1].Outcome})
	require.Contains(t, r.Checks[1].Reason, "limited to other resource types")
	r = runChecks(t, target, conformance.Options{ResourceTypes: []string{"Group"}, Checks: checks})
	require.Contains(t, strings.Join(r.Cautions, " "), "the run was limited to other resource types than User")
	require.NotContains(t, strings.Join(r.Cautions, " "), "serves no users")
	r = runChecks(t, target, conformance.Options{ResourceTypes: []string{"Printer"}, Checks: checks})
	require.Equal(t, conformance.Untested, r.Verdict)
	require.Contains(t, r.Reason, "none of the resource types that the run is limited to (Printer)")
}

func TestAuthorize_CalledPerRequest(t *testing.T) {
	s, target := newShelf(t)
	var asked atomic.Int64
	target.Token = ""
	target.Authorize = func(context.Context) (string, error) { return fmt.Sprintf("Bearer token-number-%d", asked.Add(1)), nil }
	s.refuse = func(r *http.Request) int {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer token-number-") {
			return 401
		}
		return 0
	}
	checks := []conformance.Check{one("x.y", []conformance.Need{conformance.NeedCredentials}, func(ctx context.Context, t *conformance.T) {
		t.Expect("without", 401,
			t.Call(ctx, conformance.Request{Method: "GET", Path: "/Users", Credentials: conformance.WithoutCredentials()}).Status)
		t.Expect("with", 200, t.Get(ctx, "/Users").Status)
	})}
	r := runChecks(t, target, conformance.Options{Record: true, Checks: checks})
	require.Equal(t, conformance.Clean, r.Verdict, r.Reason)
	require.NotContains(t, dump(t, r), "token-number")

	target.Authorize = func(context.Context) (string, error) {
		return "", errors.New("the token endpoint answers 400 invalid_client")
	}
	r = runChecks(t, target, conformance.Options{Checks: checks})
	require.Equal(t, conformance.Untested, r.Verdict)
	require.Contains(t, r.Reason, "invalid_client")
}

// TestRecord_ContainsAllTraffic checks that the result contains every exchange with Record, and none without it.
func TestRecord_ContainsAllTraffic(t *testing.T) {
	s, target := newShelf(t)
	checks := []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
		t.CreateUser(ctx, "ann", nil)
		t.CallConcurrently(ctx, conformance.Request{Method: "GET", Path: "/Users"}, conformance.Request{Method: "GET", Path: "/Groups"})
	})}
	require.Empty(t, runChecks(t, target, conformance.Options{Checks: checks}).Traffic)
	s.requests = nil
	r := runChecks(t, target, conformance.Options{Checks: checks, Record: true})
	require.Len(t, r.Traffic, r.Requests)
	require.Len(t, s.requests, r.Requests)
	var of []string
	for _, sent := range r.Traffic {
		if sent.Check == "x.y" {
			of = append(of, sent.Exchange.Method)
		}
	}
	require.Equal(t, []string{"POST", "GET", "GET", "DELETE"}, of)
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

// dump is everything a result tells, as one text.
func dump(t *testing.T, r *conformance.Result) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(r.Reason + strings.Join(r.Cautions, "\n"))
	for _, c := range r.Checks {
		b.WriteString(c.Reason + strings.Join(c.Notes, "\n"))
		for _, f := range c.Findings {
			exchange, err := json.Marshal(f.Exchange)
			require.NoError(t, err)
			b.WriteString(f.What + f.Want + f.Got + string(exchange))
		}
	}
	for _, sent := range r.Traffic {
		exchange, err := json.Marshal(sent.Exchange)
		require.NoError(t, err)
		b.Write(exchange)
	}
	return b.String()
}

// What a target tells about people stays where it is: a report shows the structure of foreign resources, never their values.
func TestResult_RedactsUserData(t *testing.T) {
	s, target := newShelf(t)
	s.objects["/Users/42"] = map[string]any{
		"id": "42", "userName": "grace.hopper@corp.test", "name": map[string]any{"givenName": "Grace", "familyName": "Hopper"}, "active": true,
		"emails":  []any{map[string]any{"value": "grace@home.test", "type": "home"}},
		"urn:x:y": map[string]any{"badge": "B-1906"}, "meta": map[string]any{"resourceType": "User"}, "nickName": "Gr\"ace",
	}
	s.objects["/Groups/7"] = map[string]any{"id": "7", "displayName": "Admirals of the fleet",
		"members": []any{map[string]any{"value": "0123456789abcdef0123", "display": "Grace Hopper"}}}
	r := runChecks(t, target, conformance.Options{Record: true, Checks: []conformance.Check{
		one("x.early", nil, func(ctx context.Context, t *conformance.T) {
			t.Note("somebody is called grace.hopper@corp.test")
			t.Get(ctx, "/Users", "filter", `userName eq "grace.hopper@corp.test"`)
		}),
		one("x.list", writes, func(ctx context.Context, t *conformance.T) {
			t.CreateUser(ctx, "ann", conformance.Doc{"password": "pass-of-the-check-1906"})
			for _, path := range []string{"/Users", "/Groups"} {
				for _, o := range t.Get(ctx, path).Resources() {
					t.Expect("a resource of "+path, "nothing", o)
					t.Expect("its name", "nothing", o.Text("userName")+o.Text("displayName"))
				}
			}
			t.Expect("the password", "nothing", "pass-of-the-check-1906")
		}),
	}})
	require.Len(t, r.Checks[1].Findings, 9, "two users of others, one of ours, a group, and the password")
	all := dump(t, r)
	for _, secret := range []string{"grace", "Grace", "Hopper", "B-1906", "Admirals", "somebody@example.com", "pass-of-the-check",
		"very-secret-token"} {
		require.NotContains(t, all, secret)
	}
	require.Contains(t, all, "-2-ann@example.com", "what the suite made up itself stays readable")
	require.Contains(t, all, "0123456789abcdef0123", "ids stay, or nothing could be repeated")
	require.Contains(t, all, conformance.Masked)
}

func TestSelection_ByLevelSectionAndClause(t *testing.T) {
	checks := []conformance.Check{
		{ID: "a.one", Level: conformance.Must, Requirements: []string{"RFC7644-3.5.2-28"}},
		{ID: "a.two", Level: conformance.Should, Requirements: []string{"RFC7644-3.5.2.1-01", "RFC7643-2.1-01"}},
		{ID: "b.three", Level: conformance.May, Requirements: []string{"RFC7644-3.50-01"}},
	}
	for name, tt := range map[string]struct {
		selection conformance.Selection
		want      []string
	}{
		"a section with what is below it":   {conformance.Selection{Only: []string{"RFC7644-3.5"}}, []string{"a.one", "a.two"}},
		"a section in lower case and words": {conformance.Selection{Only: []string{"rfc7644 3.5.2.1"}}, []string{"a.two"}},
		"a document":                        {conformance.Selection{Only: []string{"RFC7643"}}, []string{"a.two"}},
		"a clause":                          {conformance.Selection{Only: []string{"RFC7644-3.5.2-28"}}, []string{"a.one"}},
		"a level":                           {conformance.Selection{Skip: []string{"should"}}, []string{"a.one", "b.three"}},
		"an area without a check of it":     {conformance.Selection{Only: []string{"a"}, Skip: []string{"a.one"}}, []string{"a.two"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tt.selection.Apply(checks)
			require.NoError(t, err)
			var ids []string
			for _, c := range got {
				ids = append(ids, c.ID)
			}
			require.Empty(t, cmp.Diff(tt.want, ids))
		})
	}
	_, err := conformance.Selection{Only: []string{"RFC7644-3.5.2-2"}}.Apply(checks)
	require.ErrorAs(t, err, new(*conformance.UsageError), "half a number is no clause")
}

func TestReadOnly_WritesNoJournal(t *testing.T) {
	_, target := newShelf(t)
	journal := filepath.Join(t.TempDir(), "run.journal")
	runChecks(t, target,
		conformance.Options{ReadOnly: true, Settle: time.Second, Journal: journal,
			Checks: []conformance.Check{one("x.y", nil, func(ctx context.Context, t *conformance.T) { t.Get(ctx, "/Users") })}})
	require.NoFileExists(t, journal)
}
