package truth_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/cli/conform"
	"github.com/scimwright/scimwright/cmd/internal/truth/mutants"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/goldentest"
	"github.com/scimwright/scimwright/scim"
)

// severed passes requests to a handler. If the handler panics with http.ErrAbortHandler, the client gets no response.
type severed struct{ handler http.Handler }

func (s severed) RoundTrip(r *http.Request) (res *http.Response, err error) {
	defer func() {
		if recover() != nil {
			res, err = nil, io.ErrUnexpectedEOF
		}
	}()
	return inProcess(s).RoundTrip(r)
}

// A serverFault is a fault of the server in TestLeftovers_UnsteadyServers. It handles a request and returns true, or it returns false, so
// that the next fault or the server handles the request.
type serverFault func(w http.ResponseWriter, r *http.Request, next http.Handler) bool

// rejects returns a fault that rejects the requests that match.
func rejects(matches func(*http.Request) bool, status int) serverFault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if !matches(r) {
			return false
		}
		w.Header().Set("Content-Type", scim.MediaType)
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"%d"}`, status)
		return true
	}
}

// everyNth returns a fault that applies to every n-th request that matches.
func everyNth(n int64, matches func(*http.Request) bool, fault serverFault) serverFault {
	var count atomic.Int64
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		return matches(r) && count.Add(1)%n == 0 && fault(w, r, next)
	}
}

// drops executes the request and closes the connection without a response.
func drops(_ http.ResponseWriter, r *http.Request, next http.Handler) bool {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// fails executes the request and returns 500.
func fails(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	next.ServeHTTP(httptest.NewRecorder(), r)
	w.WriteHeader(http.StatusInternalServerError)
	return true
}

// behind returns a fault that puts a mutant in front of the server.
func behind(t *testing.T, mutant string) serverFault {
	t.Helper()
	i := slices.IndexFunc(mutants.All(), func(m mutants.Mutant) bool { return m.ID == mutant })
	require.NotEqual(t, -1, i, mutant)
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		mutants.All()[i].Wrap(next).ServeHTTP(w, r)
		return true
	}
}

// keeps returns 204 for a resource that exists, and does not pass the request to the server.
func keeps(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	recorder := httptest.NewRecorder()
	read := r.Clone(r.Context())
	read.Method = http.MethodGet
	if next.ServeHTTP(recorder, read); recorder.Code != http.StatusOK {
		return false
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

func deletes(r *http.Request) bool { return r.Method == http.MethodDelete }
func creates(r *http.Request) bool {
	return r.Method == http.MethodPost && slices.Contains([]string{"Users", "Groups", "Devices"}, path.Base(r.URL.Path))
}
func filters(r *http.Request) bool { return r.URL.Query().Has("filter") }

// remaining runs the suite with the faults in front of the reference server. It checks that the leftovers that the result names are exactly
// the objects that the run left on the server, and returns them with the result.
func remaining(t *testing.T, opts conformance.Options, faults ...serverFault) (map[string]string, *conformance.Result) {
	t.Helper()
	reference := newReferenceServer(t)
	before := contents(t, reference)
	front := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, fault := range faults {
			if fault(w, r, reference) {
				return
			}
		}
		reference.ServeHTTP(w, r)
	})
	target := conformance.Target{URL: "http://127.0.0.1/scim/v2", Token: referenceToken, Transport: severed{front}}
	opts.MaxRequests = 20000
	opts.Journal = filepath.Join(t.TempDir(), "run.journal")
	r, err := conformance.Run(t.Context(), target, opts)
	require.NoError(t, err)
	after := contents(t, reference)
	maps.DeleteFunc(after, func(path, _ string) bool { return before[path] != "" })
	named := map[string]bool{}
	for _, l := range r.Leftovers {
		named[l.Path] = true
		assert.NotEmpty(t, l.Name, "%s is named", l.Path)
		assert.NotEmpty(t, l.Reason)
	}
	for path := range after {
		assert.True(t, named[path], "%s is an unreported leftover: %s", path, after[path])
	}
	assert.Len(t, named, len(after), "every reported leftover exists: %v", r.Leftovers)
	if len(after) == 0 {
		assert.NoFileExists(t, opts.Journal)
	} else {
		assert.Equal(t, opts.Journal, r.Journal)
	}
	return after, r
}

// TestLeftovers_UnsteadyServers checks that nothing remains on servers that delete, whatever else fails.
func TestLeftovers_UnsteadyServers(t *testing.T) {
	t.Parallel()
	servers := []struct {
		name   string
		faults []serverFault
	}{
		{"every third DELETE fails with 500", []serverFault{everyNth(3, deletes, rejects(deletes, 500))}},
		{"every tenth POST has no response", []serverFault{everyNth(10, creates, drops)}},
		{"no filters, and every tenth POST has no response",
			[]serverFault{rejects(filters, 404), everyNth(10, creates, drops)}},
		{"filters are ignored, and every tenth POST has no response", []serverFault{
			func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
				if filters(r) {
					query := r.URL.Query()
					query.Del("filter")
					r.URL.RawQuery = query.Encode()
				}
				return false
			}, everyNth(10, creates, drops)}},
		{"every fifth DELETE has no response", []serverFault{everyNth(5, deletes, drops)}},
		{"every fourth DELETE is a conflict", []serverFault{everyNth(4, deletes, rejects(deletes, 409))}},
		{"every tenth request fails with 500",
			[]serverFault{everyNth(10, func(*http.Request) bool { return true }, rejects(func(*http.Request) bool { return true }, 500))}},
		{"every tenth POST fails with 500 after the write", []serverFault{everyNth(10, creates,
			fails)}},
	}
	for _, server := range alltest.Sample(servers, 2) {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			left, r := remaining(t, conformance.Options{Checks: checks.All(), Profiles: profiles.All()}, server.faults...)
			require.Empty(t, left)
			ran := 0
			for _, c := range r.Checks {
				if c.Requests > 0 {
					ran++
				}
			}
			require.Greater(t, ran, len(checks.All())/2, "the run was complete: %s", r.Reason)
		})
	}
}

// maxRemaining is the maximum number of objects that remain on a server that deletes none.
const maxRemaining = 5

// TestLeftovers_DELETERejected checks that at most five objects remain on a server that deletes none, that the report contains no false
// violation, and that the client flows have a verdict.
func TestLeftovers_DELETERejected(t *testing.T) {
	t.Parallel()
	groups := func(r *http.Request) bool { return deletes(r) && strings.Contains(r.URL.Path, "/Groups/") }
	anyVerdict := []conformance.Compatibility{conformance.Works, conformance.WorksWithLimits, conformance.Breaks,
		conformance.UnknownCompatibility}
	works := anyVerdict[:2]
	rejected := []string{"delete.status", "delete.group-status", "traffic.allow"} // traffic.allow: the 405 has no Allow header
	servers := []struct {
		name    string
		faults  []serverFault
		fails   []string // the checks of the RFCs that fail
		clients []conformance.Compatibility
	}{
		{"DELETE returns 405", []serverFault{rejects(deletes, 405)}, rejected, works},
		{"DELETE of groups returns 405", []serverFault{rejects(groups, 405)}, rejected[1:], works},
		{"DELETE returns 204 and keeps the object",
			[]serverFault{func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
				return deletes(r) && keeps(w, r, next)
			}},
			[]string{"delete.gone"}, works},
		{"DELETE returns 403", []serverFault{rejects(deletes, 403)}, rejected[:2], works},
		{"DELETE returns 404", []serverFault{rejects(deletes, 404)}, rejected[:2], works},
		{"DELETE returns 500", []serverFault{rejects(deletes, 500)}, rejected[:2], works},
		{"DELETE has no response", []serverFault{func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			if deletes(r) {
				panic(http.ErrAbortHandler)
			}
			return false
		}}, nil, anyVerdict},
		{"DELETE returns 405, and POST returns 500 after the write",
			[]serverFault{rejects(deletes, 405), everyNth(1, creates, fails)}, nil, anyVerdict},
		{"DELETE returns 405, and duplicates are stored",
			[]serverFault{rejects(deletes, 405), behind(t, "create.duplicates")}, rejected, anyVerdict[1:]},
		{"DELETE returns 405, and users without a name are stored",
			[]serverFault{rejects(deletes, 405), behind(t, "create.nameless")}, append([]string{"create.missing-user-name"}, rejected...), works},
		{"DELETE returns 405, and PUT returns 501", []serverFault{rejects(deletes, 405),
			rejects(func(r *http.Request) bool { return r.Method == http.MethodPut }, 501)}, rejected, anyVerdict[2:]},
	}
	for _, server := range alltest.Sample(servers, 2) {
		for name, clients := range map[string][]conformance.Profile{"rfc": nil, "rfc and all clients": profiles.All()} {
			t.Run(server.name+", "+name, func(t *testing.T) {
				t.Parallel()
				left, r := remaining(t, conformance.Options{Checks: checks.All(), Profiles: clients}, server.faults...)
				require.NotEmpty(t, left)
				require.LessOrEqual(t, len(left), maxRemaining, "%v", slices.Sorted(maps.Keys(left)))
				require.NotEqual(t, conformance.Clean, r.Verdict)
				require.Contains(t, strings.Join(r.Cautions, "\n"), "--keep-going runs these checks")
				var failed []string
				for _, c := range r.Checks {
					if c.Outcome == conformance.Fail {
						failed = append(failed, c.Check.ID)
					}
				}
				if server.fails != nil {
					require.ElementsMatch(t, server.fails, failed)
				}
				for _, v := range r.Profiles {
					require.Contains(t, server.clients, v.Compatibility, "%+v", v)
				}
			})
		}
	}
}

// TestLeftovers_KeepGoing checks that Options.KeepGoing runs the checks that create objects, and that the result names all of them.
func TestLeftovers_KeepGoing(t *testing.T) {
	t.Parallel()
	selected, err := conformance.Selection{Only: []string{"delete"}}.Apply(checks.All())
	require.NoError(t, err)
	left, r := remaining(t, conformance.Options{Checks: selected, KeepGoing: true}, rejects(deletes, 405))
	require.Greater(t, len(left), maxRemaining)
	for _, c := range r.Checks {
		require.NotContains(t, c.Reason, "--keep-going")
	}
}

// TestChecks_CreateNothing checks that the listed checks, and no others, create no object on the reference server.
func TestChecks_CreateNothing(t *testing.T) {
	t.Parallel()
	journal := filepath.Join(t.TempDir(), "run.journal")
	created := func() int {
		data, err := os.ReadFile(journal)
		if err != nil {
			return 0 // not created yet
		}
		return strings.Count(string(data), `"op":"created"`)
	}
	var nothing []string
	last := 0
	target := conformance.Target{URL: "http://127.0.0.1/scim/v2", Token: referenceToken, Transport: inProcess{newReferenceServer(t)}}
	_, err := conformance.Run(t.Context(), target, conformance.Options{Checks: checks.All(), Journal: journal, KeepGoing: true,
		Progress: func(_, _ int, r conformance.CheckResult) {
			now := created()
			writes := slices.Contains(r.Check.Needs, conformance.NeedWrite)
			if writes && r.Check.Fixture == nil && r.Outcome != conformance.Skip && now == last {
				nothing = append(nothing, r.Check.ID)
			}
			last = now
		}})
	require.NoError(t, err)
	slices.Sort(nothing)
	goldentest.Check(t, filepath.Join(repository, "conformance", "checks", "createsnothing.txt"), strings.Join(nothing, "\n")+"\n")
	require.Greater(t, len(nothing), 50)
}

// TestCommand_NamesRemainingObjects checks that the text report names the objects that remain, their journal and the flag, and that the
// command cleanup removes the objects later.
func TestCommand_NamesRemainingObjects(t *testing.T) {
	t.Parallel()
	reference := newReferenceServer(t)
	before := contents(t, reference)
	var rejecting atomic.Bool
	rejecting.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !rejecting.Load() || !deletes(r) {
			reference.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
	}))
	t.Cleanup(server.Close)
	command := func(args ...string) (int, string) {
		var out, errOut bytes.Buffer
		code := conform.Run(t.Context(), "scim-conformance", append(args, "--token", referenceToken), &out, &errOut,
			func(string) (string, bool) { return "", false })
		return code, out.String() + errOut.String()
	}
	journal := filepath.Join(t.TempDir(), "run.journal")
	code, text := command("run", server.URL+"/scim/v2", "--profile", "rfc,okta", "--journal", journal)
	require.Equal(t, conform.ExitFindings, code, text)
	after := contents(t, reference)
	maps.DeleteFunc(after, func(path, _ string) bool { return before[path] != "" })
	require.LessOrEqual(t, len(after), maxRemaining)
	for path := range after {
		require.Contains(t, text, "leftover: "+path)
	}
	require.Contains(t, text, "an unlinked group remains on the target", "the client flow has a verdict")
	require.NotContains(t, text, "no object that the client flows share is left")
	oneLine := strings.Join(strings.Fields(strings.ReplaceAll(text, "\\\n", "")), " ")
	require.Contains(t, oneLine, "Remove the leftovers with: scim-conformance cleanup "+journal+" --token")
	require.Contains(t, strings.Join(strings.Fields(text), " "), "--keep-going runs these checks")

	code, text = command("cleanup", journal)
	require.Equal(t, conform.ExitUntested, code, text)
	require.Contains(t, text, "remaining "+strconv.Itoa(len(after))+".")
	require.FileExists(t, journal)

	rejecting.Store(false)
	code, text = command("cleanup", journal)
	require.Equal(t, conform.ExitClean, code, text)
	require.Contains(t, text, "removed "+strconv.Itoa(len(after))+", absent already 0, remaining 0.")
	require.NoFileExists(t, journal)
	require.Equal(t, before, contents(t, reference))
}
