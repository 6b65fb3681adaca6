package endpoints_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/hookstest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// at returns a member of a JSON value by its path.
func at(value any, path ...string) any {
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// Proves A-events-02, A-events-03, A-events-04, A-events-05, A-events-06, A-events-07, A-events-08, A-events-09, A-events-10, A-events-11,
// A-events-12, A-events-13, A-events-14, A-events-15, A-events-16, A-events-17, A-events-18, A-events-19, A-events-20.
func TestTokenHook_WholeEvent(t *testing.T) {
	w, endpoint := hookedWorld(t, sqldbtest.SQLite(t), time.Minute)
	w.Unrecorded()
	user := w.post("/api/v1/users", fmt.Sprintf(`{"profile":{"login":"ann@example.com","email":"ann@example.com","firstName":"Ann",`+
		`"lastName":"Archer",
		"locale":"en_US","timezone":"Europe/Zurich"},"credentials":{"password":{"value":%q}}}`, password)).Value("id")
	id, secret := w.app()
	w.post("/api/v1/apps/"+id+"/users", fmt.Sprintf(`{"id":%q}`, user))
	hook := w.hook("com.svc.oauth2.tokens.transform", endpoint.URL)
	policy := w.Do(t, "GET "+servers+"/default/policies", "", nil).Value("0.id")
	rules := servers + "/default/policies/" + policy + "/rules"
	rule := w.Do(t, "GET "+rules, "", nil).Value("0.id")
	w.Run(t, step{Do: "PUT " + rules + "/" + rule, Body: fmt.Sprintf(
		`{"name":"hooked","conditions":{"grantTypes":{"include":["password"]},"scopes":{"include":["*"]}},`+
			`"actions":{"token":{"inlineHook":{"id":%q}}}}`, hook)})

	event := func() map[string]any {
		endpoint.Answer(hookstest.JSON(204, ""))
		a := w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "password", "username", "ann@example.com",
			"password", password, "scope", "openid email")
		require.Equal(t, 200, a.Status, "%s", a.Body)
		var event map[string]any
		require.NoError(t, json.Unmarshal([]byte(endpoint.Called(1)[0].Body), &event))
		return event
	}
	first := event()
	issuer, now := w.Server.URL+"/oauth2/default", w.Clock.Now().UTC().Truncate(time.Second).Format("2006-01-02T15:04:05.000Z")
	data := first["data"]
	context := at(data, "context")
	for name, got := range map[string][2]any{
		"eventTypeVersion":   {"1.0", first["eventTypeVersion"]},
		"cloudEventVersion":  {"0.1", first["cloudEventVersion"]},
		"contentType":        {"application/json", first["contentType"]},
		"eventType":          {"com.svc.oauth2.tokens.transform", first["eventType"]},
		"request.method":     {"POST", at(context, "request", "method")},
		"request.url":        {issuer + "/v1/token", at(context, "request", "url", "value")},
		"request.ipAddress":  {"127.0.0.1", at(context, "request", "ipAddress")},
		"protocol.type":      {"OAUTH2.0", at(context, "protocol", "type")},
		"protocol.issuer":    {issuer, at(context, "protocol", "issuer", "uri")},
		"protocol.scope":     {"openid email", at(context, "protocol", "request", "scope")},
		"protocol.client_id": {id, at(context, "protocol", "request", "client_id")},
		"client.id":          {id, at(context, "protocol", "client", "id")},
		"client.name":        {"Desk", at(context, "protocol", "client", "name")},
		"client.type":        {"CONFIDENTIAL", at(context, "protocol", "client", "type")},
		"session.userId":     {user, at(context, "session", "userId")},
		"session.login":      {"ann@example.com", at(context, "session", "login")},
		"session.createdAt":  {now, at(context, "session", "createdAt")},
		"session.status":     {"ACTIVE", at(context, "session", "status")},
		"session.password":   {now, at(context, "session", "lastPasswordVerification")},
		"session.amr":        {[]any{"pwd"}, at(context, "session", "amr")},
		"session.idp":        {"SVC", at(context, "session", "idp", "type")},
		"session.mfaActive":  {false, at(context, "session", "mfaActive")},
		"user.id":            {user, at(context, "user", "id")},
		"user.changed":       {now, at(context, "user", "passwordChanged")},
		"profile.login":      {"ann@example.com", at(context, "user", "profile", "login")},
		"profile.firstName":  {"Ann", at(context, "user", "profile", "firstName")},
		"profile.lastName":   {"Archer", at(context, "user", "profile", "lastName")},
		"profile.locale":     {"en_US", at(context, "user", "profile", "locale")},
		"profile.timeZone":   {"Europe/Zurich", at(context, "user", "profile", "timeZone")},
		"policy":             {policy, at(context, "policy", "id")},
		"rule":               {rule, at(context, "policy", "rule", "id")},
		"identity.sub":       {user, at(data, "identity", "claims", "sub")},
		"identity.lifetime":  {3600.0, at(data, "identity", "token", "lifetime", "expiration")},
		"access.sub":         {"ann@example.com", at(data, "access", "claims", "sub")},
		"access.lifetime":    {3600.0, at(data, "access", "token", "lifetime", "expiration")},
		"scopes.email":       {"GRANT", at(data, "access", "scopes", "email", "action")},
	} {
		require.Equal(t, got[0], got[1], name)
	}
	require.Regexp(t, "^https?://", first["source"])
	require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`, first["eventTime"])
	for name, got := range map[string]any{
		"the request": at(context, "request", "id"), "the end of the session": at(context, "session", "expiresAt"),
		"the session":      at(context, "session", "id"),
		"the organization": at(context, "session", "idp", "id"), "links": at(context, "user", "_links", "groups", "href"),
		"the scope": at(data, "access", "scopes", "openid", "id"),
	} {
		require.NotEmpty(t, got, name)
	}
	session, _ := at(context, "session", "id").(string)
	require.Equal(t, 404, w.Do(t, "GET /api/v1/sessions/"+session, "", nil).Status, "the id grants no access")

	w.Run(t,
		step{Do: "POST /api/v1/users/" + user + "/factors",
			Body: `{"factorType":"question","provider":"SVC","profile":{"question":"first_award","answer":"a medal"}}`},
	)
	w.Clock.Advance(time.Minute)
	second := event()
	require.NotEqual(t, first["eventId"], second["eventId"])
	require.Equal(t, true, at(second["data"], "context", "session", "mfaActive"))
	require.NotEqual(t, session, at(second["data"], "context", "session", "id"), "another sign-in")
}

// Proves B-users-70, B-users-71, B-users-72.
func TestUserTokens_Revoked(t *testing.T) {
	w := newWorld(t, sqldbtest.SQLite(t))
	w.Unrecorded()
	user := w.user("ann")
	a := w.post("/oauth2/v1/clients",
		`{"client_name":"Desk","application_type":"web","grant_types":["password","refresh_token"],"response_types":["token"],
		"client_uri":"https://desk.example","logo_uri":"https://desk.example/logo.png"}`)
	id, secret := a.Value("client_id"), a.Value("client_secret")
	w.post("/api/v1/apps/"+id+"/users", fmt.Sprintf(`{"id":%q}`, user))
	sign := func() (access, refresh string) {
		a := w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "password", "username", "ann", "password", password,
			"scope", "openid offline_access")
		return a.Value("access_token"), a.Value("refresh_token")
	}
	active := func(token string) string {
		return w.form("/oauth2/default/v1/introspect", basic(id, secret), "token", token).Value("active")
	}
	access, refresh := sign()
	w.Run(t, step{Do: "GET /api/v1/users/" + user + "/clients", Equal: values{
		"#": 1, "0.client_id": id, "0.client_name": "Desk", "0.client_uri": "https://desk.example",
		"0.logo_uri": "https://desk.example/logo.png",
	}, Has: []string{"0._links.grants.href", "0._links.tokens.href"}, Save: saved{"tokens": "0._links.tokens.href",
		"grants": "0._links.grants.href"}},
		step{Do: "GET {{grants}}"},
	)
	at := "/api/v1/users/" + user + "/clients/" + id + "/tokens"
	token := w.Do(t, "GET "+at, "", nil).Value("0.id")
	again := w.form("/oauth2/default/v1/token", basic(id, secret), "grant_type", "refresh_token", "refresh_token",
		refresh).Value("access_token")
	other, otherRefresh := sign()
	for _, token := range []string{access, refresh, again, other, otherRefresh} {
		require.Equal(t, "true", active(token))
	}
	w.Run(t, step{Do: "DELETE " + at + "/" + token, Status: 204})
	require.Equal(t, []string{"false", "false", "false", "true", "true"},
		[]string{active(access), active(refresh), active(again), active(other), active(otherRefresh)},
		"all tokens issued with it are revoked")
}
