package tokens_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model/modeltest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/signkey"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
	"github.com/scimwright/scimwright/mgmtapi/internal/tokens"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

// hook is a transformer whose response the test sets.
type hook func(calls.TokenContext, calls.Tokens) (calls.Tokens, error)

func (h hook) TransformTokens(_ context.Context, _ string, about calls.TokenContext, tokens calls.Tokens) (calls.Tokens, error) {
	return h(about, tokens)
}

// setUp returns an issuer and a request for a token without a user.
func setUp(t testing.TB, secrets seal.Secrets, h tokens.Transformer) (*tokens.Issuer, tokens.Request) {
	t.Helper()
	now := time.Date(2026, 3, 4, 5, 6, 7, 890_000_000, time.UTC)
	deps := modeltest.Deps(t, sqldbtest.SQLite(t), func() time.Time { return now })
	require.NoError(t, deps.Update(t.Context(), func(tx *docstore.Tx) error {
		if _, err := deps.Orgs.Insert(t.Context(), tx, model.OrgDocument, model.Org{ID: model.NewID(model.KindOrg)}); err != nil {
			return err
		}
		return deps.SetUpDefaultServer(t.Context(), tx)
	}))
	server, err := deps.FindAuthServer(t.Context(), deps.Store.Reader(), model.DefaultServerName)
	require.NoError(t, err)
	server.Value.Policies[0].Rules[0].Hook = "cal1"
	r := tokens.Request{
		Server: server, Issuer: "https://as.example", Grant: model.GrantClientCredentials, Scopes: []string{"s"},
		Client: docstore.Doc[model.App]{ID: "0oa1",
			Value: model.NewOIDCApp("Robot", model.AppOAuthClient{ID: "client"}, model.AppOAuthSettings{})},
	}
	r.Decision, err = tokens.Decide(&r.Server.Value, "client", r.Grant, nil, r.Scopes)
	require.NoError(t, err)
	return tokens.New(deps, tokens.NewKeys(deps, secrets, nil), tokens.Options{Transformer: h}), r
}

func claims(t *testing.T, token string) jwt.MapClaims {
	t.Helper()
	out := jwt.MapClaims{}
	_, _, err := jwt.NewParser().ParseUnverified(token, out)
	require.NoError(t, err)
	return out
}

// TestIssue_SignsHookResult verifies that Issue signs the tokens of the hook, or the original ones if the hook fails.
func TestIssue_SignsHookResult(t *testing.T) {
	var failure error
	issuer, r := setUp(t, seal.Random(), hook(func(about calls.TokenContext, tokens calls.Tokens) (calls.Tokens, error) {
		require.Equal(t, map[string]any{"uri": "https://as.example"}, about.Protocol.(map[string]any)["issuer"])
		require.Equal(t, "client", about.Protocol.(map[string]any)["client"].(map[string]any)["id"])
		require.Nil(t, about.User)
		require.Nil(t, tokens.Identity)
		require.Equal(t, "client", tokens.Access.Claims["sub"])
		require.Equal(t, time.Hour, tokens.Access.Lifetime)
		if failure != nil {
			return tokens, failure
		}
		claims := maps.Clone(tokens.Access.Claims)
		claims["team"] = "red"
		return calls.Tokens{Access: &calls.Token{Claims: claims, Lifetime: 5 * time.Minute}}, nil
	}))
	out, err := issuer.Issue(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, out.HookProblem)
	says := claims(t, out.Access)
	require.Equal(t, "red", says["team"])
	require.Equal(t, says["iat"].(float64)+300, says["exp"])
	require.Equal(t, 300, out.ExpiresIn)

	failure = errors.New("no answer")
	out, err = issuer.Issue(t.Context(), r)
	require.NoError(t, err)
	require.ErrorIs(t, out.HookProblem, failure)
	says = claims(t, out.Access)
	require.NotContains(t, says, "team")
	require.Equal(t, says["iat"].(float64)+3600, says["exp"])
}

func TestKeyRing_RotateIfDue(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name    string
		since   time.Duration // time of the change to automatic rotation after begin; 0 for a ring whose rotation was always automatic
		late    time.Duration
		rotates bool
	}{
		{name: "new", late: 0},
		{name: "last moment", late: model.RotationPeriod - 1},
		{name: "due", late: model.RotationPeriod, rotates: true},
		{name: "long overdue", late: 5 * model.RotationPeriod, rotates: true},
		{name: "period starts later", since: 100 * time.Hour, late: model.RotationPeriod + 99*time.Hour},
		{name: "later period is over", since: 100 * time.Hour, late: model.RotationPeriod + 100*time.Hour, rotates: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ring := model.NewKeyRing(begin)
			if tt.since > 0 {
				ring.Since = begin.Add(tt.since)
			}
			before, now := ring, begin.Add(tt.late)
			require.Equal(t, tt.rotates, ring.RotateIfDue(now))
			if !tt.rotates {
				require.Equal(t, before, ring)
				return
			}
			require.Equal(t, before.Next, ring.Active, "the announced key")
			require.Equal(t, before.Active, ring.Expired)
			require.Equal(t, now, ring.Rotated)
			require.Equal(t, now.Add(model.RotationPeriod), ring.Due())
			require.False(t, ring.RotateIfDue(now), "once")
		})
	}
}

// BenchmarkIssue compares issuing a token with bare signing. The two alternate, so that load on the machine slows down both; of-bare is the
// speed of issuing relative to that of signing, the median of all pairs.
func BenchmarkIssue(b *testing.B) {
	const turn = 10
	secrets := seal.Random()
	issuer, r := setUp(b, secrets, nil)
	key, err := signkey.New(secrets, signkey.Options{})
	require.NoError(b, err)
	signer, err := key.Signer(secrets, (&jose.SignerOptions{}).WithType("JWT"))
	require.NoError(b, err)
	payload := make([]byte, 400)
	timed := func(f func() error) time.Duration {
		begin := time.Now()
		for range turn {
			if err := f(); err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(begin)
	}
	token := func() error { _, err := issuer.Issue(b.Context(), r); return err }
	bare := func() error { _, err := signer.Sign(payload); return err }
	timed(token) // decrypts the key
	var ratios []float64
	for b.Loop() {
		whole, part := timed(token), timed(bare)
		ratios = append(ratios, float64(part)/float64(whole))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "of-bare")
}
