package users_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

type (
	step   = apitest.Step
	values = map[string]any
	saved  = map[string]string
)

const users = "POST /api/v1/users"

// with returns the body of a user with one changed profile attribute; the value is JSON.
func with(t *testing.T, attribute, value string) string {
	t.Helper()
	profile := map[string]json.RawMessage{"login": []byte(`"x@example.com"`), "email": []byte(`"x@example.com"`),
		"firstName": []byte(`"X"`), "lastName": []byte(`"Y"`)}
	if value == "" {
		delete(profile, attribute)
	} else {
		profile[attribute] = json.RawMessage(value)
	}
	body, err := json.Marshal(map[string]any{"profile": profile})
	require.NoError(t, err)
	return string(body)
}

// text returns a JSON string of n characters that ends with tail.
func text(n int, tail string) string { return `"` + strings.Repeat("a", n-len(tail)) + tail + `"` }

// Proves B-profile-01, B-profile-04, B-profile-05, B-profile-07, B-profile-08, B-profile-09, B-profile-10, B-profile-11, B-profile-12,
// B-profile-13, B-profile-14, B-profile-15, B-profile-16, B-profile-18, B-profile-21, B-profile-22, B-profile-23.
func TestProfile_Values(t *testing.T) {
	const address = "@example.com"
	type rule struct{ good, bad []string }
	rules := map[string]rule{
		"login": {[]string{`"a@b.c"`, text(100, address)}, []string{"", "null", `"a@b"`, text(101, address),
			`"a/b@example.com"`, `"nobody"`}},
		"email": {[]string{`"a@b.c"`, text(100, address), `"o'brien+tag@example.com"`}, []string{"", "null", `"a@b"`,
			text(101, address), `"nobody"`, `"a b@example.com"`}},
		"secondEmail":       {[]string{"null", `"a@b.c"`, text(100, address)}, []string{`"a@b"`, text(101, address), `"nobody"`}},
		"firstName":         {[]string{text(1, ""), text(50, "")}, []string{"", "null", `""`, text(51, "")}},
		"lastName":          {[]string{text(1, ""), text(50, "")}, []string{"", "null", `""`, text(51, "")}},
		"profileUrl":        {[]string{"null", `"https://example.com/x"`}, []string{`"nowhere"`}},
		"primaryPhone":      {[]string{"null", `""`, text(100, "")}, []string{text(101, "")}},
		"mobilePhone":       {[]string{"null", `""`, text(100, "")}, []string{text(101, "")}},
		"countryCode":       {[]string{"null", `"CH"`, `"US"`}, []string{`"XX"`, `"CHE"`}},
		"preferredLanguage": {[]string{`"de-CH, de;q=0.9"`, `"en"`}, []string{`"english language"`}},
		"locale":            {[]string{`"de_CH"`, `"en_US"`}, []string{`"english"`, `"de-CH"`, `"xx_US"`, `"en_XX"`}},
		"timezone":          {[]string{"null", `"Europe/Zurich"`, `"UTC"`}, []string{`"Mars/Base"`}},
	}
	for _, name := range strings.Fields(`middleName honorificPrefix honorificSuffix title displayName nickName streetAddress city state
		zipCode postalAddress userType employeeNumber costCenter organization division department managerId manager`) {
		rules[name] = rule{[]string{"null", `"x"`, text(200, "")}, []string{"7", "true", "[]"}}
	}
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	for attribute, rule := range rules {
		for _, value := range rule.good {
			var want any
			require.NoError(t, json.Unmarshal([]byte(value), &want))
			name := attribute + " " + value[:min(len(value), 40)]
			s := step{Name: name, Do: users, Body: with(t, attribute, value), Save: saved{"u": "id"}}
			if want != nil && want != "" {
				s.Equal = values{"profile." + attribute: want}
			}
			e.Run(t, s,
				step{Name: "which goes", Do: "DELETE /api/v1/users/{{u}}", Status: 204},
				step{Name: "for good", Do: "DELETE /api/v1/users/{{u}}", Status: 204},
			)
		}
		for _, value := range rule.bad {
			e.Run(t, step{Name: "not " + attribute + " " + value[:min(len(value), 40)], Do: users, Body: with(t, attribute, value),
				Status: 400, Code: "E0000001", Causes: []string{attribute + ": "}})
		}
	}
}

// Proves B-profile-25.
func TestSchema_NullableNames(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	const schema = "POST /api/v1/meta/schemas/user/default"
	for _, name := range []string{"firstName", "lastName"} {
		e.Run(t,
			step{Do: users, Body: with(t, name, ""), Status: 400, Code: "E0000001", Causes: []string{name + ": "}},
			step{Do: schema, Body: `{"definitions":{"base":{"properties":{"` + name + `":{"required":false}}}}}`},
			step{Do: users, Body: with(t, name, ""), Equal: values{"profile." + name: nil}, Save: saved{"u": "id"}},
			step{Do: "DELETE /api/v1/users/{{u}}", Status: 204}, step{Do: "DELETE /api/v1/users/{{u}}", Status: 204},
		)
	}
}

// Proves B-credentials-01, B-credentials-04, B-credentials-05, B-credentials-07, B-credentials-11, B-credentials-12, B-credentials-13,
// B-credentials-14, B-credentials-15, B-credentials-16, B-hashes-01, B-hashes-07, B-hashes-08.
func TestCredentials_Rules(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	const login = "ann.lee,smith_jones#brown-Wren@example.com" // the login is not an email address, so the schema must get another pattern
	e.Run(t, step{Do: "POST /api/v1/meta/schemas/user/default", Body: `{"definitions":{"base":{"properties":{"login":{"pattern":".+"}}}}}`})
	create := func(password string) string {
		return fmt.Sprintf(`{"profile":{"login":%q,"email":"x@example.com","firstName":"X","lastName":"Y"},`+
			`"credentials":{"password":%s}}`, login, password)
	}
	value := func(text string) string { return fmt.Sprintf(`{"value":%q}`, text) }
	for _, bad := range []string{"Abcdef1", "abcdefg1", "ABCDEFG1", "Abcdefgh", "xX1smith1x", "xX1jones1x", "xX1BROWN1x", "xX1wren1x"} {
		e.Run(t, step{Name: bad, Do: users, Body: create(value(bad)), Status: 400, Code: "E0000001", Causes: []string{"password: "}})
	}
	// a password may contain the domain, and parts of the login with fewer than four characters
	for _, good := range []string{"Abcdefg1", "Ann-Lee-2026", "Example-2026"} {
		e.Run(t,
			step{Name: good, Do: users, Body: create(value(good)), Save: saved{"u": "id"}, Then: func(t *testing.T, a *apitest.Answer) {
				require.Equal(t, map[string]any{}, a.JSON.(map[string]any)["credentials"].(map[string]any)["password"])
				require.NotContains(t, string(a.Body), good)
			}},
			step{Do: "DELETE /api/v1/users/{{u}}", Status: 204}, step{Do: "DELETE /api/v1/users/{{u}}", Status: 204},
		)
	}
	// An MD5 hash of a word that no policy would allow.
	const hash = `{"hash":{"algorithm":"MD5","value":"CY9rzUYh03PK3k6DJie09g=="}}` // test
	bcrypt := func(factor int, salt string) string {
		return fmt.Sprintf(`{"hash":{"algorithm":"BCRYPT","workFactor":%d,"salt":%q,"value":"K1cGxN6vNMzWmNqS6Y9eT3vCyXzVpOe"}}`,
			factor, salt)
	}
	const salt = "rwh>3H48r9E8fJ1b0c2d3e"
	for name, bad := range map[string]string{
		"a short salt": bcrypt(10, strings.Repeat("a", 21)), "a long salt": bcrypt(10, strings.Repeat("a", 23)),
		"not radix64":         bcrypt(10, salt),
		"work factor too low": bcrypt(0, strings.Repeat("a", 22)), "work factor too high": bcrypt(21, strings.Repeat("a", 22)),
	} {
		e.Run(t, step{Name: name, Do: users, Body: create(bad), Status: 400, Code: "E0000001"})
	}
	for name, password := range map[string]string{"a weak password": hash, "the minimum work factor": bcrypt(1, strings.Repeat("a", 22)),
		"a hook": `{"hook":{"type":"default"}}`} {
		e.Run(t,
			step{Name: name, Do: users, Body: create(password), Save: saved{"u": "id"}, Equal: values{"status": "ACTIVE",
				"credentials.provider.type": "IMPORT"},
				Then: func(t *testing.T, a *apitest.Answer) {
					require.Equal(t, map[string]any{}, a.JSON.(map[string]any)["credentials"].(map[string]any)["password"])
				}},
			step{Do: "GET /api/v1/users/{{u}}", Lacks: []string{"credentials.password.hash", "credentials.password.hook",
				"credentials.password.value"}},
			step{Do: "DELETE /api/v1/users/{{u}}", Status: 204}, step{Do: "DELETE /api/v1/users/{{u}}", Status: 204},
		)
	}
	e.Run(t,
		step{Name: "a user without credentials", Do: users, Body: without("none@example.com"),
			Lacks: []string{"credentials.password", "credentials.recovery_question"}},
		step{Name: "an update leaves the provider", Do: users + "/none",
			Body:  `{"credentials":{"provider":{"type":"FEDERATION","name":"FEDERATION"}}}`,
			Equal: values{"credentials.provider.type": "SVC"}},
		step{Do: "GET /api/v1/users/none", Equal: values{"credentials.provider.type": "SVC", "credentials.provider.name": "SVC"}},
	)
	for _, provider := range []string{"FEDERATION", "SOCIAL"} {
		e.Run(t, step{Do: users + "?provider=true", Body: `{` + profile(provider+"@example.com") +
			`,"credentials":{"provider":{"type":"` + provider + `","name":"` + provider + `"}}}`,
			Equal: values{"credentials.provider.type": provider, "credentials.provider.name": provider}})
	}
}

// Proves B-users-19, B-users-20.
func TestCreate_WithProvider(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	for _, provider := range []string{"FEDERATION", "SOCIAL"} {
		body := func(login, more string) string {
			return `{` + profile(login+provider+"@example.com") + `,"credentials":{"provider":{"type":"` + provider + `","name":"` +
				provider + `"}` + more + `}}`
		}
		e.Run(t,
			step{Do: users + "?provider=true", Body: body("a", ""), Equal: values{"status": "ACTIVE"},
				Lacks: []string{"credentials.password", "credentials.recovery_question"}, Save: saved{"u": "id"}},
			step{Do: users + "?provider=true&activate=false", Body: body("b", ""), Equal: values{"status": "STAGED"}},
			step{Do: users + "?provider=true", Body: body("c", `,"password":{"value":"`+password1+`"}`), Status: 400,
				Code: "E0000001", Causes: []string{"password: "}},
			step{Do: users + "?provider=true", Body: body("c", `,"recovery_question":{"question":"Who?","answer":"Annie"}`),
				Status: 400, Code: "E0000001", Causes: []string{"recovery_question: "}},
			step{Do: users + "/{{u}}", Body: `{"credentials":{"password":{"value":"` + password1 + `"}}}`, Status: 400,
				Code: "E0000001", Causes: []string{"password: "}},
			step{Do: users + "/{{u}}", Body: `{"credentials":{"recovery_question":{"question":"Who?","answer":"Annie"}}}`,
				Status: 400, Code: "E0000001", Causes: []string{"recovery_question: "}},
		)
	}
}

// Proves B-users-02, B-users-06, B-users-26.
func TestStatus_Reached(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	signIn := func(login, password string) step {
		return step{Do: "POST /api/v1/authn", Header: saved{"Authorization": ""}, Body: fmt.Sprintf(`{"username":%q,"password":%q}`,
			login, password)}
	}
	const now = "2026-03-04T05:06:07.000Z"
	status := func(login, want string) step {
		return step{Name: login + " is " + want, Do: "GET /api/v1/users/" + login, Equal: values{"status": want}}
	}
	e.Run(t,
		step{Do: users + "?activate=false", Body: withPassword("staged@example.com"), Equal: values{"activated": nil,
			"statusChanged": nil, "lastLogin": nil, "passwordChanged": now}},
		status("staged", "STAGED"),
		step{Do: users, Body: without("provisioned@example.com"), Equal: values{"lastLogin": nil, "passwordChanged": nil}},
		status("provisioned", "PROVISIONED"),
		step{Do: users, Body: withPassword("active@example.com")}, status("active", "ACTIVE"),
		step{Do: users, Body: withPassword("recovery@example.com")}, step{Do: users + "/recovery/lifecycle/reset_password"},
		status("recovery", "RECOVERY"),
		step{Do: users + "?nextLogin=changePassword", Body: withPassword("expired@example.com")}, status("expired", "PASSWORD_EXPIRED"),
		step{Do: users, Body: withPassword("suspended@example.com")}, step{Do: users + "/suspended/lifecycle/suspend"},
		status("suspended", "SUSPENDED"),
		step{Do: users, Body: withPassword("gone@example.com")}, step{Do: users + "/gone/lifecycle/deactivate"},
		status("gone", "DEPROVISIONED"),
		step{Do: users, Body: withPassword("locked@example.com")},
	)
	for range 10 {
		wrong := signIn("locked", "wrong")
		wrong.Status, wrong.Code = 401, "E0000004"
		e.Run(t, wrong)
	}
	e.Run(t, status("locked", "LOCKED_OUT"))

	e.Clock.Advance(time.Hour)
	const later = "2026-03-04T06:06:07.000Z"
	in, expired := signIn("active", password1), signIn("expired", password1)
	in.Equal = values{"status": "SUCCESS"}
	expired.Equal, expired.Save = values{"status": "PASSWORD_EXPIRED"}, saved{"state": "stateToken"}
	e.Run(t,
		in, step{Do: "GET /api/v1/users/active", Equal: values{"lastLogin": later, "activated": now, "statusChanged": now,
			"passwordChanged": now}},
		step{Do: users + "/active/lifecycle/suspend"}, step{Do: "GET /api/v1/users/active", Equal: values{"statusChanged": later}},
		expired,
		step{Do: "POST /api/v1/authn/credentials/change_password", Header: saved{"Authorization": ""},
			Body:  `{"stateToken":"{{state}}","oldPassword":"` + password1 + `","newPassword":"` + other + `"}`,
			Equal: values{"status": "SUCCESS"}},
		step{Do: "GET /api/v1/users/expired", Equal: values{"status": "ACTIVE", "passwordChanged": later}},
		step{Do: users + "/staged/lifecycle/activate"}, step{Do: "GET /api/v1/users/staged", Equal: values{"status": "ACTIVE",
			"activated": later, "statusChanged": later}},
	)
}

// Proves B-users-09, B-users-10.
func TestType_ChangedByReplacement(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	ids := e.Run(t,
		step{Do: "POST /api/v1/meta/types/user", Body: `{"name":"temp","displayName":"Temp"}`, Save: saved{"type": "id"}},
		step{Do: users, Body: without("a@example.com"), Save: saved{"u": "id", "default": "type.id"}},
		step{Do: users + "/{{u}}", Body: `{"type":{"id":"{{type}}"}}`, Status: 400, Code: "E0000001", Causes: []string{"type: "}},
		step{Do: "PUT /api/v1/users/{{u}}", Body: `{` + profile("a@example.com") + `,"type":{"id":"{{type}}"}}`,
			Equal: values{"type.id": "{{type}}"}},
		step{Do: "GET /api/v1/users/{{u}}", Equal: values{"type.id": "{{type}}"}},
	)
	require.NotEqual(t, ids["default"], ids["type"])
}

// Proves B-users-18, B-users-60, B-users-61, B-users-68.
func TestMessages_OfLifecycle(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	e.Unrecorded()
	outbox := func(name string, n int, to string) step {
		return step{Name: name, Do: "GET /sandbox/v1/outbox?to=" + to, Equal: values{"#": n}}
	}
	const user, admin = "isaac@example.com", "admin@example.com"
	e.Run(t,
		step{Do: users, Body: withPassword("a@example.com")},
		step{Name: "no token for a user with a password", Do: "GET /sandbox/v1/outbox?to=" + user, Then: func(t *testing.T,
			a *apitest.Answer) {
			require.NotContains(t, string(a.Body), `"token"`)
		}},
		step{Do: "DELETE /sandbox/v1/outbox", Status: 204},
		step{Do: users + "?activate=false", Body: without("b@example.com")}, outbox("nothing for a staged user", 0, user),
		step{Do: users + "/b/lifecycle/activate?sendEmail=false", Has: []string{"activationUrl", "activationToken"}},
		outbox("no email with sendEmail=false", 0, user),
		step{Do: users + "/b/lifecycle/reactivate", Has: []string{"activationUrl", "activationToken"}}, outbox("no email by default",
			0, user),
		step{Do: users + "/b/lifecycle/reactivate?sendEmail=true", Lacks: []string{"activationUrl", "activationToken"}},
		outbox("an email", 1, user),
		step{Do: "DELETE /api/v1/users/b", Status: 204}, outbox("no email about a deletion", 0, admin),
		step{Do: "DELETE /api/v1/users/a?sendEmail=true", Status: 204}, outbox("an email about a deletion", 1, admin),
	)
}

// Proves B-users-33, B-users-38, B-users-41.
func TestLifecycle_Assignments(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	ids := e.Run(t,
		step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Staff"}}`, Save: saved{"g": "id"}},
		step{Do: "POST /api/v1/apps", Body: `{"name":"bookmark","label":"A","settings":{"app":{"url":"https://a.example"}}}`,
			Save: saved{"a": "id"}},
		step{Do: "POST /api/v1/apps", Body: `{"name":"bookmark","label":"B","settings":{"app":{"url":"https://b.example"}}}`,
			Save: saved{"b": "id"}},
		step{Do: "PUT /api/v1/apps/{{a}}/groups/{{g}}"},
		step{Do: users + "?activate=false", Body: `{` + profile("u@example.com") + `,"credentials":{"password":{"value":"` +
			password1 + `"}},"groupIds":["{{g}}"]}`, Save: saved{"u": "id"}},
		step{Name: "not before the activation", Do: "GET /api/v1/apps/{{a}}/users", Equal: values{"#": 0}},
		step{Do: users + "/{{u}}/lifecycle/activate"},
		step{Do: "GET /api/v1/apps/{{a}}/users", Equal: values{"#": 1, "0.id": "{{u}}", "0.scope": "GROUP"}},
		step{Do: "POST /api/v1/apps/{{b}}/users", Body: `{"id":"{{u}}"}`},
		step{Do: users + "/{{u}}/lifecycle/suspend"},
		step{Name: "a suspended user keeps its apps", Do: "GET /api/v1/apps/{{a}}/users", Equal: values{"#": 1}},
		step{Do: "GET /api/v1/apps/{{b}}/users", Equal: values{"#": 1}},
		step{Name: "a suspended user keeps its groups", Do: "GET /api/v1/users/{{u}}/groups", Equal: values{"#": 2}},
		step{Do: users + "/{{u}}/lifecycle/deactivate"},
		step{Do: "GET /api/v1/apps/{{a}}/users", Equal: values{"#": 0}},
		step{Do: "GET /api/v1/apps/{{b}}/users", Equal: values{"#": 0}},
	)
	require.Contains(t, events(t, e), "user.deactivated "+ids["u"], "the events for provisioning")
}

// Proves B-users-54, B-users-57.
func TestReads_ByLoginAndGroups(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Unrecorded()
	ids := e.Run(t,
		step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Staff","description":"All of them"}}`, Save: saved{"g": "id"}},
		step{Do: "POST /api/v1/apps", Body: `{"name":"bookmark","label":"A","settings":{"app":{"url":"https://a.example"}}}`,
			Save: saved{"a": "id"}},
		step{Do: users, Body: `{` + profile("isaac@example.com") + `,"groupIds":["{{g}}"]}`, Save: saved{"u": "id"}},
		step{Do: "POST /api/v1/apps/{{a}}/users", Body: `{"id":"{{u}}"}`},
	)
	for _, user := range []string{ids["u"], "isaac@example.com", "isaac"} {
		e.Run(t,
			step{Do: "GET /api/v1/users/" + user + "/appLinks", Equal: values{"#": 1, "0.appInstanceId": ids["a"]}},
			step{Do: "GET /api/v1/users/" + user + "/groups", Equal: values{"#": 2}, Then: func(t *testing.T, a *apitest.Answer) {
				i := 0
				if a.Value("0.id") != ids["g"] {
					i = 1
				}
				require.Equal(t, ids["g"], a.Value(fmt.Sprintf("%d.id", i)))
				require.Equal(t, "Staff", a.Value(fmt.Sprintf("%d.profile.name", i)))
				require.Equal(t, "All of them", a.Value(fmt.Sprintf("%d.profile.description", i)))
			}},
		)
	}
	e.Run(t,
		step{Do: users, Body: without("isaac@example.org")},
		step{Name: "a short login of two users", Do: "GET /api/v1/users/isaac/appLinks", Status: 404, Code: "E0000007"},
	)
}
