package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/scimwright/scimwright/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is a target that stores what is posted and nothing more: what these tests are about is the suite.
type shelf struct {
	mu       sync.Mutex
	objects  map[string]map[string]any // by path
	next     int
	requests []string
	refuse   func(r *http.Request) int // a status to answer instead, 0 for none
	reads    int                       // GET requests of single objects
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	reply := func(status int, body any) {
		w.Header().Set("Content-Type", "application/scim+json")
		w.WriteHeader(status)
		if body != nil {
			_ = json.NewEncoder(w).Encode(body)
		}
	}
	if s.refuse != nil {
		if status := s.refuse(r); status != 0 {
			reply(status, nil)
			return
		}
	}
	collection, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if r.Method == http.MethodGet && id != "" {
		s.reads++
	}
	switch {
	case collection == "ServiceProviderConfig":
		reply(200,
			map[string]any{"schemas": []string{"urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"},
				"patch": map[string]any{"supported": false}})
	case collection != "Users" && collection != "Groups":
		reply(404, nil)
	case r.Method == http.MethodPost:
		var body map[string]any
		if json.NewDecoder(r.Body).Decode(&body) != nil {
			reply(400, nil)
			return
		}
		s.next++
		body["id"] = fmt.Sprint(s.next)
		s.objects["/"+collection+"/"+fmt.Sprint(s.next)] = body
		reply(201, body)
	case id == "":
		items := []any{}
		for path, o := range s.objects {
			name, _ := o["userName"].(string)
			if f := r.URL.Query().Get("filter"); strings.HasPrefix(path, "/"+collection) && (f == "" || f == fmt.Sprintf("userName eq %q", name)) {
				items = append(items, o)
			}
		}
		reply(200,
			map[string]any{"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:ListResponse"}, "totalResults": len(items),
				"Resources": items})
	case s.objects[r.URL.Path] == nil:
		reply(404, nil)
	case r.Method == http.MethodDelete:
		delete(s.objects, r.URL.Path)
		reply(204, nil)
	default:
		reply(200, s.objects[r.URL.Path])
	}
}

func (s *shelf) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, o := range s.objects {
		names = append(names, fmt.Sprint(o["userName"]))
	}
	return names
}

func newShelf(t *testing.T) (*shelf, conformance.Target) {
	t.Helper()
	s := &shelf{objects: map[string]map[string]any{"/Users/theirs": {"id": "theirs", "userName": "somebody@example.com"}}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return s, conformance.Target{URL: server.URL, Token: "very-secret-token", Transport: transport}
}

// one makes a check of a function.
func one(id string, needs []conformance.Need, run func(ctx context.Context, t *conformance.T)) conformance.Check {
	return conformance.Check{ID: id, Title: "a check of the test", Level: conformance.Must, Needs: needs, Requests: 2, Run: run}
}

func runChecks(t *testing.T, target conformance.Target, opts conformance.Options) *conformance.Result {
	t.Helper()
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
			t.Expect("a number that is right", 1, 1)
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
		one("x.broken", nil, func(context.Context, *conformance.T) { panic("a mistake of ours") }),
		one("x.fine", nil, func(ctx context.Context, t *conformance.T) { t.Get(ctx, "/Users") }),
	}})
	require.Equal(t, conformance.Error, r.Checks[0].Outcome)
	require.Contains(t, r.Checks[0].Reason, "a mistake of ours")
	require.Equal(t, conformance.Pass, r.Checks[1].Outcome)
	require.Equal(t, conformance.Untested, r.Verdict, "a run with errors is not clean")
}

// TestRun_RemovesCreatedObjects checks that the run removes the objects of a check that panics, and no other object.
func TestRun_RemovesCreatedObjects(t *testing.T) {
	s, target := newShelf(t)
	journal := filepath.Join(t.TempDir(), "run.journal")
	var during []string
	r := runChecks(t, target,
		conformance.Options{Journal: journal, Checks: []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
			t.CreateUser(ctx, "ann", nil)
			t.CreateUser(ctx, "ben", nil)
			during = s.names()
			panic("and the check breaks")
		})}})
	require.Len(t, during, 3)
	require.Equal(t, []string{"somebody@example.com"}, s.names())
	require.Empty(t, r.Leftovers)
	require.NoFileExists(t, journal)
}

// TestLeftovers_RemainInJournal checks that the run reports an object that it cannot remove, and leaves it in the journal.
func TestLeftovers_RemainInJournal(t *testing.T) {
	s, target := newShelf(t)
	s.refuse = func(r *http.Request) int {
		if r.Method == http.MethodDelete {
			return 500
		}
		return 0
	}
	journal := filepath.Join(t.TempDir(), "run.journal")
	r := runChecks(t, target,
		conformance.Options{Journal: journal, Checks: []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
			t.CreateUser(ctx, "ann", nil)
		})}})
	require.Len(t, r.Leftovers, 1)
	require.Equal(t, journal, r.Journal)
	data, err := os.ReadFile(journal)
	require.NoError(t, err)
	require.NotContains(t, string(data), "very-secret-token")

	s.refuse = nil
	cleaned, err := conformance.Cleanup(t.Context(), journal, target, conformance.Options{})
	require.NoError(t, err)
	require.Equal(t, 1, cleaned.Removed)
	require.Equal(t, []string{"somebody@example.com"}, s.names())
	require.NoFileExists(t, journal)
}

// A DELETE that is answered with success is not believed as long as a GET finds the object.
func TestLeftovers_VerifiedByGET(t *testing.T) {
	for _, status := range []int{200, 204, 404} {
		t.Run(fmt.Sprint("DELETE answers ", status, " and keeps the object"), func(t *testing.T) {
			s, target := newShelf(t)
			s.refuse = func(r *http.Request) int {
				if r.Method == http.MethodDelete {
					return status
				}
				return 0
			}
			journal := filepath.Join(t.TempDir(), "run.journal")
			opts := conformance.Options{Journal: journal,
				Checks: []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
					t.CreateUser(ctx, "ann", nil)
					t.Delete(ctx, t.CreateUser(ctx, "ben", nil).Path())
					t.CreateGroup(ctx, "team", nil)
				})}}
			r := runChecks(t, target, opts)
			require.Len(t, r.Leftovers, 3)
			require.Contains(t, r.Leftovers[0].Reason, "still finds it")
			require.Equal(t, journal, r.Journal)

			cleaned, err := conformance.Cleanup(t.Context(), journal, target, conformance.Options{})
			require.NoError(t, err)
			require.Zero(t, cleaned.Removed)
			require.Len(t, cleaned.Leftovers, 3, "cleaning up does not believe it either")
			require.FileExists(t, journal)

			s.refuse = nil
			cleaned, err = conformance.Cleanup(t.Context(), journal, target, conformance.Options{})
			require.NoError(t, err)
			require.Equal(t, 3, cleaned.Removed)
			require.Equal(t, []string{"somebody@example.com"}, s.names())
			require.NoFileExists(t, journal)
		})
	}
}

// TestRun_BoundsDeletionReads checks that one read confirms all deletions answered with 204, and one read each those answered with 200.
func TestRun_BoundsDeletionReads(t *testing.T) {
	const users = 10
	for status, reads := range map[int]int{204: 1, 200: users} {
		t.Run(fmt.Sprint("DELETE answers ", status), func(t *testing.T) {
			s, target := newShelf(t)
			s.refuse = func(r *http.Request) int {
				if r.Method != http.MethodDelete || status == 204 {
					return 0
				}
				delete(s.objects, r.URL.Path)
				return status
			}
			journal := filepath.Join(t.TempDir(), "run.journal")
			r := runChecks(t, target,
				conformance.Options{Journal: journal, Checks: []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
					for i := range users {
						t.CreateUser(ctx, fmt.Sprint("u", i), nil)
					}
				})}})
			require.Empty(t, r.Leftovers)
			require.NoFileExists(t, journal)
			require.Equal(t, reads, s.reads)
		})
	}
}

// TestCleanup_RemovesOnlyOwnObjects checks that Cleanup removes the objects of a crashed run, and no object that was renamed or belongs to
// another client.
func TestCleanup_RemovesOnlyOwnObjects(t *testing.T) {
	s, target := newShelf(t)
	const run = "scimconf-abcdefgh"
	s.objects["/Users/known"] = map[string]any{"id": "known", "userName": run + "-1-known@example.com"}
	s.objects["/Users/lost"] = map[string]any{"id": "lost", "userName": run + "-2-lost@example.com"}
	s.objects["/Users/renamed"] = map[string]any{"id": "renamed", "userName": "now-somebody-else@example.com"}
	journal := filepath.Join(t.TempDir(), "crash.journal")
	lines := []string{
		`{"journal":1,"target":"` + target.URL + `","run":"` + run + `"}`,
		`{"op":"intent","entry":1,"collection":"/Users","attribute":"userName","name":"` + run + `-1-known@example.com"}`,
		`{"op":"created","entry":1,"collection":"/Users","id":"known"}`,
		// the answer never came
		`{"op":"intent","entry":2,"collection":"/Users","attribute":"userName","name":"` + run + `-2-lost@example.com"}`,
		`{"op":"intent","entry":3,"collection":"/Users","attribute":"userName","name":"` + run + `-3-never@example.com"}`, // nor was it created
		`{"op":"intent","entry":4,"collection":"/Users","attribute":"userName","name":"` + run + `-4-renamed@example.com"}`,
		`{"op":"created","entry":4,"collection":"/Users","id":"renamed"}`,
		`{"op":"intent","entry":5,"collection":"/Users","attribute":"userName","name":"` + run + `-5-gone@example.com"}`,
		`{"op":"gone","entry":5}`,
		`{"op":"intent","entry":6,"collec`, // cut by the crash
	}
	require.NoError(t, os.WriteFile(journal, []byte(strings.Join(lines, "\n")), 0o600))

	cleaned, err := conformance.Cleanup(t.Context(), journal, conformance.Target{Token: target.Token, Transport: target.Transport},
		conformance.Options{})
	require.NoError(t, err)
	require.Equal(t, 2, cleaned.Removed)
	require.Equal(t, 1, cleaned.Absent)
	require.Len(t, cleaned.Leftovers, 1)
	require.Contains(t, cleaned.Leftovers[0].Reason, "marker")
	require.FileExists(t, journal, "the journal stays while something is left")
	names := s.names()
	slices.Sort(names)
	require.Equal(t, []string{"now-somebody-else@example.com", "somebody@example.com"}, names)
}

// A name that was sent in another letter case is announced as well: the target may know it.
func TestJournal_CaseInsensitiveAttributeNames(t *testing.T) {
	_, target := newShelf(t)
	journal := filepath.Join(t.TempDir(), "run.journal")
	var announced []byte
	runChecks(t, target,
		conformance.Options{Journal: journal, Checks: []conformance.Check{one("x.y", writes, func(ctx context.Context, t *conformance.T) {
			t.Post(ctx, "/Users", conformance.Doc{"USERNAME": t.UserName("loud")})
			announced, _ = os.ReadFile(journal)
		})}})
	require.Regexp(t, `"op":"intent".*"name":"scimconf-[a-z0-9]+-1-loud@example.com"`, string(announced))
}

func TestCleanup_RejectsNonJournal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "other.txt")
	require.NoError(t, os.WriteFile(file, []byte("hello\n"), 0o600))
	for _, path := range []string{file, filepath.Join(t.TempDir(), "absent")} {
		_, err := conformance.Cleanup(t.Context(), path, conformance.Target{}, conformance.Options{})
		var usage *conformance.UsageError
		require.ErrorAs(t, err, &usage)
	}
}

func TestRun_CleansUpOnInterrupt(t *testing.T) {
	s, target := newShelf(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := conformance.Run(ctx, target, conformance.Options{Checks: []conformance.Check{
		one("x.first", writes, func(ctx context.Context, t *conformance.T) {
			t.CreateUser(ctx, "ann", nil)
			cancel()
			t.Get(ctx, "/Users")
		}),
		one("x.second", writes, func(ctx context.Context, t *conformance.T) { t.CreateUser(ctx, "ben", nil) }),
	}})
	require.NoError(t, err)
	require.Equal(t, []string{"somebody@example.com"}, s.names())
	require.Equal(t, conformance.Untested, r.Verdict)
	require.Contains(t, r.Reason, "interrupted")
	require.Equal(t, conformance.Skip, r.Checks[1].Outcome)
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
	require.LessOrEqual(t, r.Requests, 12+3, "removing an object, looking whether it is gone and whether anything is left are allowed on top")
	require.Equal(t, []string{"somebody@example.com"}, s.names())
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
		only    string // the userName that is refused; all of them when empty
		verdict conformance.Verdict
		outcome conformance.Outcome
	}{
		"every write is forbidden":                   {403, 0, "", conformance.Untested, conformance.Skip},
		"forbidden, with a measure of the lag":       {403, time.Second, "", conformance.Untested, conformance.Skip},
		"answered with 401":                          {401, 0, "", conformance.Untested, conformance.Skip},
		"every write is malformed":                   {400, 0, "", conformance.Findings, conformance.Fail},
		"only what the check creates is forbidden":   {403, 0, "-ann@", conformance.Findings, conformance.Fail},
		"nothing is forbidden, and nothing is asked": {0, 0, "", conformance.Clean, conformance.Pass},
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
				require.Contains(t, r.Reason, "may not create users")
				require.Equal(t, r.Reason, r.Checks[2].Reason)
				require.LessOrEqual(t, r.Count(conformance.Skip), 2)
			}
			require.Equal(t, []string{"somebody@example.com"}, s.names())
		})
	}
}

// TestCautions_NameBlockedChecks checks that the cautions name a check that was blocked, and no check that passes or does not apply.
func TestCautions_NameBlockedChecks(t *testing.T) {
	_, target := newShelf(t)
	r := runChecks(t, target, conformance.Options{Checks: []conformance.Check{
		one("x.kept-away", nil, func(ctx context.Context, t *conformance.T) { t.Read(ctx, "/Users/absent") }),
		one("x.does-not-apply", nil, func(ctx context.Context, t *conformance.T) {
			t.Get(ctx, "/Users")
			t.NotApplicable("there is none")
		}),
		one("x.passes", nil, func(ctx context.Context, t *conformance.T) { t.Get(ctx, "/Users") }),
	}})
	require.Equal(t, 2, r.Count(conformance.Skip))
	require.Contains(t, r.Cautions, "1 check that would apply did not get as far as the question: x.kept-away")
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
	require.Equal(t, 5+2+2+7, plan.Requests)
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
	require.Equal(t, []string{"somebody@example.com"}, s.names())

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
	require.Contains(t, r.Reason, "stopped answering")
	require.Equal(t, 3, r.Count(conformance.Error))
	require.NotEmpty(t, s.requests)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestDiscovery_HonorsRetryAfterOnce checks that discovery waits once for the time in Retry-After, unless it is too long or absent.
func TestDiscovery_HonorsRetryAfterOnce(t *testing.T) {
	const config = `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"]}`
	for _, tt := range []struct {
		name, retryAfter string
		busy             int // how many requests are answered 429
		waits            time.Duration
		reason           string
	}{
		{"a few seconds", "7", 1, 7 * time.Second, ""},
		{"a date", "Sat, 01 Jan 2000 00:00:09 GMT", 1, 9 * time.Second, ""},
		{"longer than anybody wants to wait", "3600", 100, 0, "limits the rate"},
		{"without a time", "", 100, 0, "limits the rate"},
		{"busy for ever", "1", 100, time.Second, "limits the rate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // its clock starts with the year 2000
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

func TestSelection(t *testing.T) {
	checks := []conformance.Check{{ID: "a.one", Level: conformance.Must}, {ID: "a.two", Level: conformance.May},
		{ID: "b.one", Level: conformance.Should}}
	for name, c := range map[string]struct {
		selection conformance.Selection
		want      []string
	}{
		"nothing said selects all":      {conformance.Selection{}, []string{"a.one", "a.two", "b.one"}},
		"an area":                       {conformance.Selection{Only: []string{"a"}}, []string{"a.one", "a.two"}},
		"an id and not its area":        {conformance.Selection{Only: []string{"a.two"}}, []string{"a.two"}},
		"skipping wins":                 {conformance.Selection{Only: []string{"a"}, Skip: []string{"a.one"}}, []string{"a.two"}},
		"a level and what is stronger":  {conformance.Selection{Level: conformance.Should}, []string{"a.one", "b.one"}},
		"the strongest level by itself": {conformance.Selection{Level: conformance.Must}, []string{"a.one"}},
	} {
		t.Run(name, func(t *testing.T) {
			selected, err := c.selection.Apply(checks)
			require.NoError(t, err)
			var ids []string
			for _, s := range selected {
				ids = append(ids, s.ID)
			}
			require.Equal(t, c.want, ids)
		})
	}
	for name, s := range map[string]conformance.Selection{
		"an unknown name":  {Only: []string{"c"}},
		"an unknown level": {Level: "severe"},
		"nothing left":     {Only: []string{"a.two"}, Level: conformance.Must},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Apply(checks)
			var usage *conformance.UsageError
			require.ErrorAs(t, err, &usage)
		})
	}
}
