package slicetest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/outbox"
)

const ann = `{"profile":{"login":"ann@example.com","email":"Ann.Mail@example.com","firstName":"Ann","lastName":"Lee"}`

// Proves B-users-15, B-users-59, B-users-61, B-users-63.
func TestOutbox_Messages(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db, func(o *assembly.Options) { o.Work = &work{} })
		later := func(t *testing.T, _ *apitest.Answer) { t.Helper(); e.Clock.Advance(time.Minute) }
		e.Run(t,
			apitest.Step{Name: "the outbox is empty", Do: "GET /sandbox/v1/outbox", Equal: map[string]any{"#": 0}},
			apitest.Step{Name: "a user without a password gets an activation token", Do: "POST /api/v1/users", Body: ann + `}`,
				Equal: map[string]any{"status": "PROVISIONED"}, Save: map[string]string{"u": "id"}, Then: later},
			apitest.Step{Do: "GET /sandbox/v1/outbox", Has: []string{"0.text", "0.link", "0.created", "0.id"}, Lacks: []string{"0.otp"},
				Save: map[string]string{"first": "0.token"},
				Equal: map[string]any{"#": 1, "0.channel": "email", "0.to": "Ann.Mail@example.com", "0.userId": "{{u}}",
					"0.template": "user.activation"}},
			apitest.Step{Name: "a new token invalidates the first", Do: "POST /api/v1/users/{{u}}/lifecycle/reactivate?sendEmail=true",
				Lacks: []string{"activationToken", "activationUrl"}, Then: later},
			apitest.Step{Do: "POST /api/v1/authn", Body: `{"token":"{{first}}"}`, Status: 401, Code: "E0000011"},
			apitest.Step{Name: "the newest message comes first", Do: "GET /sandbox/v1/outbox?userId={{u}}",
				Equal: map[string]any{"#": 2, "1.token": "{{first}}"}, Save: map[string]string{"token": "0.token"}},
			apitest.Step{Name: "the token of the message is valid", Do: "POST /api/v1/authn", Body: `{"token":"{{token}}"}`,
				Equal: map[string]any{"status": "PASSWORD_RESET"}, Save: map[string]string{"state": "stateToken"}},
			apitest.Step{Do: "POST /api/v1/authn/credentials/reset_password", Body: `{"stateToken":"{{state}}","newPassword":"Tlpwd-2026"}`,
				Equal: map[string]any{"status": "SUCCESS"}},
			apitest.Step{Name: "a reset is sent unless the caller requests it in the response",
				Do:    "POST /api/v1/users/{{u}}/lifecycle/reset_password",
				Lacks: []string{"resetPasswordUrl"}, Then: later},
			apitest.Step{Do: "GET /sandbox/v1/outbox?limit=1", Equal: map[string]any{"#": 1, "0.template": "user.reset_password"},
				Save: map[string]string{"token": "0.token"}},
			apitest.Step{Do: "POST /api/v1/authn/recovery/token", Body: `{"recoveryToken":"{{token}}"}`,
				Equal: map[string]any{"status": "PASSWORD_RESET"}, Save: map[string]string{"state": "stateToken"}},
			apitest.Step{Do: "POST /api/v1/authn/credentials/reset_password", Body: `{"stateToken":"{{state}}","newPassword":"Tlpwd-2027"}`,
				Equal: map[string]any{"status": "SUCCESS"}},
			apitest.Step{Do: "POST /api/v1/users/{{u}}", Body: `{"credentials":{"recovery_question":{"question":"Who?","answer":"Annie"}}}`},
			apitest.Step{Name: "the recovery of a forgotten password is sent, too", Do: "POST /api/v1/users/{{u}}/credentials/forgot_password",
				Lacks: []string{"resetPasswordUrl"}, Then: later},
			apitest.Step{Do: "GET /sandbox/v1/outbox", Equal: map[string]any{"#": 4, "0.template": "user.forgot_password"},
				Save: map[string]string{"token": "0.token", "at": "0.created"}},
			apitest.Step{Do: "POST /api/v1/authn/recovery/token", Body: `{"recoveryToken":"{{token}}"}`,
				Equal: map[string]any{"status": "RECOVERY"}},
			apitest.Step{Do: "GET /sandbox/v1/outbox?since={{at}}", Equal: map[string]any{"#": 1}},
			apitest.Step{Do: "GET /sandbox/v1/outbox?to=ANN.mail@example.com&channel=email", Equal: map[string]any{"#": 4}},
			apitest.Step{Do: "GET /sandbox/v1/outbox?channel=sms", Equal: map[string]any{"#": 0}},
			apitest.Step{Name: "the administrator receives a message about a deactivation",
				Do: "POST /api/v1/users/{{u}}/lifecycle/deactivate?sendEmail=true"},
			apitest.Step{Do: "GET /sandbox/v1/outbox?to=admin@example.com", Equal: map[string]any{"#": 1, "0.template": "user.deactivated"},
				Lacks: []string{"0.token", "0.link"}},
			apitest.Step{Name: "a user with a password receives a message about the activation", Do: "POST /api/v1/users/{{u}}/lifecycle/activate"},
			apitest.Step{Do: "GET /sandbox/v1/outbox?userId={{u}}&limit=1", Equal: map[string]any{"0.template": "user.welcome"},
				Lacks: []string{"0.token", "0.link"}},
			apitest.Step{Name: "without sendEmail nothing is sent", Do: "DELETE /api/v1/users/{{u}}", Status: 204},
			apitest.Step{Do: "GET /sandbox/v1/outbox", Equal: map[string]any{"#": 6}},
			apitest.Step{Do: "GET /sandbox/v1/outbox?channel=pigeon&since=now&limit=0", Status: 400, Code: "E0000001",
				Causes: []string{"channel: ", "limit: ", "since: "}},
			apitest.Step{Do: "DELETE /sandbox/v1/outbox", Status: 204},
			apitest.Step{Do: "GET /sandbox/v1/outbox", Equal: map[string]any{"#": 0}},
		)
	})
}

// TestOutbox_AsyncDeactivation checks that the outbox receives the message about an asynchronous deactivation only after its completion.
func TestOutbox_AsyncDeactivation(t *testing.T) {
	e, _ := serve(t)
	async := map[string]string{"Prefer": "respond-async"}
	finish := func(t *testing.T, _ *apitest.Answer) {
		t.Helper()
		_, err := e.API.Work(t.Context())
		require.NoError(t, err)
	}
	counted := func(name string, n int, then func(*testing.T, *apitest.Answer)) apitest.Step {
		return apitest.Step{Name: name, Do: "GET /sandbox/v1/outbox?to=admin@example.com", Equal: map[string]any{"#": n}, Then: then}
	}
	e.Run(t,
		apitest.Step{Do: "POST /api/v1/users?activate=false", Body: ann + `}`, Save: map[string]string{"u": "id"}},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/deactivate?sendEmail=true", Header: async},
		counted("the deactivation is pending", 0, finish),
		counted("the caller receives a message after the deactivation", 1, nil),
		apitest.Step{Do: "GET /sandbox/v1/outbox", Equal: map[string]any{"#": 1, "0.template": "user.deactivated"}},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/activate?sendEmail=false"},
		apitest.Step{Do: "DELETE /api/v1/users/{{u}}?sendEmail=true", Header: async, Status: 204},
		counted("a deletion starts with a deactivation", 1, finish),
		counted("the deactivation causes a message", 2, nil),
		apitest.Step{Do: "DELETE /api/v1/users/{{u}}?sendEmail=true", Header: async, Status: 204},
		counted("the removal is pending", 2, finish),
		counted("the removal causes no message", 2, nil),
		apitest.Step{Do: "GET /api/v1/users/{{u}}", Status: 404, Code: "E0000007"},
	)
}

func TestOutbox_RejectedRequestSendsNothing(t *testing.T) {
	e, _ := serve(t)
	e.Run(t,
		apitest.Step{Name: "an unknown group", Do: "POST /api/v1/users", Body: ann + `,"groupIds":["00gnone"]}`, Status: 404,
			Code: "E0000007"},
		apitest.Step{Do: "POST /api/v1/users?activate=false", Body: ann + `}`, Save: map[string]string{"u": "id"}},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/reactivate?sendEmail=true", Status: 403, Code: "E0000038"},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/reset_password", Status: 403, Code: "E0000038"},
		apitest.Step{Do: "POST /api/v1/users/{{u}}/credentials/forgot_password", Status: 403, Code: "E0000034"},
		apitest.Step{Do: "GET /sandbox/v1/outbox", Equal: map[string]any{"#": 0}},
	)
}

func TestOutbox_EncryptsAndExpiresMessages(t *testing.T) {
	e, _ := serve(t)
	e.Run(t, apitest.Step{Do: "POST /api/v1/users", Body: ann + `}`},
		apitest.Step{Do: "GET /sandbox/v1/outbox", Save: map[string]string{"token": "0.token"}, Then: func(t *testing.T, a *apitest.Answer) {
			token := a.Value("0.token")
			stored, err := e.Model.Messages.Query(t.Context(), e.Store.Reader(), docstore.Query[model.Message]{})
			require.NoError(t, err)
			require.NotContains(t, fmt.Sprint(stored.Docs), token)
			require.NotContains(t, e.Log.String(), token)
		}})
	e.Clock.Advance(outbox.MaxAge)
	e.Run(t,
		apitest.Step{Do: "GET /sandbox/v1/outbox", Equal: map[string]any{"#": 0}},
		apitest.Step{Do: "POST /api/v1/users", Body: strings.ReplaceAll(ann, "ann@", "bob@") + `}`},
	)
	n, err := e.Model.Messages.Count(t.Context(), e.Store.Reader(), nil)
	require.NoError(t, err)
	require.Equal(t, 1, n, "a new message causes the deletion of expired ones")
}

func TestOutbox_Bounded(t *testing.T) {
	e, _ := serve(t)
	box := outbox.New(model.Deps{Model: e.Model, Store: e.Store, Now: e.Clock.Now}, seal.Random())
	const more = 30
	require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
		for i := range outbox.MaxMessages + more {
			if err := box.Send(t.Context(), tx, outbox.Message{Channel: outbox.SMS, Text: fmt.Sprint(i)}); err != nil {
				return err
			}
		}
		return nil
	}))
	n, err := e.Model.Messages.Count(t.Context(), e.Store.Reader(), nil)
	require.NoError(t, err)
	require.Equal(t, outbox.MaxMessages, n)
	newest, err := box.List(t.Context(), outbox.Query{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(outbox.MaxMessages+more-1), newest[0].Text)
}

// moved is a sandboxport.Clock that moves the clock of a test environment.
type moved struct {
	*apitest.Clock
	store func() *docstore.Store
}

func (m moved) Real() time.Time { return apitest.NewClock().Now() }

func (m moved) Move(ctx context.Context, by time.Duration, before func(context.Context, sqldb.Execer, time.Time) error) (time.Time, error) {
	if by > 400*24*time.Hour {
		return time.Time{}, sandboxport.ErrClockRange
	}
	if ahead := m.Now().Sub(m.Real()); by < -ahead {
		by = -ahead
	}
	err := m.store().Update(ctx, func(tx *docstore.Tx) error { return before(ctx, tx.SQL().Execer(), m.Now().Add(by)) })
	m.Clock.Advance(by)
	return m.Now(), err
}

func newMoved(t *testing.T) *apitest.Env {
	var e *apitest.Env
	clock := moved{apitest.NewClock(), func() *docstore.Store { return e.Store }}
	e = apitest.New(t, sqldbtest.SQLite(t), func(o *assembly.Options) { o.Work, o.Clock, o.Now = &work{}, clock, clock.Now })
	return e
}

func TestClock_Move(t *testing.T) {
	e := newMoved(t)
	e.Run(t,
		apitest.Step{Do: "GET /sandbox/v1/clock",
			Equal: map[string]any{"now": "2026-03-04T05:06:07.890Z", "realTime": "2026-03-04T05:06:07.890Z", "aheadSeconds": 0}},
		apitest.Step{Do: "POST /sandbox/v1/clock", Body: `{"advanceSeconds":90.5}`,
			Equal: map[string]any{"now": "2026-03-04T05:07:38.390Z", "realTime": "2026-03-04T05:06:07.890Z"}},
		apitest.Step{Do: "POST /sandbox/v1/clock", Body: `{"advanceSeconds":0}`, Equal: map[string]any{"now": "2026-03-04T05:07:38.390Z"}},
		apitest.Step{Do: "POST /sandbox/v1/clock", Body: `{"now":"2026-03-04T08:00:00+02:00"}`,
			Equal: map[string]any{"now": "2026-03-04T06:00:00.000Z"}},
		apitest.Step{Do: "GET /sandbox/v1/clock", Equal: map[string]any{"now": "2026-03-04T06:00:00.000Z"}},
		apitest.Step{Name: "a time before that of the clock", Do: "POST /sandbox/v1/clock", Body: `{"now":"2026-03-04T05:59:59Z"}`,
			Equal: map[string]any{"now": "2026-03-04T05:59:59.000Z"}},
		apitest.Step{Name: "a time before the real time", Do: "POST /sandbox/v1/clock", Body: `{"now":"2026-03-04T05:05:07Z"}`, Status: 400,
			Code: "E0000001", Causes: []string{"now: The clock is never behind the real time: it is 2026-03-04T05:06:07.890Z"}},
		apitest.Step{Name: "a time less than a minute before the real time", Do: "POST /sandbox/v1/clock", Body: `{"now":"2026-03-04T05:06:00Z"}`,
			Equal: map[string]any{"now": "2026-03-04T05:06:07.890Z"}},
		apitest.Step{Do: "POST /sandbox/v1/clock", Body: `{"advanceSeconds":60}`, Equal: map[string]any{"aheadSeconds": 60}},
		apitest.Step{Name: "reset to the real time", Do: "POST /sandbox/v1/clock", Body: `{"realTime":true}`,
			Equal: map[string]any{"now": "2026-03-04T05:06:07.890Z", "aheadSeconds": 0}},
		apitest.Step{Name: "reset at the real time", Do: "POST /sandbox/v1/clock", Body: `{"realTime":true}`,
			Equal: map[string]any{"aheadSeconds": 0}},
		apitest.Step{Do: "POST /sandbox/v1/clock", Body: `{"realTime":true,"advanceSeconds":1}`, Status: 400, Code: "E0000001"},
		apitest.Step{Do: "POST /sandbox/v1/clock", Body: `{"realTime":false}`, Status: 400, Code: "E0000001"},
		apitest.Step{Do: "POST /sandbox/v1/clock", Body: `{"advanceSeconds":-1}`, Status: 400, Code: "E0000001",
			Causes: []string{"advanceSeconds: "}},
		apitest.Step{Do: "POST /sandbox/v1/clock", Body: `{"advanceSeconds":1e99}`, Status: 400, Code: "E0000001",
			Causes: []string{"advanceSeconds: "}},
		apitest.Step{Do: "POST /sandbox/v1/clock", Body: `{"advanceSeconds":100000000}`, Status: 400, Code: "E0000001",
			Causes: []string{"now: The time is too far away"}},
		apitest.Step{Do: "POST /sandbox/v1/clock", Body: `{"now":"tomorrow"}`, Status: 400, Code: "E0000001", Causes: []string{"now: "}},
		apitest.Step{Do: "POST /sandbox/v1/clock", Body: `{"advanceSeconds":"1"}`, Status: 400, Code: "E0000001",
			Causes: []string{"advanceSeconds: "}},
		apitest.Step{Name: "two ways to set the time", Do: "POST /sandbox/v1/clock", Body: `{"advanceSeconds":1,"now":"2030-01-01T00:00:00Z"}`,
			Status: 400,
			Code:   "E0000001"},
		apitest.Step{Do: "POST /sandbox/v1/clock", Body: `{}`, Status: 400, Code: "E0000001", Causes: []string{"advanceSeconds: Exactly one"}},
		apitest.Step{Do: "POST /sandbox/v1/clock", Status: 400, Code: "E0000003"},
	)
}

func TestClock_TokensOutliveMove(t *testing.T) {
	e := newMoved(t)
	create := func(name string) string {
		a := e.Do(t, "POST /sandbox/v1/api-tokens", fmt.Sprintf(`{"name":%q,"userId":"me"}`, name), nil)
		require.Equal(t, 201, a.Status, "%s", a.Body)
		return "SSWS " + a.Value("token")
	}
	mover, idle := create("mover"), create("idle")
	const year = `{"advanceSeconds":31536000}`
	me := func(token string, status int) {
		t.Helper()
		require.Equal(t, status, e.Do(t, "GET /api/v1/users/me", "", map[string]string{"Authorization": token}).Status)
	}
	configured := "SSWS " + apitest.Token
	for _, by := range []string{mover, configured} {
		moved := e.Do(t, "POST /sandbox/v1/clock", year, map[string]string{"Authorization": by})
		require.Equal(t, 200, moved.Status, "%s", moved.Body)
		me(by, 200)
		me(configured, 200)
		me(idle, 401)
		e.Run(t,
			apitest.Step{Do: "GET /sandbox/v1/clock", Header: map[string]string{"Authorization": by}},
			apitest.Step{Do: "POST /sandbox/v1/clock", Header: map[string]string{"Authorization": by}, Body: `{"realTime":true}`,
				Equal: map[string]any{"aheadSeconds": 0}},
		)
		me(idle, 200)
	}
	e.Run(t,
		apitest.Step{Name: "moving the clock back restores the expiry", Do: "GET /api/v1/api-tokens",
			Equal: map[string]any{"0.expiresAt": "2026-04-03T05:06:07.000Z", "1.expiresAt": "2026-04-03T05:06:07.000Z"}},
		apitest.Step{Do: "POST /sandbox/v1/clock", Body: year},
	)
	me(mover, 401)
	me(configured, 200)
}

func TestReset(t *testing.T) {
	var seeds []bool
	var e *apitest.Env
	e = apitest.New(t, sqldbtest.SQLite(t), func(o *assembly.Options) {
		o.Work = &work{}
		o.Reset = func(ctx context.Context, seed bool) error {
			seeds = append(seeds, seed)
			return e.API.Reset(ctx, assembly.Setup{Token: apitest.Token}, func(context.Context, *docstore.Tx, []string) error { return nil })
		}
	})
	e.Run(t,
		apitest.Step{Do: "GET /api/v1/users/me", Save: map[string]string{"me": "id"}},
		apitest.Step{Do: "POST /api/v1/users", Body: ann + `}`, Save: map[string]string{"u": "id"}},
		apitest.Step{Do: "POST /sandbox/v1/api-tokens", Body: `{"name":"ci","userId":"me"}`, Status: 201,
			Save: map[string]string{"secret": "token"}},
		apitest.Step{Name: "an unknown seed", Do: "POST /sandbox/v1/reset", Body: `{"seed":"all"}`, Status: 400, Code: "E0000001",
			Causes: []string{"seed: "}},
		apitest.Step{Do: "POST /sandbox/v1/reset", Status: 204},
		apitest.Step{Name: "users are deleted", Do: "GET /api/v1/users/{{u}}", Status: 404, Code: "E0000007"},
		apitest.Step{Name: "tokens are deleted", Do: "GET /api/v1/users/me", Header: map[string]string{"Authorization": "SSWS {{secret}}"},
			Status: 401, Code: "E0000011"},
		apitest.Step{Name: "the administrator is a new user with the same login", Do: "GET /api/v1/users/me",
			Equal: map[string]any{"profile.login": "admin@example.com"}, Then: func(t *testing.T, a *apitest.Answer) {
				require.NotEmpty(t, a.Value("id"))
			}},
		apitest.Step{Do: "GET /api/v1/users/{{me}}", Status: 404, Code: "E0000007"},
		apitest.Step{Name: "messages are deleted", Do: "GET /sandbox/v1/outbox", Equal: map[string]any{"#": 0}},
		apitest.Step{Name: "the group Everyone exists", Do: "GET /api/v1/groups", Equal: map[string]any{"#": 1, "0.type": "BUILT_IN"}},
		apitest.Step{Name: "the administrator is a member of Everyone", Do: "GET /api/v1/users/me/groups", Equal: map[string]any{"#": 1}},
		apitest.Step{Name: "the log has only events after the reset",
			Do: "GET /api/v1/logs?filter=" + `eventType%20eq%20%22user.lifecycle.create%22`, Equal: map[string]any{"#": 0}},
		apitest.Step{Name: "logins can be used again", Do: "POST /api/v1/users", Body: ann + `}`},
		apitest.Step{Do: "POST /sandbox/v1/reset", Body: `{"seed":true}`, Status: 204},
	)
	require.Equal(t, []bool{false, true}, seeds)
}

func TestReset_FailureChangesNothing(t *testing.T) {
	e, _ := serve(t)
	e.Run(t, apitest.Step{Do: "POST /api/v1/users", Body: ann + `}`})
	rejected := fmt.Errorf("rejected")
	require.ErrorIs(t,
		e.API.Reset(t.Context(), assembly.Setup{Token: apitest.Token}, func(context.Context, *docstore.Tx, []string) error { return rejected }),
		rejected)
	e.Run(t,
		apitest.Step{Do: "GET /api/v1/users/ann@example.com", Equal: map[string]any{"status": "PROVISIONED"}},
		apitest.Step{Do: "GET /sandbox/v1/outbox", Equal: map[string]any{"#": 1}},
	)
}
