package apitokens_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi"
	"github.com/scimwright/scimwright/mgmtapi/apitest"
	"github.com/scimwright/scimwright/mgmtapi/apitokens"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/rest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { os.Exit(apitest.Main(m, update)) }

func slice(e *apitest.Env) *apitokens.Slice {
	return apitokens.New(model.Deps{Model: e.Model, Store: e.Store, Feed: model.NewFeed(e.Store), Now: e.Clock.Now})
}

func as(token string) map[string]string { return map[string]string{"Authorization": token} }

func TestTokensAreSeenAndRevoked(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		made, err := slice(e).Create(t.Context(), "second", "admin@example.com")
		require.NoError(t, err)
		require.Regexp(t, `^00[0-9A-Za-z_-]{40}$`, made.Secret)
		e.Run(t,
			apitest.Step{Do: "GET /api/v1/api-tokens", Equal: map[string]any{"#": 2, "0.name": "configured", "1.id": made.ID, "1.network.connection": "ANYWHERE", "1.tokenWindow": "P30D"}},
			apitest.Step{Do: "GET /api/v1/api-tokens/" + made.ID, Equal: map[string]any{"userId": made.UserID, "expiresAt": "2026-04-03T05:06:07.000Z"},
				Then: func(t *testing.T, a *apitest.Answer) { require.NotContains(t, string(a.Body), made.Secret) }},
			apitest.Step{Do: "GET /api/v1/users/me", Header: as("SSWS " + made.Secret)},
			apitest.Step{Do: "DELETE /api/v1/api-tokens/current", Header: as("SSWS " + made.Secret), Status: 204},
			apitest.Step{Do: "GET /api/v1/users/me", Header: as("SSWS " + made.Secret), Status: 401, Code: "E0000011"},
			apitest.Step{Do: "GET /api/v1/api-tokens/" + made.ID, Status: 404, Code: "E0000007"},
			apitest.Step{Do: "DELETE /api/v1/api-tokens/" + made.ID, Status: 404, Code: "E0000007"},
			apitest.Step{Do: "GET /api/v1/api-tokens", Save: map[string]string{"first": "0.id"}},
			apitest.Step{Do: "DELETE /api/v1/api-tokens/{{first}}", Status: 204},
			apitest.Step{Do: "GET /api/v1/api-tokens", Status: 401, Code: "E0000011"},
		)
	})
}

func TestATokenIsMadeForAUserThatExists(t *testing.T) {
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

func TestATokenLivesAsLongAsItIsUsed(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	const day = 24 * time.Hour
	e.Clock.Advance(29 * day)
	e.Run(t, apitest.Step{Do: "GET /api/v1/users/me"})
	e.Clock.Advance(29 * day)
	e.Run(t, apitest.Step{Do: "GET /api/v1/users/me"})
	e.Clock.Advance(30 * day)
	e.Run(t, apitest.Step{Do: "GET /api/v1/users/me", Status: 401, Code: "E0000011"})
	require.NoError(t, e.API.Setup(t.Context(), mgmtapi.Setup{Token: apitest.Token, Login: "other@example.com"}))
	e.Run(t, apitest.Step{Name: "setting up again revives the configured token and keeps the administrator", Do: "GET /api/v1/users/me", Equal: map[string]any{"profile.login": "admin@example.com"}})
}
