package issue_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/apitest"
	"github.com/scimwright/scimwright/mgmtapi/issue"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/seal"
	"github.com/scimwright/scimwright/mgmtapi/signkey"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

// hook answers what a test wants.
type hook func(issue.Draft) ([]issue.Command, error)

func (h hook) Transform(_ context.Context, _ string, d issue.Draft) ([]issue.Command, error) {
	return h(d)
}

// setUp returns what makes tokens, and a request for one without a user.
func setUp(t testing.TB, secrets seal.Secrets, h issue.Transformer) (*issue.Issuer, issue.Request) {
	t.Helper()
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	deps := model.Deps{Model: e.Model, Store: e.Store, Feed: model.NewFeed(e.Store), Now: e.Clock.Now}
	server, err := deps.FindAuthServer(t.Context(), e.Store.Reader(), model.DefaultServerName)
	require.NoError(t, err)
	server.Value.Policies[0].Rules[0].Hook = "cal1"
	r := issue.Request{
		Server: server, Issuer: "https://as.example", Grant: model.GrantClientCredentials, Scopes: []string{"s"},
		Client: docstore.Doc[model.App]{ID: "0oa1", Value: model.NewOIDCApp("Robot", model.AppOAuthClient{ID: "client"}, model.AppOAuthSettings{})},
	}
	r.Decision, err = issue.Decide(&r.Server.Value, "client", r.Grant, nil, r.Scopes)
	require.NoError(t, err)
	return issue.New(deps, issue.NewKeys(deps, secrets), issue.Options{Transformer: h}), r
}

func claims(t *testing.T, token string) jwt.MapClaims {
	t.Helper()
	out := jwt.MapClaims{}
	_, _, err := jwt.NewParser().ParseUnverified(token, out)
	require.NoError(t, err)
	return out
}

func TestAHookChangesWhatItMay(t *testing.T) {
	var commands []issue.Command
	var failure error
	var told issue.Draft
	issuer, r := setUp(t, seal.Random(), hook(func(d issue.Draft) ([]issue.Command, error) {
		told = d
		return commands, failure
	}))
	patch := func(patches ...issue.Patch) []issue.Command {
		return []issue.Command{{Type: issue.PatchAccess, Value: patches}}
	}
	commands = patch(
		issue.Patch{Op: "add", Path: "/claims/team", Value: "red"},
		issue.Patch{Op: "add", Path: "/claims/a~1b", Value: map[string]any{"x": 1}},
		issue.Patch{Op: "add", Path: "/claims/a~1b/y", Value: 2},
		issue.Patch{Op: "replace", Path: "/claims/sub", Value: "somebody"},
		issue.Patch{Op: "replace", Path: "/token/lifetime/expiration", Value: 300},
	)
	out, err := issuer.Issue(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, out.HookProblem)
	require.Equal(t, "client", told.Access.Claims["sub"])
	require.Equal(t, 3600, told.Access.Lifetime)
	require.Nil(t, told.Identity)
	says := claims(t, out.Access)
	require.Equal(t, "red", says["team"])
	require.Equal(t, map[string]any{"x": 1.0, "y": 2.0}, says["a/b"])
	require.Equal(t, "somebody", says["sub"])
	require.Equal(t, says["iat"].(float64)+300, says["exp"])
	require.Equal(t, 300, out.ExpiresIn)

	add := issue.Patch{Op: "add", Path: "/claims/team", Value: "red"}
	for name, bad := range map[string][]issue.Command{
		"a claim of the server":   patch(add, issue.Patch{Op: "replace", Path: "/claims/iss", Value: "https://evil.example"}),
		"the scopes":              patch(add, issue.Patch{Op: "add", Path: "/claims/scp", Value: []any{"all"}}),
		"below such a claim":      patch(add, issue.Patch{Op: "add", Path: "/claims/scp/0", Value: "all"}),
		"the end":                 patch(add, issue.Patch{Op: "remove", Path: "/claims/exp"}),
		"what is not there":       patch(add, issue.Patch{Op: "replace", Path: "/claims/nothing", Value: 1}),
		"removing nothing":        patch(add, issue.Patch{Op: "remove", Path: "/claims/nothing"}),
		"below a text":            patch(add, issue.Patch{Op: "add", Path: "/claims/team/x", Value: 1}),
		"no name":                 patch(add, issue.Patch{Op: "add", Path: "/claims/", Value: 1}),
		"elsewhere":               patch(add, issue.Patch{Op: "add", Path: "/scopes/all", Value: 1}),
		"another operation":       patch(add, issue.Patch{Op: "move", Path: "/claims/team"}),
		"null":                    patch(add, issue.Patch{Op: "add", Path: "/claims/x"}),
		"a lifetime too short":    patch(add, issue.Patch{Op: "replace", Path: "/token/lifetime/expiration", Value: 299}),
		"a lifetime too long":     patch(add, issue.Patch{Op: "replace", Path: "/token/lifetime/expiration", Value: 86401}),
		"a lifetime of no number": patch(add, issue.Patch{Op: "replace", Path: "/token/lifetime/expiration", Value: "NaN"}),
		"a lifetime removed":      patch(add, issue.Patch{Op: "remove", Path: "/token/lifetime/expiration"}),
		"another token":           {{Type: issue.PatchIdentity, Value: []issue.Patch{add}}},
		"another command":         {{Type: "com.svc.magic", Value: []issue.Patch{add}}},
		"too many":                patch(make([]issue.Patch, 201)...),
	} {
		commands = bad
		out, err := issuer.Issue(t.Context(), r)
		require.NoError(t, err, name)
		require.Error(t, out.HookProblem, name)
		says := claims(t, out.Access)
		require.NotContains(t, says, "team", "%s: nothing is done by halves", name)
		require.Equal(t, "https://as.example", says["iss"], name)
		require.Equal(t, 3600, out.ExpiresIn, name)
	}
	commands, failure = nil, errors.New("no answer")
	out, err = issuer.Issue(t.Context(), r)
	require.NoError(t, err)
	require.ErrorIs(t, out.HookProblem, failure)
	require.NotEmpty(t, out.Access)
}

func TestAKeyRingCatchesUp(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for periods, survivors := range []int{2, 2, 1, 0, 0} {
		ring := model.NewKeyRing(begin)
		was := []string{ring.Active, ring.Next}
		due := begin.Add(time.Duration(periods) * model.RotationPeriod)
		require.Equal(t, periods > 0, ring.CatchUp(due.Add(model.RotationPeriod-1)))
		have := 0
		for _, kid := range []string{ring.Active, ring.Next, ring.Expired} {
			if slices.Contains(was, kid) {
				have++
			}
		}
		require.Equal(t, survivors, have, "after %d periods", periods)
		require.Equal(t, due, ring.Rotated)
		require.False(t, ring.CatchUp(due.Add(model.RotationPeriod-1)), "once is enough")
	}
}

// BenchmarkIssue compares making a token with bare signing.
func BenchmarkIssue(b *testing.B) {
	secrets := seal.Random()
	issuer, r := setUp(b, secrets, nil)
	b.Run("token", func(b *testing.B) {
		for b.Loop() {
			if _, err := issuer.Issue(b.Context(), r); err != nil {
				b.Fatal(err)
			}
		}
	})
	key, err := signkey.New(secrets, signkey.Options{})
	require.NoError(b, err)
	signer, err := key.Signer(secrets, (&jose.SignerOptions{}).WithType("JWT"))
	require.NoError(b, err)
	payload := make([]byte, 400)
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if _, err := signer.Sign(payload); err != nil {
				b.Fatal(err)
			}
		}
	})
}
