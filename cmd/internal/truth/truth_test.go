package truth_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/truth/mutants"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/requirements"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/scimstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
)

const referenceToken = "reference-token"

// provedElsewhere maps checks that are skipped for a server on the same machine to the test that shows that they can fail.
var provedElsewhere = map[string]string{"auth.tls": "TestSuite_ReportsWeakTLS"}

// A run tests every n-th mutant and variant: n is mutantsPerRace with the race detector, else mutantsPerTest. The race detector makes a run
// ten times as long, and a subset suffices, because no mutant adds concurrent code. With SCIMWRIGHT_TEST_ALL, which make test-all and
// .ci/run set, a run without the race detector tests all mutants and variants and takes minutes.
const (
	mutantsPerRace = 40
	mutantsPerTest = 40
)

// omitted reports whether this run omits the i-th mutant or variant.
func omitted(i int) bool {
	switch {
	case raceDetector:
		return i%mutantsPerRace != 0
	default:
		return !alltest.All() && i%mutantsPerTest != 0
	}
}

// All checks pass on the reference server, no check complains about a variant, every mutant is detected, and every check detects a mutant.
// docs/generated/kill-matrix.md shows the results.
func TestSuite_KillMatrix(t *testing.T) {
	m := newKillMatrix()
	t.Run("every check passes on the reference server", func(t *testing.T) {
		r := suiteAndCompare(t, func(h http.Handler) http.Handler { return h })
		for _, c := range r.Checks {
			if provedElsewhere[c.Check.ID] != "" {
				require.Equal(t, conformance.Skip, c.Outcome, c.Check.ID)
				continue
			}
			assert.Equal(t, conformance.Pass, c.Outcome, "%s", describe(c))
			assert.Equal(t, c.Check.Requests, c.Requests, "%s: Requests is the number of requests that the check sends", c.Check.ID)
		}
		require.Empty(t, r.Leftovers)
		m.control = r
	})
	t.Run("no check complains about a variant", func(t *testing.T) {
		for i, v := range mutants.Variants() {
			if omitted(i) {
				continue
			}
			t.Run(v.ID, func(t *testing.T) {
				t.Parallel()
				r := suiteAndCompare(t, v.Wrap)
				for _, c := range r.Checks {
					assert.False(t, complains(c), "%s\n%s", v.Permits, describe(c))
				}
				m.tolerated(v, r)
			})
		}
	})
	t.Run("every mutant is detected by a check of its area", func(t *testing.T) {
		for i, mutant := range mutants.All() {
			if omitted(i) {
				continue
			}
			t.Run(mutant.ID, func(t *testing.T) {
				t.Parallel()
				r := suiteAndCompare(t, mutant.Wrap, areaOf(mutant.ID))
				require.True(t, slices.ContainsFunc(r.Checks, noticed), "no check of the area %s detects the fault: %s", areaOf(mutant.ID),
					mutant.Breaks)
				m.killed(mutant, r)
			})
		}
	})
	if !m.complete() {
		return // the matrix is incomplete: only a part was run, or a test failed
	}
	for _, c := range checks.All() {
		proved := len(m.victims(c.ID)) > 0 || declared(t, provedElsewhere[c.ID])
		assert.True(t, proved, "%s detects no mutant: no proof that the check can fail", c.ID)
	}
	m.compare(t, filepath.Join(repository, "docs", "generated", "kill-matrix.md"))
}

// TestSuite_ReportsUndeletedObjects checks that the suite reports as leftovers exactly the objects that a mutant does not delete.
func TestSuite_ReportsUndeletedObjects(t *testing.T) {
	t.Parallel()
	deleting, err := conformance.Selection{Only: []string{"delete"}}.Apply(checks.All())
	require.NoError(t, err)
	for _, m := range mutants.All() {
		switch m.ID {
		case "delete.keeps":
			left, _ := remaining(t, conformance.Options{Checks: deleting, KeepGoing: true}, behind(t, m.ID))
			require.Len(t, left, 12+3+6+1, "every user of the checks, of the measurement of the steadiness, of repeated checks and of the survey")
			left, _ = remaining(t, conformance.Options{Checks: deleting}, behind(t, m.ID))
			require.Len(t, left, 3, "the probe, and the users of the checks of the effect")
		case "delete.status-200", "delete.name-taken", "delete.still-listed":
			require.Empty(t, suite(t, m.Wrap(newReferenceServer(t)), "delete").Leftovers, m.ID)
		}
	}
}

func TestChecks_Complete(t *testing.T) {
	proved, err := os.ReadFile(filepath.Join(repository, "docs", "generated", "kill-matrix.md"))
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, c := range checks.All() {
		if !strings.Contains(string(proved), "| `"+c.ID+"` |") {
			t.Errorf("%s is not in docs/generated/kill-matrix.md: add a mutant of its area to cmd/internal/truth/mutants, then run "+
				"SCIMWRIGHT_TEST_ALL=1 go test ./cmd/internal/truth -run TestSuite_KillMatrix -update", c.ID)
		}
		require.False(t, seen[c.ID], "%s occurs twice", c.ID)
		seen[c.ID] = true
		require.Regexp(t, `^[a-z]+\.[a-z0-9]+(-[a-z0-9]+)*$`, c.ID, "an id is AREA.NAME in lower case")
		require.NotEmpty(t, c.Title, "%s: set Title", c.ID)
		require.False(t, strings.HasSuffix(c.Title, "."), "%s: the title ends with a full stop", c.ID)
		require.NotEmpty(t, c.Why, "%s: set Why, the reason for the rule", c.ID)
		require.NotEmpty(t, c.Fix, "%s: set Fix, what a developer of a server has to change", c.ID)
		require.Equal(t, c.Watch == nil, c.Requests > 0, "%s: set either Requests, the number of requests, or Watch", c.ID)
		require.NotEmpty(t, c.Requirements, "%s: set Requirements, the clauses that the check tests", c.ID)
		for _, id := range c.Requirements {
			_, ok := requirements.Lookup(id)
			require.True(t, ok, "%s cites %s, which is not in conformance/requirements/catalog.json", c.ID, id)
		}
		principal, _ := requirements.Lookup(c.Requirements[0])
		if strong := principal.Level == requirements.Must || principal.Level == requirements.MustNot; !strong || principal.Basis == "reading" {
			assert.NotEqual(t, conformance.Must, c.Level, "%s has the level must, but its first clause %s is not a MUST of the text: "+
				"lower Level, or cite another clause first", c.ID, principal.ID)
		}
	}
}

// complains reports whether a check has a finding that blames the target, or an error.
func complains(c conformance.CheckResult) bool {
	return slices.Contains([]conformance.Outcome{conformance.Fail, conformance.Warn, conformance.Error}, c.Outcome)
}

// declared reports whether a file of this package declares the test.
func declared(t *testing.T, test string) bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		return test != "" && strings.Contains(string(source), "\nfunc "+test+"(t *testing.T) {\n")
	})
}

func areaOf(id string) string {
	area, _, _ := strings.Cut(id, ".")
	return area
}

// noticed reports whether a check detects a fault. A check with level MAY only informs.
func noticed(c conformance.CheckResult) bool {
	return c.Outcome == conformance.Fail || c.Outcome == conformance.Warn || c.Check.Level == conformance.May && c.Outcome == conformance.Info
}

// suite runs all checks, or the selected ones, against a handler.
func suite(t *testing.T, h http.Handler, only ...string) *conformance.Result {
	t.Helper()
	selected, err := conformance.Selection{Only: only}.Apply(checks.All())
	require.NoError(t, err)
	target := conformance.Target{URL: "http://127.0.0.1/scim/v2", Token: referenceToken, Transport: inProcess{h}}
	r, err := conformance.Run(t.Context(), target, conformance.Options{Checks: selected, Order: checks.Order()})
	require.NoError(t, err)
	requireFormatted(t, r)
	return r
}

// TestSuite_FormatsReasons checks the reasons about operations without a path; suite checks the texts of all other runs.
func TestSuite_FormatsReasons(t *testing.T) {
	t.Parallel()
	r := suite(t, withQuirk(t, newReferenceServer(t), "patch-needs-path"), "patch", "groups")
	require.True(t, slices.ContainsFunc(r.Checks, func(c conformance.CheckResult) bool {
		return strings.Contains(c.Reason, "replace without a path")
	}))
}

// requireFormatted checks that no text of a result has an error of package fmt, such as "%!s(<nil>)", and that the expected and the actual
// values fit into a headline.
func requireFormatted(t *testing.T, r *conformance.Result) {
	t.Helper()
	texts := slices.Concat([]string{r.Reason}, r.Cautions)
	for c := range r.All() {
		texts = append(append(texts, c.Reason), c.Notes...)
		for _, f := range c.Findings {
			texts = append(texts, f.What, f.Want, f.Got)
			require.False(t, strings.HasPrefix(f.Want, "without ") || strings.HasPrefix(f.Got, "without "),
				"%s: a headline says: %s instead of %s", c.Check.ID, f.Got, f.Want)
		}
	}
	for _, text := range texts {
		require.NotRegexp(t, `%!\w?\(`, text)
	}
}

// suiteAndCompare runs suite on the reference server with a fault or a variant. After the run, the server has the same objects as before,
// and the reported leftovers.
func suiteAndCompare(t *testing.T, wrap func(http.Handler) http.Handler, only ...string) *conformance.Result {
	t.Helper()
	reference := newReferenceServer(t)
	before := holdings(reference)
	r := suite(t, wrap(reference), only...)
	after := holdings(reference)
	for id := range before {
		assert.Contains(t, after, id, "the run deleted an object of another client")
	}
	for id, name := range after {
		told := slices.ContainsFunc(r.Leftovers, func(l conformance.Leftover) bool { return strings.HasSuffix(l.Path, "/"+id) || l.Name == name })
		assert.True(t, before[id] != "" || told, "%s %s is an unreported leftover", id, name)
	}
	return r
}

func describe(c conformance.CheckResult) string {
	var b strings.Builder
	b.WriteString(string(c.Outcome) + " " + c.Check.ID + " " + c.Reason)
	for _, f := range c.Findings {
		b.WriteString("\n  " + f.What + ": want " + f.Want + ", got " + f.Got)
	}
	return b.String()
}

// inProcess passes requests to a handler without a network. A handler that panics with http.ErrAbortHandler is a closed connection, as in
// net/http.
type inProcess struct{ handler http.Handler }

func (t inProcess) RoundTrip(r *http.Request) (res *http.Response, err error) {
	defer func() {
		v := recover()
		if failure, ok := v.(error); ok && errors.Is(failure, http.ErrAbortHandler) {
			res, err = nil, io.ErrUnexpectedEOF
		} else if v != nil {
			panic(v)
		}
	}()
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	recorder := httptest.NewRecorder()
	t.handler.ServeHTTP(recorder, in)
	return recorder.Result(), nil
}

// ownedTokens assigns every token to one user, who is the resource of /Me.
type ownedTokens struct {
	scimserver.TokenVerifier
	user string
}

func (o *ownedTokens) VerifyToken(ctx context.Context, token string) (scimserver.Grant, error) {
	grant, err := o.TokenVerifier.VerifyToken(ctx, token)
	if o.user != "" {
		grant.Subject = scimserver.Subject{Type: "User", ID: o.user}
	}
	return grant, err
}

// risingClock returns a clock that never returns the same millisecond twice, so that two writes always have different timestamps.
func risingClock() func() time.Time {
	var mu sync.Mutex
	var last time.Time
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now().Truncate(time.Millisecond); now.After(last) {
			last = now
		} else {
			last = last.Add(time.Millisecond)
		}
		return last
	}
}

// newReferenceServer returns the service provider of this module. Its only user is the owner of the token. In addition to users and
// groups it serves devices, a type with every characteristic and every data type.
func newReferenceServer(t *testing.T) http.Handler {
	t.Helper()
	types, err := schema.Load(os.DirFS(filepath.Join("testdata", "referencetypes")))
	require.NoError(t, err)
	layout := scimstore.NewLayout("scim", types...)
	docs, err := docstore.Open(t.Context(), sqldbtest.SQLite(t), risingClock(), layout.Tables()...)
	require.NoError(t, err)
	owner := &ownedTokens{TokenVerifier: scimserver.StaticTokens(referenceToken)}
	h, err := scimserver.New(scimserver.Options{
		Store: scimstore.New(docs, layout), Types: types, Tokens: owner, Prefix: "/scim/v2", PasswordCost: 4,
		Limits: scimserver.Limits{MaxBulkOperations: 50, MaxBulkPayload: 64 << 10},
	})
	require.NoError(t, err)
	body := `{"schemas":["` + scim.UserSchema + `"],"userName":"owner@example.com","password":"Owner-of-the-token-1"}`
	r := httptest.NewRequest(http.MethodPost, "/scim/v2/Users", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+referenceToken)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, http.StatusCreated, w.Code, w.Body.String())
	created, err := scim.Decode(w.Body.Bytes())
	require.NoError(t, err)
	owner.user = created.Text("id")
	return h
}
