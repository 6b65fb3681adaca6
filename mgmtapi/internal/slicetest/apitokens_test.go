package slicetest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/apitokens"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

func slice(e *apitest.Env) *apitokens.Slice {
	return apitokens.New(model.Deps{Model: e.Model, Store: e.Store, Feed: model.NewFeed(e.Store), Now: e.Clock.Now})
}

func tokenAs(token string) map[string]string { return map[string]string{"Authorization": token} }

func TestTokens_ListedAndRevoked(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		made, err := slice(e).Create(t.Context(), "second", "admin@example.com")
		require.NoError(t, err)
		require.Regexp(t, `^00[0-9A-Za-z_-]{40}$`, made.Secret)
		e.Run(t,
			apitest.Step{Do: "GET /api/v1/api-tokens",
				Equal: map[string]any{"#": 2, "0.name": "configured", "1.id": made.ID, "1.network.connection": "ANYWHERE", "1.tokenWindow": "P30D"}},
			apitest.Step{Do: "GET /api/v1/api-tokens/" + made.ID,
				Equal: map[string]any{"userId": made.UserID, "expiresAt": "2026-04-03T05:06:07.000Z"},
				Then:  func(t *testing.T, a *apitest.Answer) { require.NotContains(t, string(a.Body), made.Secret) }},
			apitest.Step{Do: "GET /api/v1/users/me", Header: tokenAs("SSWS " + made.Secret)},
			apitest.Step{Do: "DELETE /api/v1/api-tokens/current", Header: tokenAs("SSWS " + made.Secret), Status: 204},
			apitest.Step{Do: "GET /api/v1/users/me", Header: tokenAs("SSWS " + made.Secret), Status: 401, Code: "E0000011"},
			apitest.Step{Do: "GET /api/v1/api-tokens/" + made.ID, Status: 404, Code: "E0000007"},
			apitest.Step{Do: "DELETE /api/v1/api-tokens/" + made.ID, Status: 404, Code: "E0000007"},
			apitest.Step{Do: "GET /api/v1/api-tokens", Save: map[string]string{"first": "0.id"}},
			apitest.Step{Do: "DELETE /api/v1/api-tokens/{{first}}", Status: 204},
			apitest.Step{Do: "GET /api/v1/api-tokens", Status: 401, Code: "E0000011"},
		)
	})
}

// Tokens of an earlier version that outlived the deactivation of their user are revoked when the user returns.
func TestTokens_EndWithDeactivation(t *testing.T) {
	const user = `{"profile":{"login":"ann@example.com","email":"ann@example.com","firstName":"A","lastName":"B"},` +
		`"credentials":{"password":{"value":"Tlpwd-2026"}}}`
	for name, way := range map[string]apitest.Step{
		"deactivate":      {Do: "POST /api/v1/users/ann/lifecycle/deactivate"},
		"later":           {Do: "POST /api/v1/users/ann/lifecycle/deactivate", Header: map[string]string{"Prefer": "respond-async"}},
		"delete":          {Do: "DELETE /api/v1/users/ann", Status: 204},
		"earlier version": {Do: "POST /api/v1/users/ann/lifecycle/deactivate"},
	} {
		t.Run(name, func(t *testing.T) {
			sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
				e := apitest.New(t, db)
				e.Run(t, apitest.Step{Do: "POST /api/v1/users", Body: user},
					apitest.Step{Do: "POST /api/v1/users/ann/roles", Body: `{"type":"SUPER_ADMIN"}`, Status: 201})
				made, err := slice(e).Create(t.Context(), "mine", "ann")
				require.NoError(t, err)
				stored, err := e.Model.APITokens.Get(t.Context(), e.Store.Reader(), made.ID)
				require.NoError(t, err)
				dead := apitest.Step{Do: "GET /api/v1/users/me", Header: tokenAs("SSWS " + made.Secret), Status: 401, Code: "E0000011"}
				e.Run(t, apitest.Step{Do: "GET /api/v1/users/me", Header: dead.Header}, way)
				e.Work(t)
				e.Run(t, apitest.Step{Do: "GET /api/v1/api-tokens/" + made.ID, Status: 404, Code: "E0000007"})
				if name == "earlier version" {
					require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
						_, err := e.Model.APITokens.Insert(t.Context(), tx, made.ID, stored.Value)
						return err
					}))
				}
				e.Run(t, dead,
					apitest.Step{Do: "POST /api/v1/users/ann/lifecycle/activate"},
					apitest.Step{Do: "GET /api/v1/users/ann", Equal: map[string]any{"status": "ACTIVE"}},
					dead,
					apitest.Step{Do: "POST /api/v1/users/ann/roles", Body: `{"type":"SUPER_ADMIN"}`, Status: 201},
					dead,
					apitest.Step{Do: "GET /api/v1/api-tokens", Equal: map[string]any{"#": 1, "0.name": "configured"}},
				)
				revocations := e.Do(t, "GET /api/v1/logs?filter=eventType+eq+%22system.api_token.revoke%22", "", nil)
				require.Equal(t, made.ID, revocations.Value("0.target.0.id"))
				require.Equal(t, "ann@example.com", revocations.Value("0.target.1.alternateId"))
			})
		})
	}
}

func TestCreate_RejectsDeprovisionedUser(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Run(t,
		apitest.Step{Do: "POST /api/v1/users",
			Body: `{"profile":{"login":"ann@example.com","email":"ann@example.com","firstName":"A","lastName":"B"}}`},
		apitest.Step{Do: "POST /api/v1/users/ann/lifecycle/deactivate"},
	)
	_, err := slice(e).Create(t.Context(), "x", "ann")
	var answer *rest.Error
	require.ErrorAs(t, err, &answer)
	require.Equal(t, rest.CodeStatus, answer.Code)
}

// TestCreate_RejectsBadInput checks that the creation of a token rejects an unknown user and an empty name.
func TestCreate_RejectsBadInput(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	for _, c := range []struct {
		name, user string
		code       rest.Code
	}{{"x", "nobody", rest.CodeNotFound}, {"", "admin", rest.CodeValidation}} {
		_, err := slice(e).Create(t.Context(), c.name, c.user)
		var answer *rest.Error
		require.ErrorAs(t, err, &answer)
		require.Equal(t, c.code, answer.Code)
	}
}

func TestTokens_ExpireWhenUnused(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	const day = 24 * time.Hour
	e.Clock.Advance(29 * day)
	e.Run(t, apitest.Step{Do: "GET /api/v1/users/me"})
	e.Clock.Advance(29 * day)
	e.Run(t, apitest.Step{Do: "GET /api/v1/users/me"})
	e.Clock.Advance(30 * day)
	e.Run(t, apitest.Step{Do: "GET /api/v1/users/me", Status: 401, Code: "E0000011"})
	require.NoError(t, e.API.Setup(t.Context(), assembly.Setup{Token: apitest.Token, Login: "other@example.com"}))
	e.Run(t,
		apitest.Step{Name: "setting up again revives the configured token and keeps the administrator", Do: "GET /api/v1/users/me",
			Equal: map[string]any{"profile.login": "admin@example.com"}})
}
