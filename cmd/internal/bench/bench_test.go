package bench

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/memstore"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A service is a server of a test with its client.
type service struct {
	t       *testing.T
	target  Target
	handler http.Handler // without quirks

	mu    sync.Mutex
	sent  []string // the methods and paths of all requests
	creds map[string]bool
}

// serve starts a server on loopback. settings are its quirks, in the form of quirks.ParseAll.
func serve(t *testing.T, token string, settings ...string) *service {
	t.Helper()
	h, err := scimserver.New(scimserver.Options{Store: memstore.New(), Tokens: scimserver.StaticTokens(token), PasswordCost: 4})
	require.NoError(t, err)
	parsed, err := quirks.ParseAll(settings)
	require.NoError(t, err)
	deviant, err := quirks.New(h, parsed...)
	require.NoError(t, err)
	s := listen(t, token, deviant)
	s.handler = h
	return s
}

// listen starts a server with a handler.
func listen(t *testing.T, token string, h http.Handler) *service {
	t.Helper()
	s := &service{t: t, handler: h, creds: map[string]bool{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.sent = append(s.sent, r.Method+" "+r.URL.Path)
		s.creds[r.Header.Get("Authorization")] = true
		s.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	t.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
	s.target = Target{URL: server.URL, Token: token, Transport: transport}
	return s
}

// count returns the number of resources that the server has.
func (s *service) count(path string) int {
	s.t.Helper()
	req := httptest.NewRequest(http.MethodGet, path, nil)
	req.Header.Set("Authorization", "Bearer "+s.target.Token)
	rec := httptest.NewRecorder()
	s.handler.ServeHTTP(rec, req)
	var got struct {
		Total int `json:"totalResults"`
	}
	require.NoError(s.t, json.Unmarshal(rec.Body.Bytes(), &got), rec.Body)
	return got.Total
}

// add creates a user that is not part of a run.
func (s *service) add(name string) {
	s.t.Helper()
	req := httptest.NewRequest(http.MethodPost, "/Users", strings.NewReader(`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],
		"userName":"`+name+`"}`))
	req.Header.Set("Authorization", "Bearer "+s.target.Token)
	req.Header.Set("Content-Type", "application/scim+json")
	rec := httptest.NewRecorder()
	s.handler.ServeHTTP(rec, req)
	require.Equal(s.t, http.StatusCreated, rec.Code, rec.Body)
}

// requireEmpty fails the test if the server has users or groups.
func (s *service) requireEmpty() {
	s.t.Helper()
	require.Zero(s.t, s.count("/Users"))
	require.Zero(s.t, s.count("/Groups"))
}

func options(services ...*service) Options {
	o := Options{Users: MinUsers, Clients: 3, Duration: 20 * time.Millisecond, Timeout: time.Minute}
	for _, s := range services {
		o.Targets = append(o.Targets, s.target)
	}
	return o
}

// notMeasured returns, for each row in which the target was not measured, the reason by the id of the row.
func notMeasured(r *Report, target int) map[string]string {
	reasons := map[string]string{}
	for _, row := range r.Rows {
		if reason := row.Results[target].NotMeasured; reason != "" {
			reasons[row.ID] = reason
		}
	}
	return reasons
}

// TestRun_TwoTargets checks that all rows have numbers, each target receives only its own token, and all objects are removed.
func TestRun_TwoTargets(t *testing.T) {
	a, b := serve(t, "token-a"), serve(t, "token-b")
	report, err := Run(t.Context(), options(a, b))
	require.NoError(t, err)
	require.NoError(t, report.Err())
	require.Len(t, report.Rows, len(rows(options())))
	for _, row := range report.Rows {
		require.Positive(t, row.Ratio, row.Title)
		require.Positive(t, row.Pairs, row.Title)
		for _, result := range row.Results {
			require.Empty(t, result.NotMeasured+result.Note+result.FirstError, row.Title)
			require.Zero(t, result.Errors)
			require.Positive(t, result.PerSecond)
			require.LessOrEqual(t, result.P50, result.P99)
		}
	}
	require.Equal(t, MinUsers, report.Rows[0].Results[1].Requests)
	for i, s := range []*service{a, b} {
		s.requireEmpty()
		require.Equal(t, map[string]bool{"Bearer " + s.target.Token: true}, s.creds)
		require.Equal(t, Cleanup{Created: MinUsers + 3 + 1, Removed: MinUsers + 3 + 1}, report.Targets[i].Cleanup)
	}
}

// TestRun_UnsupportedRows checks that a server with a deviation is measured in the other rows and cleaned up.
func TestRun_UnsupportedRows(t *testing.T) {
	for _, tt := range []struct {
		quirks []string
		rows   map[string]string // id of the row and the start of the reason
	}{
		{[]string{"no-put"}, nil},
		{[]string{"no-discovery", "counts-as-strings", "patch-204", "create-200", "lower-case-resources"}, nil},
		{[]string{"patch-needs-path", "patch-members=50", "no-etag"}, nil},
		{[]string{"members-lost"}, nil},
		{[]string{"no-value-path"}, nil},
		{[]string{"no-groups"}, map[string]string{"group": "POST /Groups: 404 Not Found", "members": "POST /Groups: 404 Not Found"}},
		{[]string{"no-patch"}, map[string]string{"patch": "501", "members": "PATCH with the operation add: 501"}},
		{[]string{"no-filter"}, map[string]string{"userName": "400 Bad Request: "}},
		{[]string{"filter-ignored"}, map[string]string{"userName": "the filter must find 1 user, and the response has 100 resources"}},
		{[]string{"max-page=10"}, map[string]string{
			"page": "the page has 10 of 100 resources", "lastPage": "the page has 10 of 100 resources",
		}},
		{[]string{"total-of-page"}, map[string]string{}},
		{[]string{"members-hidden"}, map[string]string{
			"group": "the response has 0 of 100 members", "members": "a GET of the group does not show the member that a PATCH has added",
		}},
		{[]string{"patch-lost"}, map[string]string{
			"patch":   "the user has not changed after a PATCH that succeeded",
			"members": "a GET of the group does not show the member that a PATCH has added",
		}},
		{[]string{"no-members-replace", "ignores-attribute=displayName"}, map[string]string{
			"patch": "the user has not changed after a PATCH that succeeded", "group": "POST /Groups: 400", "members": "POST /Groups: 400",
		}},
	} {
		t.Run(strings.Join(tt.quirks, " "), func(t *testing.T) {
			s := serve(t, "secret", tt.quirks...)
			report, err := Run(t.Context(), options(s))
			require.NoError(t, err)
			require.NoError(t, report.Err())
			reasons := notMeasured(report, 0)
			require.Len(t, reasons, len(tt.rows), reasons)
			for id, reason := range tt.rows {
				require.True(t, strings.HasPrefix(reasons[id], reason), "%s: %s", id, reasons[id])
			}
			s.requireEmpty()
		})
	}
}

func TestRun_StartIndexIgnored(t *testing.T) {
	s := serve(t, "secret", "start-index-ignored")
	o := options(s)
	o.Users = 2 * page
	report, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"lastPage": "the last page starts with the same user as the first page"}, notMeasured(report, 0))
}

// TestRun_FailingTarget checks that a target without successful requests ends soon and does not affect the other one.
func TestRun_FailingTarget(t *testing.T) {
	good, bad := serve(t, "secret"), serve(t, "secret", "forbidden")
	report, err := Run(t.Context(), options(good, bad))
	require.NoError(t, err)
	require.ErrorContains(t, report.Err(), bad.target.URL+" could not be measured")
	require.NotContains(t, report.Err().Error(), good.target.URL)
	require.Empty(t, notMeasured(report, 0))
	reasons := notMeasured(report, 1)
	require.Len(t, reasons, len(report.Rows))
	require.Contains(t, reasons["create"], "no request of a turn succeeded: 403 Forbidden")
	require.Equal(t, "this row needs 100 users, and 0 were created", reasons["page"])
	require.Zero(t, report.Rows[0].Ratio)
	good.requireEmpty()
}

// TestRun_ErrorsCounted checks that errors of some requests are counted apart from the successful ones.
func TestRun_ErrorsCounted(t *testing.T) {
	s := serve(t, "secret", "error=503,p=0.3,seed=3,method=POST")
	report, err := Run(t.Context(), options(s))
	require.NoError(t, err)
	created := report.Rows[0].Results[0]
	require.Equal(t, MinUsers, created.Requests)
	require.InDelta(t, 30, created.Errors, 25)
	require.Contains(t, created.FirstError, "503 Service Unavailable")
	require.NoError(t, report.Err(), "objects that were not created are not missing")
	s.requireEmpty()
}

// TestRun_LostResponses checks that objects whose creation had no usable response are found by name and removed.
func TestRun_LostResponses(t *testing.T) {
	for _, quirk := range []string{
		"create-empty", "create-without-id", "error-after=500,p=0.3,method=POST", "drop-after,p=0.2,method=POST", "truncated,p=0.2,method=POST",
	} {
		t.Run(quirk, func(t *testing.T) {
			s := serve(t, "secret", quirk)
			report, err := Run(t.Context(), options(s))
			require.NoError(t, err)
			require.Empty(t, report.Targets[0].Cleanup.Remaining)
			require.GreaterOrEqual(t, report.Targets[0].Cleanup.Removed, 3)
			s.requireEmpty()
		})
	}
}

// TestRun_OtherUsersStay checks that cleanup removes no other user, even if the server ignores the filter of the search by name.
func TestRun_OtherUsersStay(t *testing.T) {
	for _, settings := range [][]string{
		{"forbidden"}, {"create-without-id", "filter-ignored"}, {"error=500,p=1,method=POST", "filter-ignored"},
	} {
		s := serve(t, "secret", settings...)
		s.add("keep@example.com")
		report, err := Run(t.Context(), options(s))
		require.NoError(t, err)
		require.Error(t, report.Err())
		require.Equal(t, 1, s.count("/Users?filter="+`userName%20eq%20%22keep@example.com%22`), settings)
	}
}

// TestRun_LeftoversNamed checks the report about a server without DELETE.
func TestRun_LeftoversNamed(t *testing.T) {
	s := serve(t, "secret", "no-delete")
	report, err := Run(t.Context(), options(s))
	require.NoError(t, err)
	require.ErrorContains(t, report.Err(), "104 objects not removed from "+s.target.URL+": the userName or displayName of each "+
		"starts with "+report.Marker)
	cleanup := report.Targets[0].Cleanup
	require.Equal(t, 104, cleanup.Created)
	require.Zero(t, cleanup.Removed)
	require.Len(t, cleanup.Remaining, 104)
	require.Contains(t, cleanup.Remaining[0].Reason, "DELETE: 405 Method Not Allowed")
	stopped := 0
	for _, left := range cleanup.Remaining {
		if left.Reason == "cleanup stopped after 20 consecutive failures" {
			stopped++
		}
		require.True(t, strings.HasPrefix(left.Name, report.Marker), left.Name)
	}
	require.InDelta(t, 104-giveUpAfter, stopped, 3, "each client may be removing one more object")
	require.Contains(t, report.Text(), "and 99 more\n")
	require.Equal(t, 103, s.count("/Users"))
}

// TestRun_CleanupRetries checks that cleanup repeats a DELETE after a temporary error.
func TestRun_CleanupRetries(t *testing.T) {
	s := serve(t, "secret", "error=503,p=1,times=2,method=DELETE")
	report, err := Run(t.Context(), options(s))
	require.NoError(t, err)
	require.NoError(t, report.Err())
	s.requireEmpty()
}

// TestRun_Interrupted checks that a run that is interrupted in a row removes its objects.
func TestRun_Interrupted(t *testing.T) {
	for _, title := range []string{"POST a user", "PATCH a user", "add, remove 1 of its members"} {
		t.Run(title, func(t *testing.T) {
			s := serve(t, "secret", "latency=2ms,p=1")
			ctx, cancel := context.WithCancel(t.Context())
			o := options(s)
			o.Duration = time.Minute
			if title != "POST a user" {
				o.Duration = 20 * time.Millisecond
			}
			o.Progress = func(line string) {
				if line == title {
					time.AfterFunc(10*time.Millisecond, cancel)
				}
			}
			report, err := Run(ctx, o)
			require.NoError(t, err)
			require.True(t, report.Interrupted)
			require.ErrorContains(t, report.Err(), "interrupted")
			require.Len(t, report.Rows, len(rows(o)))
			s.requireEmpty()
		})
	}
}

func TestRun_TimeLimit(t *testing.T) {
	s := serve(t, "secret", "latency=5ms,p=1")
	o := options(s)
	o.Timeout = 100 * time.Millisecond
	report, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.False(t, report.Interrupted)
	require.Equal(t, "the time limit of the run has passed", notMeasured(report, 0)["patch"])
	require.Contains(t, report.Rows[0].Results[0].Note, "stopped early: the time limit of the run has passed")
	s.requireEmpty()
}

// TestRun_UnusableTarget checks that nothing is created if one of the targets rejects the first request.
func TestRun_UnusableTarget(t *testing.T) {
	other := listen(t, "", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"the token is rejected", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"detail":"wrong `+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+`\u001b[31m"}`)
		}, "GET /Users: 401 Unauthorized: wrong (token) [31m"},
		{"another path", http.NotFound, "GET /Users: 404 Not Found"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.target.URL+"/Users", http.StatusTemporaryRedirect)
		}, "redirects are not followed: " + other.target.URL},
		{"no response", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "no response: EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			good, bad := serve(t, "secret"), listen(t, "other-secret", tt.handler)
			_, err := Run(t.Context(), options(good, bad))
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, bad.target.URL)
			require.Equal(t, []string{"GET /Users"}, good.sent)
		})
	}
	require.Empty(t, other.sent, "redirects are not followed")
}

// TestRun_BrokenTarget checks responses that are not SCIM.
func TestRun_BrokenTarget(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"pages": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>Sign in</html>") },
		"null":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "null") },
		"empty": func(http.ResponseWriter, *http.Request) {},
		"500": func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				w.WriteHeader(http.StatusInternalServerError)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := Run(t.Context(), options(listen(t, "", handler)))
			require.NoError(t, err)
			require.Len(t, notMeasured(report, 0), len(report.Rows))
			require.ErrorContains(t, report.Err(), "could not be measured")
			require.NotEmpty(t, report.Text())
		})
	}
}

// TestRun_ProcessMeasured checks the processor time and memory of a target with a process id: here, this process.
func TestRun_ProcessMeasured(t *testing.T) {
	if _, err := process(os.Getpid()).cpu(); err != nil {
		t.Skip("processor times of processes are unavailable on this system: ", err)
	}
	s := serve(t, "secret")
	s.target.PID = os.Getpid()
	o := options(s)
	o.Duration = 200 * time.Millisecond
	report, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.Positive(t, report.Rows[1].Results[0].CPU)
	require.Greater(t, report.Targets[0].Resident, int64(1<<20))
	require.GreaterOrEqual(t, report.Targets[0].Peak, report.Targets[0].Resident)
}

func TestOptions_Check(t *testing.T) {
	valid := func() Options {
		return Options{
			Targets: []Target{{URL: "https://example.com/scim/v2"}}, Users: 100, Clients: 1, Duration: time.Second, Timeout: time.Minute,
		}
	}
	require.NoError(t, valid().Check())
	for want, change := range map[string]func(o *Options){
		"one or two targets":          func(o *Options) { o.Targets = nil },
		"one or two targets are":      func(o *Options) { o.Targets = append(o.Targets, o.Targets[0], o.Targets[0]) },
		"from 100 to 1000000":         func(o *Options) { o.Users = 99 },
		"number of users":             func(o *Options) { o.Users = MaxUsers + 1 },
		"number of clients":           func(o *Options) { o.Clients = 0 },
		"from 1 to 256":               func(o *Options) { o.Clients = MaxClients + 1 },
		"at most 10m":                 func(o *Options) { o.Duration = 11 * time.Minute },
		"must be positive and":        func(o *Options) { o.Duration = 0 },
		"time limit must be positive": func(o *Options) { o.Timeout = 0 },
		"is not a base URL":           func(o *Options) { o.Targets[0].URL = "example.com/scim" },
		"is not a base URL such":      func(o *Options) { o.Targets[0].URL = "ftp://example.com" },
		"credentials do not belong":   func(o *Options) { o.Targets[0].URL = "https://u:p@example.com" },
		"a query or a fragment":       func(o *Options) { o.Targets[0].URL = "https://example.com?x" },
		"contains a line break":       func(o *Options) { o.Targets[0].Token = "x\n" },
		"processor time of process":   func(o *Options) { o.Targets[0].PID = -1 },
	} {
		o := valid()
		change(&o)
		require.ErrorContains(t, o.Check(), want)
		_, err := Run(t.Context(), o)
		require.ErrorContains(t, err, want)
	}
}
