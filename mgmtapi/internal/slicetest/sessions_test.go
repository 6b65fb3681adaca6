package slicetest_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/sessions"
)

const sessionSecret = "Tlpwd-2026"

// isaac is a user who can sign in.
var isaac = apitest.Step{
	Do: "POST /api/v1/users", Save: map[string]string{"u": "id"},
	Body: `{"profile":{"login":"isaac@example.com","email":"isaac@example.com","firstName":"Isaac","lastName":"Brock"},` +
		`"credentials":{"password":{"value":"` + sessionSecret + `"}}}`,
}

// sessionSignIn signs in and saves the session token as token.
var sessionSignIn = apitest.Step{
	Do: "POST /api/v1/authn", Header: map[string]string{"Authorization": ""}, Body: `{"username":"isaac","password":"` + sessionSecret + `"}`,
	Equal: map[string]any{"status": "SUCCESS"}, Save: map[string]string{"token": "sessionToken"},
}

// trade exchanges the session token for a session, and saves its id as s.
var trade = apitest.Step{Do: "POST /api/v1/sessions", Body: `{"sessionToken":"{{token}}"}`, Save: map[string]string{"s": "id"}}

func gone(do string) apitest.Step {
	return apitest.Step{Do: do, Status: http.StatusNotFound, Code: "E0000007"}
}

// byCookie returns a request whose only credential is the cookie of the session.
func byCookie(do string) apitest.Step {
	return apitest.Step{Do: do, Header: map[string]string{"Authorization": "", "Cookie": "other=1; sid={{s}}"}}
}

func logged(event string, n int) apitest.Step {
	return apitest.Step{Name: "the log has events of type " + event, Do: `GET /api/v1/logs?filter=eventType+eq+%22` + event + `%22`,
		Equal: map[string]any{"#": n}}
}

func TestSessionToken_TradedOnce(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		first := trade
		first.Equal = map[string]any{
			"login": "isaac@example.com", "userId": "{{u}}", "status": "ACTIVE", "createdAt": "2026-03-04T05:06:07.000Z",
			"expiresAt":                "2026-03-04T07:06:07.000Z",
			"lastPasswordVerification": "2026-03-04T05:06:07.000Z", "amr.#": 1, "amr.0": "pwd", "idp.type": "SVC", "mfaActive": false,
			"_links.self.hints.allow.1": "DELETE", "_links.refresh.hints.allow.0": "POST", "_links.user.href": e.Server.URL + "/api/v1/users/{{u}}",
		}
		first.Lacks = []string{"lastFactorVerification"}
		again := apitest.Step{Name: "a token is valid only once", Do: trade.Do, Body: trade.Body, Status: 401, Code: "E0000004"}
		saved := e.Run(t,
			isaac, sessionSignIn, first, again,
			apitest.Step{Name: "an unknown token is rejected", Do: trade.Do, Body: `{"sessionToken":"x"}`, Status: 401, Code: "E0000004"},
			apitest.Step{Name: "the token is required", Do: trade.Do, Body: `{}`, Status: 400, Code: "E0000001", Causes: []string{"sessionToken: "}},
			apitest.Step{Name: "the token must be a string", Do: trade.Do, Body: `{"sessionToken":1}`, Status: 400, Code: "E0000001",
				Causes: []string{"sessionToken: "}},
			apitest.Step{Name: "the body is required", Do: trade.Do, Status: 400, Code: "E0000003"},
			apitest.Step{Name: "credentials are required", Do: trade.Do, Body: trade.Body, Header: map[string]string{"Authorization": ""},
				Status: 403, Code: "E0000005"},
			apitest.Step{Do: "GET /api/v1/sessions/{{s}}", Equal: map[string]any{"id": "{{s}}", "userId": "{{u}}"}},
			gone("GET /api/v1/sessions/{{u}}"), gone("DELETE /api/v1/sessions/x"), gone("POST /api/v1/sessions/x/lifecycle/refresh"),
			apitest.Step{Do: "DELETE /api/v1/sessions/{{s}}", Status: 204},
			gone("GET /api/v1/sessions/{{s}}"), gone("DELETE /api/v1/sessions/{{s}}"), gone("POST /api/v1/sessions/{{s}}/lifecycle/refresh"),
			// user.session.start is logged for the sign-in and for the session
			logged("user.session.end", 1), logged("user.session.start", 2),
			sessionSignIn,
		)
		require.Regexp(t, `^102[0-9A-Za-z_-]{22}$`, saved["s"])
		e.Clock.Advance(5 * time.Minute)
		e.Run(t,
			apitest.Step{Name: "a token expires after minutes", Do: trade.Do, Body: `{"sessionToken":"` + saved["token"] + `"}`, Status: 401,
				Code: "E0000004"})
	})
}

// TestSessionToken_ParallelTrades checks that parallel trades of one session token create exactly one session.
func TestSessionToken_ParallelTrades(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		e.Unrecorded()
		saved := e.Run(t, isaac, sessionSignIn)
		var wg sync.WaitGroup
		statuses := make([]int, 8)
		for i := range statuses {
			wg.Go(func() { statuses[i] = e.Do(t, trade.Do, `{"sessionToken":"`+saved["token"]+`"}`, nil).Status })
		}
		wg.Wait()
		made := 0
		for _, status := range statuses {
			if status == http.StatusOK {
				made++
			} else {
				require.Equal(t, http.StatusUnauthorized, status)
			}
		}
		require.Equal(t, 1, made)
	})
}

func TestSession_IdentifiedByCookie(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		read := byCookie("GET /api/v1/sessions/me")
		read.Equal = map[string]any{"id": "{{s}}", "expiresAt": "2026-03-04T07:06:07.000Z"}
		saved := e.Run(t, isaac, sessionSignIn, trade, read)
		e.Clock.Advance(time.Hour)
		prolong := apitest.Step{Do: "POST /api/v1/sessions/me/lifecycle/refresh",
			Header: map[string]string{"Authorization": "", "Cookie": "sid=" + saved["s"]},
			Equal:  map[string]any{"expiresAt": "2026-03-04T08:06:07.000Z"}}
		none := gone("GET /api/v1/sessions/me")
		none.Name = "the token of a caller is not a session"
		end := apitest.Step{Do: "DELETE /api/v1/sessions/me", Header: prolong.Header, Status: 204}
		after := apitest.Step{Do: "GET /api/v1/sessions/me", Header: prolong.Header, Status: 404, Code: "E0000007"}
		e.Run(t, prolong, none, gone("DELETE /api/v1/sessions/me"), gone("POST /api/v1/sessions/me/lifecycle/refresh"), end, after,
			apitest.Step{Name: "the log shows the caller, but not the session", Do: `GET /api/v1/logs?filter=eventType+eq+%22user.session.end%22`,
				Equal: map[string]any{"#": 1, "0.actor.id": saved["u"]}, Then: func(t *testing.T, a *apitest.Answer) {
					require.NotContains(t, string(a.Body), saved["s"])
				}},
		)
	})
}

func TestSession_ExpiresUnlessRefreshed(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	saved := e.Run(t, isaac, sessionSignIn, trade)
	session := "/api/v1/sessions/" + saved["s"]
	e.Clock.Advance(sessions.Lifetime - time.Second)
	e.Run(t,
		apitest.Step{Do: "POST " + session + "/lifecycle/refresh",
			Equal: map[string]any{"expiresAt": "2026-03-04T09:06:06.000Z", "createdAt": "2026-03-04T05:06:07.000Z"}})
	e.Clock.Advance(sessions.Lifetime - time.Second)
	e.Run(t, apitest.Step{Do: "GET " + session})
	e.Clock.Advance(time.Second)
	e.Run(t, gone("GET "+session), gone("POST "+session+"/lifecycle/refresh"), gone("DELETE "+session), sessionSignIn, trade)
	page, err := e.Model.Sessions.Query(t.Context(), e.Store.Reader(), docstore.Query[model.Session]{})
	require.NoError(t, err)
	require.Len(t, page.Docs, 1, "the next session deletes expired ones")
}

// Proves B-users-42.
func TestSession_EndedByOperations(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	const user = "/api/v1/users/isaac"
	restore := apitest.Step{Do: "POST " + user, Body: `{"credentials":{"password":{"value":"` + sessionSecret + `"}}}`}
	e.Run(t, isaac)
	for _, c := range []struct {
		name, do, body string
		status         int
		back           string // the lifecycle operation after which the user can sign in again; "none" means that the user cannot
		ends, cleared  bool
	}{
		{name: "a caller", do: "DELETE " + user + "/sessions", status: 204, ends: true, cleared: true},
		{name: "a caller that also revokes tokens", do: "DELETE " + user + "/sessions?oauthTokens=true", status: 204, ends: true, cleared: true},
		{name: "a suspension", do: "POST " + user + "/lifecycle/suspend", back: "unsuspend", ends: true, cleared: true},
		{name: "a reset with revokeSessions", do: "POST " + user + "/lifecycle/reset_password?revokeSessions=true", ends: true, cleared: true},
		{name: "a reset without revokeSessions", do: "POST " + user + "/lifecycle/reset_password"},
		{name: "an expiry with revokeSessions", do: "POST " + user + "/lifecycle/expire_password?revokeSessions=true", ends: true, cleared: true},
		{name: "an expiry without revokeSessions", do: "POST " + user + "/lifecycle/expire_password"},
		{name: "a temporary password with revokeSessions",
			do: "POST " + user + "/lifecycle/expire_password_with_temp_password?revokeSessions=true", ends: true, cleared: true},
		{name: "a temporary password by a parameter, with revokeSessions",
			do:   "POST " + user + "/lifecycle/expire_password?tempPassword=true&revokeSessions=true",
			ends: true, cleared: true},
		{name: "a temporary password without revokeSessions", do: "POST " + user + "/lifecycle/expire_password_with_temp_password"},
		{name: "a new password with revokeSessions", do: "POST " + user + "/credentials/change_password", ends: true, cleared: true,
			body: `{"oldPassword":{"value":"` + sessionSecret + `"},"newPassword":{"value":"Another-2026"},"revokeSessions":true}`},
		{name: "a new password without revokeSessions", do: "POST " + user + "/credentials/change_password",
			body: `{"oldPassword":{"value":"` + sessionSecret + `"},"newPassword":{"value":"Another-2026"}}`},
		{name: "a wrong old password", do: "POST " + user + "/credentials/change_password", status: 403,
			body: `{"oldPassword":{"value":"wrong"},"newPassword":{"value":"Another-2026"},"revokeSessions":true}`},
		{name: "a deactivation", do: "POST " + user + "/lifecycle/deactivate", back: "activate", ends: true, cleared: true},
		{name: "a federated provider with revokeSessions",
			do: "POST " + user + "/lifecycle/reset_password?provider=FEDERATION&revokeSessions=true", ends: true, cleared: true, back: "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			saved := e.Run(t, sessionSignIn, trade, sessionSignIn) // a session, and a session token that has not been exchanged yet
			before := events(t, e)
			act := apitest.Step{Do: c.do, Body: c.body, Status: c.status}
			if c.status == http.StatusForbidden {
				act.Code = "E0000014"
			}
			e.Run(t, act)
			if c.ends {
				e.Run(t, gone("GET /api/v1/sessions/"+saved["s"]))
			} else {
				e.Run(t, apitest.Step{Do: "DELETE /api/v1/sessions/" + saved["s"], Status: 204})
			}
			cleared := 0
			if c.cleared {
				cleared = 1
			}
			require.Equal(t, before+cleared, events(t, e), "log events")
			if c.back == "none" {
				return
			}
			if c.back != "" {
				e.Run(t, apitest.Step{Do: "POST " + user + "/lifecycle/" + c.back})
			}
			if c.ends {
				e.Run(t, restore,
					apitest.Step{Name: "the token is invalid, too", Do: trade.Do, Body: `{"sessionToken":"` + saved["token"] + `"}`, Status: 401,
						Code: "E0000004"})
			} else {
				e.Run(t, restore)
			}
		})
	}
	e.Run(t, gone("DELETE /api/v1/users/nobody/sessions"))
}

// events returns the number of log events for cleared sessions.
func events(t *testing.T, e *apitest.Env) int {
	t.Helper()
	n := 0
	require.NoError(t, model.Each(t.Context(), e.Store.Reader(), e.Model.LogEvents, nil, func(doc docstore.Doc[model.LogEvent]) error {
		if doc.Value.Type == "user.session.clear" {
			n++
		}
		return nil
	}))
	return n
}

// TestSession_ClearWithOAuthTokens checks that the event of a session clearing includes the tokens if the caller sets oauthTokens.
func TestSession_ClearWithOAuthTokens(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	drain := func() (out []string) {
		for {
			n, err := e.Store.Relay(t.Context(), 100, func(_ *docstore.Tx, events []docstore.Event) error {
				for _, event := range events {
					if event.Topic == model.EventSessionsCleared {
						out = append(out, string(event.Data))
					}
				}
				return nil
			})
			require.NoError(t, err)
			if n == 0 {
				return out
			}
		}
	}
	saved := e.Run(t, isaac,
		apitest.Step{Do: "DELETE /api/v1/users/{{u}}/sessions", Status: 204},
		apitest.Step{Do: "DELETE /api/v1/users/{{u}}/sessions?oauthTokens=true", Status: 204},
		apitest.Step{Do: "DELETE /api/v1/users/{{u}}/sessions?oauthTokens=maybe", Status: 400, Code: "E0000001",
			Causes: []string{"oauthTokens: "}},
	)
	require.Equal(t, []string{`{"user":"` + saved["u"] + `"}`, `{"user":"` + saved["u"] + `","tokens":true}`}, drain())
}

func TestSession_StoresNoSecrets(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	saved := e.Run(t, isaac, sessionSignIn, trade, apitest.Step{Do: "POST /api/v1/sessions/{{s}}/lifecycle/refresh"})
	page, err := e.Model.Sessions.Query(t.Context(), e.Store.Reader(), docstore.Query[model.Session]{})
	require.NoError(t, err)
	require.Len(t, page.Docs, 1)
	require.Equal(t, model.SecretHash(saved["s"]), page.Docs[0].ID)
	e.Run(t, apitest.Step{Do: "DELETE /api/v1/sessions/" + saved["s"], Status: 204},
		apitest.Step{Do: "GET /api/v1/logs", Then: func(t *testing.T, a *apitest.Answer) {
			require.NotContains(t, string(a.Body), saved["s"])
			require.NotContains(t, string(a.Body), saved["token"])
			require.Contains(t, string(a.Body), "/api/v1/sessions/redacted")
		}})
	require.NotContains(t, e.Log.String(), saved["s"])
}
