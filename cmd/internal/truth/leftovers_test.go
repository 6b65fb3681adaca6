package truth_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/truth/mutants"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/goldentest"
)

// severed passes requests to a handler. If the handler panics with http.ErrAbortHandler, the client gets no response.
type severed struct{ handler http.Handler }

func (s severed) RoundTrip(r *http.Request) (res *http.Response, err error) {
	defer func() {
		if recover() != nil {
			res, err = nil, io.ErrUnexpectedEOF
		}
	}()
	return inProcess{s.handler}.RoundTrip(r)
}

// A fault of the server in TestLeftovers_UnsteadyServers handles a request, and reports whether the request has been handled.
type serverFault func(w http.ResponseWriter, r *http.Request, next http.Handler) bool

// rejects returns a fault that rejects the requests that match.
func rejects(matches func(*http.Request) bool, status int) serverFault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if !matches(r) {
			return false
		}
		w.WriteHeader(status)
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

// keeps returns 204 and does nothing.
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

// TestLeftovers_DELETERejected checks that at most five objects remain on a server that deletes none, and that the report names the fault.
func TestLeftovers_DELETERejected(t *testing.T) {
	t.Parallel()
	groups := func(r *http.Request) bool { return deletes(r) && strings.Contains(r.URL.Path, "/Groups/") }
	servers := []struct {
		name    string
		reports string // the check that reports the fault
		faults  []serverFault
	}{
		{"DELETE returns 405", "delete.status", []serverFault{rejects(deletes, 405)}},
		{"DELETE returns 204 and keeps the object", "delete.gone",
			[]serverFault{func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
				return deletes(r) && keeps(w, r, next)
			}}},
		{"DELETE returns 403", "delete.status", []serverFault{rejects(deletes, 403)}},
		{"DELETE returns 500", "delete.status", []serverFault{rejects(deletes, 500)}},
		{"DELETE returns 404", "delete.status", []serverFault{rejects(deletes, 404)}},
		{"DELETE of groups returns 405", "groups.delete", []serverFault{rejects(groups, 405)}},
		{"DELETE has no response", "", []serverFault{func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			if deletes(r) {
				panic(http.ErrAbortHandler)
			}
			return false
		}}},
		{"DELETE returns 405, and POST returns 500 after the write", "", []serverFault{rejects(deletes, 405), everyNth(1, creates, fails)}},
		{"DELETE returns 405, and duplicates are stored", "delete.status",
			[]serverFault{rejects(deletes, 405), behind(t, "create.duplicates")}},
		{"DELETE returns 405, and users without a name are stored", "delete.status",
			[]serverFault{rejects(deletes, 405), behind(t, "create.nameless")}},
		{"DELETE returns 405, and PUT returns 501", "delete.status", []serverFault{rejects(deletes, 405),
			rejects(func(r *http.Request) bool { return r.Method == http.MethodPut }, 501)}},
	}
	for _, server := range servers {
		for name, clients := range map[string][]conformance.Profile{"rfc": nil, "rfc and all clients": profiles.All()} {
			t.Run(server.name+", "+name, func(t *testing.T) {
				t.Parallel()
				left, r := remaining(t, conformance.Options{Checks: checks.All(), Profiles: clients}, server.faults...)
				require.NotEmpty(t, left)
				require.LessOrEqual(t, len(left), maxRemaining, slices.Sorted(maps.Keys(left)))
				t.Log(r.Verdict, r.Reason, r.Cautions, r.Requests, r.Duration)
				for _, l := range r.Leftovers {
					t.Log(l)
				}
				for _, v := range r.Profiles {
					t.Log(v.Profile, v.ClientFlow, v.Compatibility, v.Step, v.Why, v.Limits)
				}
				counts := map[conformance.Outcome]int{}
				for _, c := range r.Checks {
					counts[c.Outcome]++
					if complains(c) {
						t.Log(describe(c))
					}
				}
				t.Log(counts)
			})
		}
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
