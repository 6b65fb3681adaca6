package slicetest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/apitokens"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

const authUser = `{"profile":{"login":"isaac@example.com","email":"isaac@example.com","firstName":"Isaac","lastName":"Brock"},` +
	`"credentials":{"password":{"value":"Tlpwd-2026"}}}`

func authAs(authorization string) map[string]string {
	return map[string]string{"Authorization": authorization}
}

// Proves A-api-05, B-users-10.
func TestAuth_InvalidTokenRejectedEverywhere(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	saved := e.Run(t, apitest.Step{Do: "POST /api/v1/users", Body: authUser, Save: map[string]string{"u": "id"}})
	deps := model.Deps{Model: e.Model, Store: e.Store, Feed: model.NewFeed(e.Store), Now: e.Clock.Now}
	other, err := apitokens.New(deps).Create(t.Context(), "mine", saved["u"])
	require.NoError(t, err)
	for _, route := range e.API.Operations() {
		info := rest.Describe(route)
		do := info.Method + " " + info.Path
		if info.OAuth { // OAuth endpoints ignore API tokens
			require.NotContains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, e.Do(t, do, "", authAs("SSWS 00unknown")).Status, info.ID)
			continue
		}
		if info.Public {
			needs := apitest.Step{Name: info.ID + " requires no credentials, but a body", Do: do, Header: authAs("SSWS 00unknown"), Status: 400,
				Code: "E0000003"}
			what := map[string]string{"Sessions": "a session", "Factors": "a factor", "Application pages": "an application"}[info.Tag]
			// Other operations search for the factor first; operations below /api/v1/authn check the state token before the factor.
			if strings.Contains(info.Path, "/factors/{factorId}") && !strings.HasPrefix(info.Path, "/api/v1/authn/") {
				what = "a factor"
			}
			if what != "" {
				needs.Name, needs.Status, needs.Code = info.ID+" requires no credentials, but "+what, 404, "E0000007"
			}
			e.Run(t, needs)
			continue
		}
		e.Run(t,
			apitest.Step{Name: info.ID + " without credentials", Do: do, Header: authAs(""), Status: 403, Code: "E0000005"},
			apitest.Step{Name: info.ID + " with an unknown token", Do: do, Header: authAs("SSWS 00unknown"), Status: 401, Code: "E0000011"},
			apitest.Step{Name: info.ID + " with an access token", Do: do, Header: authAs("Bearer eyJ"), Status: 401, Code: "E0000011",
				Has: []string{"header:WWW-Authenticate"}},
			apitest.Step{Name: info.ID + " with another scheme", Do: do, Header: authAs("Basic eDp5"), Status: 401, Code: "E0000011"},
			apitest.Step{Name: info.ID + " by a user without a role", Do: do, Header: authAs("SSWS " + other.Secret), Status: 403, Code: "E0000006"},
		)
	}
	e.Run(t,
		apitest.Step{Name: "authentication is checked before the path", Do: "GET /api/v1/nowhere", Header: authAs(""), Status: 403,
			Code: "E0000005"},
		apitest.Step{Do: "GET /api/v1/nowhere", Status: 404, Code: "E0000008"},
		apitest.Step{Do: "POST /api/v1/users/isaac/lifecycle/deactivate"},
		apitest.Step{Name: "the token of a user who is not ACTIVE is rejected", Do: "GET /api/v1/users/me",
			Header: authAs("SSWS " + other.Secret),
			Status: 401, Code: "E0000011"},
		apitest.Step{Do: "DELETE /api/v1/users/isaac", Status: 204},
		apitest.Step{Name: "the tokens of a deleted user are deleted", Do: "GET /api/v1/api-tokens", Equal: map[string]any{"#": 1}},
	)
}

func TestRateLimits(t *testing.T) {
	limits := callers.Limits{PerMinute: map[string]int{callers.BucketUser: 2, callers.BucketGroups: 0}}
	e := apitest.New(t, sqldbtest.SQLite(t), func(o *assembly.Options) { o.RateLimits = limits })
	left := func(n string) apitest.Step {
		return apitest.Step{Do: "GET /api/v1/users/me",
			Equal: map[string]any{"header:X-Rate-Limit-Limit": "2", "header:X-Rate-Limit-Remaining": n, "header:X-Rate-Limit-Reset": "1772600828"}}
	}
	e.Run(t,
		left("1"), left("0"),
		apitest.Step{Do: "GET /api/v1/users/me", Header: authAs(""), Status: 429, Code: "E0000047",
			Equal: map[string]any{"header:X-Rate-Limit-Remaining": "0"}},
		apitest.Step{Name: "other buckets are not affected", Do: "GET /api/v1/users",
			Equal: map[string]any{"header:X-Rate-Limit-Limit": "600", "header:X-Rate-Limit-Remaining": "599"}},
		apitest.Step{Name: "a bucket without limit has no headers", Do: "GET /api/v1/groups", Lacks: []string{"header:X-Rate-Limit-Limit"}},
	)
	e.Clock.Advance(time.Minute)
	e.Run(t, apitest.Step{Do: "GET /api/v1/users/me", Equal: map[string]any{"header:X-Rate-Limit-Remaining": "1"}})
}

func TestRateLimits_Buckets(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	l := callers.NewLimiter(callers.Limits{}, func() time.Time { return now })
	for do, want := range map[[2]string]int{
		{"GET", "/api/v1/users"}: 600, {"GET", "/api/v1/users/"}: 600, {"POST", "/api/v1/users"}: 600, {"GET", "/api/v1/users/x"}: 2000,
		{"PUT", "/api/v1/users/x"}:        600,
		{"GET", "/api/v1/users/x/groups"}: 600, {"GET", "/api/v1/groups/x"}: 500, {"GET", "/api/v1/apps"}: 100,
		{"GET", "/api/v1/apps/x/users"}: 500,
		{"GET", "/api/v1/api-tokens"}:   1200, {"GET", "/sandbox/v1/x"}: 0, {"GET", "/"}: 0,
	} {
		require.Equal(t, want, l.Take(do[0], do[1]).Limit, "%v", do)
	}
	off := callers.NewLimiter(callers.Limits{Off: true, PerMinute: map[string]int{callers.BucketRest: 1}}, func() time.Time { return now })
	for range 3 {
		q := off.Take("GET", "/api/v1/x")
		require.False(t, q.Exceeded)
		require.Equal(t, 1, q.Remaining)
	}
}

func TestSecrets(t *testing.T) {
	require.NoError(t, callers.CheckSecret(callers.NewSecret()))
	require.NotEqual(t, callers.NewSecret(), callers.NewSecret())
	require.ErrorIs(t, callers.CheckSecret("with blank"), callers.ErrBadSecret)
}

// The API caches accepted callers. A change of the token, the owner or the role must invalidate the cache immediately.
func TestAuth_CachedCallerRejectedImmediately(t *testing.T) {
	rejected, forbidden := apitest.Step{Status: 401, Code: "E0000011"}, apitest.Step{Status: 403, Code: "E0000006"}
	for name, c := range map[string]struct {
		do, body string // placeholders: {u} is the id of the owner, {token} that of the token, {role} that of the owner's role
		wait     time.Duration
		want     apitest.Step
	}{
		"the token is revoked":     {do: "DELETE /api/v1/api-tokens/{token}", want: rejected},
		"the token has expired":    {wait: callers.TokenWindow + time.Second, want: rejected},
		"the owner is suspended":   {do: "POST /api/v1/users/{u}/lifecycle/suspend", want: rejected},
		"the owner is deactivated": {do: "POST /api/v1/users/{u}/lifecycle/deactivate", want: rejected},
		"the role is removed":      {do: "DELETE /api/v1/users/{u}/roles/{role}", want: forbidden},
		"the owner was renamed":    {do: "POST /api/v1/users/{u}", body: `{"profile":{"firstName":"Other"}}`},
		"nothing has changed":      {},
	} {
		t.Run(name, func(t *testing.T) {
			sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
				e := apitest.New(t, db)
				u := e.Do(t, "POST /api/v1/users", authUser, nil).Value("id")
				role := e.Do(t, "POST /api/v1/users/"+u+"/roles", `{"type":"SUPER_ADMIN"}`, nil).Value("id")
				deps := model.Deps{Model: e.Model, Store: e.Store, Feed: model.NewFeed(e.Store), Now: e.Clock.Now}
				token, err := apitokens.New(deps).Create(t.Context(), "mine", u)
				require.NoError(t, err)
				reads := apitest.Step{Do: "GET /api/v1/groups?q=Everyone", Header: authAs("SSWS " + token.Secret)}
				e.Run(t, reads, reads)
				if c.do != "" {
					do := strings.NewReplacer("{u}", u, "{token}", token.ID, "{role}", role).Replace(c.do)
					require.Less(t, e.Do(t, do, c.body, nil).Status, 300)
				}
				e.Clock.Advance(c.wait)
				c.want.Do, c.want.Header = reads.Do, reads.Header
				e.Run(t, c.want, c.want)
			})
		})
	}
}
