package slicetest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/log/syslog"
)

const password = "Tlpwd-2026"

// syslogUser returns the body of a user.
func syslogUser(login string) string {
	return fmt.Sprintf(`{"profile":{"login":%q,"email":%q,"firstName":"Isaac","lastName":"Brock"},"credentials":{"password":{"value":%q},`+
		`"recovery_question":{"question":"Which?","answer":"Fourteen"}}}`,
		login, login, password)
}

// types returns the types of the events in a list.
func types(a *apitest.Answer) []string {
	out := []string{}
	list, _ := a.JSON.([]any)
	for _, event := range list {
		out = append(out, event.(map[string]any)["eventType"].(string))
	}
	return out
}

func wrote(want ...string) func(t *testing.T, a *apitest.Answer) {
	return func(t *testing.T, a *apitest.Answer) {
		t.Helper()
		if want == nil {
			want = []string{}
		}
		require.Empty(t, cmp.Diff(want, types(a)))
	}
}

// TestLog_EventMembers checks the members of the log event that the creation of a user writes.
func TestLog_EventMembers(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		admin := e.Do(t, "GET /api/v1/users/me", "", nil).Value("id")
		created := e.Do(t, "POST /api/v1/users?activate=true&token=s3cret", syslogUser("isaac@example.com"), map[string]string{
			"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36",
		})
		e.Run(t, apitest.Step{Do: "GET /api/v1/logs", Equal: map[string]any{
			"#": 2, "0.eventType": "user.lifecycle.create", "1.eventType": "user.lifecycle.activate",
			"0.published": "2026-03-04T05:06:07.890Z", "0.version": "0", "0.severity": "INFO", "0.displayMessage": "Create a user",
			"0.legacyEventType": nil,
			"0.actor.id":        admin, "0.actor.type": "User", "0.actor.alternateId": assembly.DefaultLogin,
			"0.actor.displayName": "Built-in Administrator", "0.actor.detailEntry": nil,
			"0.client.userAgent.os": "Linux", "0.client.userAgent.browser": "CHROME", "0.client.device": "Computer",
			"0.client.ipAddress": "127.0.0.1",
			"0.client.zone":      nil, "0.client.id": nil, "0.client.geographicalContext": nil, "0.device": nil,
			"0.outcome.result": "SUCCESS", "0.outcome.reason": nil,
			"0.target.#": 1, "0.target.0.id": created.Value("id"), "0.target.0.type": "User", "0.target.0.alternateId": "isaac@example.com",
			"0.target.0.displayName": "Isaac Brock",
			"0.transaction.type":     "WEB", "0.transaction.id": created.Header.Get("X-Svc-Request-Id"),
			"1.transaction.id":                    created.Header.Get("X-Svc-Request-Id"),
			"0.debugContext.debugData.requestUri": "/api/v1/users", "0.debugContext.debugData.url": "/api/v1/users?activate=true&token=redacted",
			"0.debugContext.debugData.requestId":             created.Header.Get("X-Svc-Request-Id"),
			"0.authenticationContext.authenticationProvider": "SVC_AUTHENTICATION_PROVIDER", "0.authenticationContext.authenticationStep": 0,
			"0.securityContext.asNumber": nil, "0.securityContext.isProxy": nil,
			"0.request.ipChain.#": 1, "0.request.ipChain.0.ip": "127.0.0.1", "0.request.ipChain.0.version": "V4",
		}, Has: []string{"0.uuid", "0.transaction.detail.requestApiTokenId", "0.authenticationContext.externalSessionId"}})
	})
}

// TestLog_OmitsRequestsWithoutEffect checks that the service logs no request that leaves the stored objects unchanged.
func TestLog_OmitsRequestsWithoutEffect(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Run(t,
		apitest.Step{Do: "POST /api/v1/users", Body: syslogUser("isaac@example.com")},
		apitest.Step{Do: "POST /api/v1/users", Body: syslogUser("isaac@example.com"), Status: 400, Code: "E0000001"},
		apitest.Step{Do: "POST /api/v1/users/isaac", Body: `{"profile":{"firstName":"Isaac"}}`},
		apitest.Step{Do: "POST /api/v1/users/isaac", Body: `{"profile":{"firstName":"I","nickName":"Izzy"}}`},
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"G"}}`, Save: map[string]string{"g": "id"}},
		apitest.Step{Do: "PUT /api/v1/groups/{{g}}/users/isaac", Status: 204},
		apitest.Step{Do: "PUT /api/v1/groups/{{g}}/users/isaac", Status: 204},
		apitest.Step{Do: "POST /api/v1/users/isaac/lifecycle/unsuspend", Status: 400, Code: "E0000001"},
		apitest.Step{Do: "GET /api/v1/logs", Equal: map[string]any{"2.debugContext.debugData.changedAttributes": "firstName,nickName"},
			Then: wrote("user.lifecycle.create", "user.lifecycle.activate", "user.account.update_profile", "group.lifecycle.create",
				"group.user_membership.add")},
	)
}

// TestLog_RecordsRejectedRequests checks that the service logs each rejected token, and an exceeded rate limit once per window.
func TestLog_RecordsRejectedRequests(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db, func(o *assembly.Options) {
			o.RateLimits = callers.Limits{PerMinute: map[string]int{callers.BucketGroups: 1}}
		})
		saved := e.Run(t, apitest.Step{Do: "POST /api/v1/users", Body: syslogUser("isaac@example.com"), Save: map[string]string{"u": "id"}})
		token := "00tokenOfIsaac"
		require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
			deps := model.Deps{Model: e.Model, Store: e.Store, Now: e.Clock.Now}
			_, err := callers.StoreToken(t.Context(), tx, deps, callers.Token{Name: "ci", UserID: saved["u"], Client: "ci", Secret: token})
			return err
		}))
		as := func(secret string) map[string]string { return map[string]string{"Authorization": "SSWS " + secret} }
		limited := apitest.Step{Do: "GET /api/v1/groups", Status: http.StatusTooManyRequests, Code: "E0000047"}
		e.Run(t,
			apitest.Step{Do: "GET /api/v1/groups"}, limited, limited,
			apitest.Step{Do: "GET /api/v1/users/me", Header: as("unknownSecret"), Status: 401, Code: "E0000011"},
			apitest.Step{Do: "POST /api/v1/users/isaac/lifecycle/suspend"},
			apitest.Step{Do: "GET /api/v1/users/me", Header: as(token), Status: 401, Code: "E0000011"},
			apitest.Step{Name: "an exceeded limit is logged once per window", Do: `GET /api/v1/logs?filter=outcome.result+eq+"FAILURE"`,
				Then: wrote("system.org.rate_limit.violation", "system.api_token.refuse", "system.api_token.refuse"),
				Equal: map[string]any{
					"0.severity": "WARN", "0.target.0.id": "groups", "0.actor.id": "unknown",
					"0.outcome.reason": "The limit of 1 requests a minute was exceeded",
					"1.actor.id":       "unknown", "1.outcome.reason": "The token is unknown", "1.target.#": 0,
					"2.actor.alternateId": "isaac@example.com", "2.target.0.displayName": "ci", "2.outcome.reason": "The owner of the token is not active",
				}},
		)
		e.Clock.Advance(callers.TokenWindow)
		e.Clock.Advance(time.Second)
		// The token of the administrator has expired, too, so the test reads the log event from the store.
		e.Do(t, "GET /api/v1/users/me", "", nil)
		page, err := e.Model.LogEvents.Query(t.Context(), e.Store.Reader(),
			docstore.Query[model.LogEvent]{OrderBy: docstore.ID, Desc: true, Limit: 1})
		require.NoError(t, err)
		require.Equal(t, "The token has expired", page.Docs[0].Value.Reason)
		require.Equal(t, assembly.DefaultLogin, page.Docs[0].Value.Actor.AlternateID)
	})
}

// TestLog_LimitsRejectedTokens checks that the service logs at most 60 unknown tokens in a burst, and one more per second.
func TestLog_LimitsRejectedTokens(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	try := func(n int) (logged int) {
		for i := range n {
			a := e.Do(t, "GET /api/v1/users/me", "", map[string]string{"Authorization": fmt.Sprintf("SSWS guess%d", i)})
			require.Equal(t, "E0000011", a.Value("errorCode"), "every token is rejected")
		}
		return len(types(e.Do(t, "GET /api/v1/logs", "", nil)))
	}
	require.Equal(t, 60, try(70))
	e.Clock.Advance(2 * time.Second)
	require.Equal(t, 62, try(5))
}

func TestLog_Periods(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	group := func(name string) {
		e.Do(t, "POST /api/v1/groups", fmt.Sprintf(`{"profile":{"name":%q}}`, name), nil)
		e.Clock.Advance(24 * time.Hour)
	}
	for _, name := range []string{"4th", "5th", "6th"} { // the clock is at 05:06:07.890 on these days of March
		group(name)
	}
	list := func(query string, names ...string) apitest.Step {
		return apitest.Step{Name: query, Do: "GET /api/v1/logs?" + query, Then: func(t *testing.T, a *apitest.Answer) {
			have := []string{}
			for i := range types(a) {
				have = append(have, a.Value(fmt.Sprintf("%d.target.0.displayName", i)))
			}
			require.Equal(t, append([]string{}, names...), have)
		}}
	}
	e.Run(t,
		list("", "4th", "5th", "6th"),
		list("sortOrder=DESCENDING", "6th", "5th", "4th"),
		list("since=2026-03-05T05:06:07.890Z", "5th", "6th"),
		list("since=2026-03-05T05:06:07.891Z", "6th"),
		list("until=2026-03-05T05:06:07.890Z", "4th", "5th"),
		list("until=2026-03-05T05:06:07.889Z", "4th"),
		list("since=2026-03-05T06:06:07.890%2B01:00&until=2026-03-05T05:06:07.890Z", "5th"),
		list("since=2026-03-01T00:00:00Z&until=2026-03-02T00:00:00Z"),
		apitest.Step{Do: "GET /api/v1/logs?since=yesterday&until=2026-03-05", Status: 400, Code: "E0000001",
			Causes: []string{"since: ", "until: "}},
		apitest.Step{Do: "GET /api/v1/logs?since=2026-03-05T00:00:00Z&until=2026-03-04T00:00:00Z", Status: 400, Code: "E0000001",
			Causes: []string{"since: "}},
		apitest.Step{Do: "GET /api/v1/logs?since=2025-01-01T00:00:00Z", Status: 400, Code: "E0000053"},
		apitest.Step{Do: "GET /api/v1/logs?until=2025-01-01T00:00:00Z", Status: 400, Code: "E0000053"},
		apitest.Step{Do: "GET /api/v1/logs?limit=1001", Status: 400, Code: "E0000001", Causes: []string{"limit: "}},
		apitest.Step{Do: "GET /api/v1/logs?limit=0", Status: 400, Code: "E0000001", Causes: []string{"limit: "}},
		apitest.Step{Do: "GET /api/v1/logs?sortOrder=UP", Status: 400, Code: "E0000001", Causes: []string{"sortOrder: "}},
	)
	e.Clock.Advance(5 * 24 * time.Hour)
	e.Run(t, list("", "5th", "6th")) // without since, the list starts a week ago, here on the 5th
}

func TestLog_PagesAndPolling(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		for i := range 5 {
			e.Do(t, "POST /api/v1/groups", fmt.Sprintf(`{"profile":{"name":"g%d"}}`, i), nil)
		}
		walk := func(url string) (names []string, last string) {
			for url != "" {
				a := e.Do(t, "GET "+url, "", nil)
				require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
				if len(types(a)) == 0 {
					return names, a.Value("link:next")
				}
				for i := range types(a) {
					names = append(names, a.Value(fmt.Sprintf("%d.target.0.displayName", i)))
				}
				url = a.Value("link:next")
			}
			return names, ""
		}
		bounded, last := walk("/api/v1/logs?limit=2&until=2026-03-05T00:00:00Z")
		require.Equal(t, []string{"g0", "g1", "g2", "g3", "g4"}, bounded)
		require.Empty(t, last, "a list with an end time has a last page")
		backwards, last := walk("/api/v1/logs?limit=2&sortOrder=DESCENDING")
		require.Equal(t, []string{"g4", "g3", "g2", "g1", "g0"}, backwards)
		require.Empty(t, last)

		polled, next := walk("/api/v1/logs?limit=2")
		require.Equal(t, bounded, polled)
		require.NotEmpty(t, next, "a list without an end time always has a next page")
		again, next := walk(next)
		require.Empty(t, again)
		e.Do(t, "POST /api/v1/groups", `{"profile":{"name":"g5"}}`, nil)
		e.Clock.Advance(time.Second)
		e.Do(t, "POST /api/v1/groups", `{"profile":{"name":"g6"}}`, nil)
		more, next := walk(next)
		require.Equal(t, []string{"g5", "g6"}, more, "no duplicate and no missing event")

		_, empty := walk("/api/v1/logs?since=2026-03-04T06:00:00Z")
		require.NotEmpty(t, empty, "an empty page also has a next page")
		e.Clock.Advance(time.Hour)
		e.Do(t, "POST /api/v1/groups", `{"profile":{"name":"g7"}}`, nil)
		for _, url := range []string{empty, next} {
			later, _ := walk(url)
			require.Equal(t, []string{"g7"}, later)
		}
		for _, bad := range []string{"x", "MTIz", "%21"} {
			require.Equal(t, "E0000029", e.Do(t, "GET /api/v1/logs?after="+bad, "", nil).Value("errorCode"))
		}
	})
}

func TestLog_Filters(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	saved := e.Run(t,
		apitest.Step{Do: "POST /api/v1/users", Body: syslogUser("isaac@example.com"), Save: map[string]string{"u": "id"}},
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Guitars"}}`, Save: map[string]string{"g": "id"}},
		apitest.Step{Do: "PUT /api/v1/groups/{{g}}/users/isaac", Status: 204},
	)
	const (
		create, activate, group, join = "user.lifecycle.create", "user.lifecycle.activate", "group.lifecycle.create", "group.user_membership.add"
	)
	for expression, want := range map[string][]string{
		`eventType eq "user.lifecycle.create"`:                                                   {create},
		`eventType EQ "USER.lifecycle.create"`:                                                   {},
		`eventType sw "user."`:                                                                   {create, activate},
		`eventType ew ".create"`:                                                                 {create, group},
		`eventType co "membership" or eventType eq "group.lifecycle.create"`:                     {group, join},
		`eventType ne "user.lifecycle.create"`:                                                   {activate, group, join},
		`not (eventType sw "user.") and eventType ew "create"`:                                   {group},
		`target.id eq "` + saved["u"] + `"`:                                                      {create, activate, join},
		`target.type eq "UserGroup" and target.displayName eq "Guitars"`:                         {group, join},
		`target.type ne "UserGroup"`:                                                             {create, activate},
		`actor.alternateId eq "admin@example.com"`:                                               {create, activate, group, join},
		`outcome.reason pr`:                                                                      {},
		`outcome.reason ne "x"`:                                                                  {},
		`client.userAgent.rawUserAgent co "Go-http"`:                                             {create, activate, group, join},
		`published ge "2026-03-04T06:06:07.890+01:00"`:                                           {create, activate, group, join},
		`published lt "2026-03-04T05:06:07.890Z"`:                                                {},
		`published eq "2026-03-04T05:06:07.890Z" and severity eq "INFO"`:                         {create, activate, group, join},
		`debugContext.debugData.requestUri eq "/api/v1/users"`:                                   {create, activate},
		`debugContext.debugData.nothing eq "x"`:                                                  {},
		`authenticationContext.authenticationStep eq 0`:                                          {create, activate, group, join},
		`authenticationContext.authenticationStep gt 0`:                                          {},
		`request.ipChain.ip eq "127.0.0.1" and transaction.type eq "WEB"`:                        {create, activate, group, join},
		`legacyEventType pr or securityContext.isProxy eq true`:                                  {},
		`uuid pr and (eventType gt "user.lifecycle.b" and eventType le "user.lifecycle.CREATE")`: {create},
	} {
		e.Run(t, apitest.Step{Name: expression, Do: "GET /api/v1/logs?filter=" + escape(expression), Then: wrote(want...)})
	}
	for _, expression := range []string{
		`eventtype eq "x"`, `nothing eq "x"`, `actor eq "x"`, `target.nothing pr`, `target pr`, `debugContext.debugData pr`, `eventType eq 1`,
		`eventType eq true`,
		`published eq "yesterday"`, `published co "2026"`, `authenticationContext.authenticationStep eq "0"`,
		`authenticationContext.authenticationStep co 1`,
		`securityContext.isProxy gt true`, `eventType eq null`, `eventType`, `eventType eq`, `target[id eq "x"]`, `(eventType eq "x"`,
		`eventType.x eq "y"`,
	} {
		e.Run(t, apitest.Step{Name: "rejects " + expression, Do: "GET /api/v1/logs?filter=" + escape(expression), Status: 400, Code: "E0000053"})
	}
	for q, want := range map[string][]string{
		"GUITARS":             {group, join},
		"guitars isaac":       {join},
		"Isaac nobody":        {},
		"  lifecycle  CREATE": {create, group},
	} {
		e.Run(t, apitest.Step{Name: "words " + q, Do: "GET /api/v1/logs?q=" + escape(q), Then: wrote(want...)})
	}
	e.Run(t,
		apitest.Step{Do: "GET /api/v1/logs?q=" + strings.Repeat("x", 41), Status: 400, Code: "E0000001", Causes: []string{"q: "}},
		apitest.Step{Do: "GET /api/v1/logs?q=" + strings.Repeat("x+", 11), Status: 400, Code: "E0000001", Causes: []string{"q: "}},
		apitest.Step{Do: "GET /api/v1/logs?limit=1&filter=" + escape(`eventType ew "create"`), Then: func(t *testing.T, a *apitest.Answer) {
			wrote(create)(t, a)
			next := e.Do(t, "GET "+a.Value("link:next"), "", nil)
			wrote(group)(t, next)
		}},
	)
}

func escape(text string) string {
	return strings.NewReplacer(" ", "+", `"`, "%22", "+", "%2B", "[", "%5B", "]", "%5D").Replace(text)
}

// The log must not contain secrets: more users can read the log than the objects that its events describe.
func TestLog_ContainsNoSecrets(t *testing.T) {
	w := apptest.New(t)
	w.Unrecorded()
	isaac := w.Post("/users?activate=false&password="+password, syslogUser("isaac@example.com")).OK().Text("id")
	activation := w.Post("/users/"+isaac+"/lifecycle/activate?sendEmail=false", nil).OK().Text("activationToken")
	w.Post("/users/"+isaac,
		`{"credentials":{"password":{"value":"Another-2026"},"recovery_question":{"question":"Who?","answer":"Mousetrap"}}}`).OK()
	app := w.SCIMApp("HR")
	w.Connect(app, apptest.All)
	w.Tester.Fail(fmt.Errorf("the target said: who is %s", apptest.Secret))
	w.Post("/apps/"+app+"/connections/default/lifecycle/activate", nil).Fails(400, "E0000059")
	shared := w.Post("/apps",
		`{"name":"template_swa","label":"S","settings":{"app":{"url":"https://x.example.com","usernameField":"u","passwordField":"p",`+
			`"buttonField":"b"}}}`).OK().Text("id")
	w.Post("/apps/"+shared+"/users",
		map[string]any{"id": isaac, "credentials": map[string]any{"userName": "i", "password": map[string]any{"value": "appPassword1"}}}).OK()

	var all strings.Builder
	n := 0
	require.NoError(t, model.Each(t.Context(), w.Store.Reader(), w.Model.LogEvents, nil, func(doc docstore.Doc[model.LogEvent]) error {
		data, err := json.Marshal(doc.Value)
		all.Write(data)
		n++
		return err
	}))
	require.Greater(t, n, 8)
	require.Contains(t, all.String(), "who is [redacted]")
	for _, secret := range []string{password, "Another-2026", "Fourteen", "Mousetrap", activation, apptest.Secret, "appPassword1",
		apitest.Token, "$2a$"} {
		require.NotEmpty(t, secret)
		require.NotContains(t, all.String(), secret)
	}
}

func TestLog_PurgesOldEvents(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		purge := func() int {
			n, err := e.API.PurgeLog(t.Context())
			require.NoError(t, err)
			return n
		}
		e.Do(t, "POST /api/v1/groups", `{"profile":{"name":"old"}}`, nil)
		e.Clock.Advance(time.Millisecond)
		e.Do(t, "POST /api/v1/groups", `{"profile":{"name":"new"}}`, nil)
		e.Clock.Advance(syslog.Retention - time.Millisecond)
		require.Zero(t, purge(), "both events are within the retention")
		e.Clock.Advance(time.Millisecond)
		require.Equal(t, 1, purge())
		n, err := e.Model.LogEvents.Count(t.Context(), e.Store.Reader(), nil)
		require.NoError(t, err)
		require.Equal(t, 1, n)
	})
}
