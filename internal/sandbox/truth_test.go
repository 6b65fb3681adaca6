package sandbox_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/mutants"
	"github.com/scimwright/scimwright/conformance/requirements"
	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/sqlstore"
)

const referenceToken = "reference-token"

// The suite tells the truth: it finds nothing in a server that is right, in whichever permitted way it is right, and it finds
// every fault.

// provedElsewhere are checks that ask nothing of a server on this machine, with the test that shows that they can fail.
var provedElsewhere = map[string]string{"auth.tls": "TestATargetThatIsReachedWithoutGoodEncryptionIsReported"}

func TestEveryCheckPassesOnTheReferenceServer(t *testing.T) {
	r := suite(t, newReferenceServer(t))
	for _, c := range r.Checks {
		if provedElsewhere[c.Check.ID] != "" {
			require.Equal(t, conformance.Skip, c.Outcome, c.Check.ID)
			continue
		}
		require.Equal(t, conformance.Pass, c.Outcome, "%s", describe(c))
		require.Equal(t, c.Check.Requests, c.Requests, "%s: Requests is what the check sends", c.Check.ID)
	}
	require.Empty(t, r.Leftovers)
}

func TestNoCheckComplainsAboutWhatIsPermitted(t *testing.T) {
	for _, v := range mutants.Variants() {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			r := suite(t, v.Wrap(newReferenceServer(t)))
			for _, c := range r.Checks {
				require.NotContains(t, []conformance.Outcome{conformance.Fail, conformance.Warn, conformance.Error}, c.Outcome, "%s\n%s", v.Permits, describe(c))
			}
		})
	}
}

// mutantsPerRace is of how many mutants one is run with the race detector, which makes a run ten times as long: what the suite
// and the server do at the same time is the same for all of them.
const mutantsPerRace = 12

func TestEveryMutantIsCaughtAndEveryCheckCatchesOne(t *testing.T) {
	var kills sync.Map // ids of checks
	t.Run("mutants", func(t *testing.T) {
		for i, m := range mutants.All() {
			if raceDetector && i%mutantsPerRace != 0 {
				continue
			}
			t.Run(m.ID, func(t *testing.T) {
				t.Parallel()
				area, _, _ := strings.Cut(m.ID, ".")
				r := suite(t, m.Wrap(newReferenceServer(t)), area)
				caught := false
				for _, c := range r.Checks {
					if noticed(c) {
						caught = true
						kills.Store(c.Check.ID, true)
					}
				}
				require.True(t, caught, "no check of the area %s notices that %s", area, m.Breaks)
			})
		}
	})
	if raceDetector {
		return
	}
	for _, c := range checks.All() {
		_, ok := kills.Load(c.ID)
		ok = ok || testExists(t, "internal/sandbox/"+provedElsewhere[c.ID])
		assert.True(t, ok, "%s catches no mutant: nothing shows that it can fail", c.ID)
	}
}

func TestEveryObjectThatATargetKeepsIsLeftBehindAndNoOther(t *testing.T) {
	for _, m := range mutants.All() {
		switch m.ID {
		case "delete.keeps":
			r := suite(t, m.Wrap(newReferenceServer(t)), "delete")
			require.Len(t, r.Leftovers, 12, "every user that the checks created")
		case "delete.status-200", "delete.name-taken", "delete.still-listed":
			require.Empty(t, suite(t, m.Wrap(newReferenceServer(t)), "delete").Leftovers, m.ID)
		}
	}
}

func TestEveryCheckIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range checks.All() {
		require.False(t, seen[c.ID], "%s occurs twice", c.ID)
		seen[c.ID] = true
		require.Regexp(t, `^[a-z]+\.[a-z0-9]+(-[a-z0-9]+)*$`, c.ID)
		require.NotEmpty(t, c.Title, c.ID)
		require.False(t, strings.HasSuffix(c.Title, "."), "%s: the title has no final stop", c.ID)
		require.NotEmpty(t, c.Why, c.ID)
		require.NotEmpty(t, c.Fix, c.ID)
		require.Equal(t, c.Watch == nil, c.Requests > 0, "%s: what only watches sends nothing", c.ID)
		require.NotEmpty(t, c.Requirements, c.ID)
		for _, id := range c.Requirements {
			_, ok := requirements.Lookup(id)
			require.True(t, ok, "%s cites %s, which is not in the catalogue", c.ID, id)
		}
		principal, _ := requirements.Lookup(c.Requirements[0])
		if strong := principal.Level == requirements.Must || principal.Level == requirements.MustNot; !strong || principal.Basis == "reading" {
			assert.NotEqual(t, conformance.Must, c.Level, "%s is a MUST, but %s is not", c.ID, principal.ID)
		}
	}
}

// noticed tells whether a check has something against the target. Checks of permitted things only ever inform.
func noticed(c conformance.CheckResult) bool {
	return c.Outcome == conformance.Fail || c.Outcome == conformance.Warn || c.Check.Level == conformance.May && c.Outcome == conformance.Info
}

// suite runs the checks, or those of one area, against a handler.
func suite(t *testing.T, h http.Handler, only ...string) *conformance.Result {
	t.Helper()
	selected, err := conformance.Selection{Only: only}.Apply(checks.All())
	require.NoError(t, err)
	target := conformance.Target{URL: "http://127.0.0.1/scim/v2", Token: referenceToken, Transport: inProcess{h}}
	r, err := conformance.Run(t.Context(), target, conformance.Options{Checks: selected})
	require.NoError(t, err)
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

// inProcess carries requests to a handler without a network.
type inProcess struct{ handler http.Handler }

func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	recorder := httptest.NewRecorder()
	t.handler.ServeHTTP(recorder, in)
	return recorder.Result(), nil
}

// ownedTokens makes every token one user's, who is what /Me stands for.
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

// newReferenceServer returns our own service provider. Its one user is the one that the token belongs to. Beside users and
// groups it serves devices, a type with every characteristic and every data type.
func newReferenceServer(t *testing.T) http.Handler {
	t.Helper()
	types, err := schema.Load(os.DirFS(filepath.Join("testdata", "referencetypes")))
	require.NoError(t, err)
	layout := sqlstore.NewLayout("scim", types...)
	docs, err := docstore.Open(t.Context(), sqldbtest.SQLite(t), time.Now, layout.Tables()...)
	require.NoError(t, err)
	owner := &ownedTokens{TokenVerifier: scimserver.StaticTokens(referenceToken)}
	h, err := scimserver.New(scimserver.Options{
		Store: sqlstore.New(docs, layout), Types: types, Tokens: owner, Prefix: "/scim/v2", PasswordCost: 4,
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
