package users_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

const password1 = "Tlpwd-2026" //nolint:gosec // of a test user

func profile(login string) string {
	return fmt.Sprintf(`"profile":{"login":%q,"email":"isaac@example.com","firstName":"Isaac","lastName":"Brock"}`, login)
}

func withPassword(login string) string {
	return `{` + profile(login) + `,"credentials":{"password":{"value":"` + password1 +
		`"},"recovery_question":{"question":"Who is the best?","answer":"Annie Oakley"}}}`
}

func without(login string) string { return `{` + profile(login) + `}` }

// Proves B-credentials-02, B-credentials-03, B-credentials-10, B-users-01, B-users-05, B-users-13, B-users-14, B-users-16,
// B-users-24, B-users-30.
func TestCreate_StatusFromCredentials(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		e.Run(t,
			apitest.Step{
				Name: "with a password it is ACTIVE", Do: "POST /api/v1/users", Body: withPassword("isaac@example.com"),
				Equal: map[string]any{
					"status": "ACTIVE", "profile.login": "isaac@example.com", "profile.mobilePhone": nil, "profile.secondEmail": nil,
					"created": "2026-03-04T05:06:07.000Z", "activated": "2026-03-04T05:06:07.000Z", "passwordChanged": "2026-03-04T05:06:07.000Z",
					"lastLogin":                 nil,
					"credentials.provider.type": "SVC", "credentials.recovery_question.question": "Who is the best?",
				},
				Has:   []string{"credentials.password", "_links.self", "_links.suspend", "_links.deactivate", "header:ETag"},
				Lacks: []string{"credentials.recovery_question.answer", "_links.activate", "profile.title", "transitioningToStatus"},
				Save:  map[string]string{"id": "id"},
				Then:  func(t *testing.T, a *apitest.Answer) { require.Regexp(t, `^00u[0-9A-Za-z]{17}$`, a.Value("id")) },
			},
			apitest.Step{Name: "it is read by id", Do: "GET /api/v1/users/{{id}}", Equal: map[string]any{"id": "{{id}}"},
				Has: []string{"header:ETag"}},
			apitest.Step{Name: "it is read by login", Do: "GET /api/v1/users/Isaac%40Example.com/", Equal: map[string]any{"id": "{{id}}"}},
			apitest.Step{Name: "it is read by short login", Do: "GET /api/v1/users/isaac", Equal: map[string]any{"id": "{{id}}"}},
			apitest.Step{Name: "it is in Everyone", Do: "GET /api/v1/users/{{id}}/groups",
				Equal: map[string]any{"#": 1, "0.profile.name": "Everyone", "0.type": "BUILT_IN"}},
			apitest.Step{Name: "without a password it is PROVISIONED", Do: "POST /api/v1/users", Body: without("two@example.com"),
				Equal: map[string]any{"status": "PROVISIONED"}, Has: []string{"_links.reactivate"}, Lacks: []string{"credentials.password"}},
			apitest.Step{Name: "not activated it is STAGED", Do: "POST /api/v1/users?activate=FALSE", Body: withPassword("three@example.com"),
				Equal: map[string]any{"status": "STAGED", "activated": nil, "statusChanged": nil}, Has: []string{"_links.activate"}},
			apitest.Step{Name: "with a password to be changed it is PASSWORD_EXPIRED", Do: "POST /api/v1/users?nextLogin=changePassword",
				Body: withPassword("four@example.com"), Equal: map[string]any{"status": "PASSWORD_EXPIRED"}},
			apitest.Step{Name: "a federated one is ACTIVE", Do: "POST /api/v1/users?provider=true",
				Body:  `{` + profile("five@example.com") + `,"credentials":{"provider":{"type":"FEDERATION","name":"FEDERATION"}}}`,
				Equal: map[string]any{"status": "ACTIVE", "credentials.provider.name": "FEDERATION"}},
			apitest.Step{Name: "an empty password object is no password", Do: "POST /api/v1/users",
				Body:  `{` + profile("six@example.com") + `,"credentials":{"password":{}},"groupIds":null,"unknown":1}`,
				Equal: map[string]any{"status": "PROVISIONED"}},
			apitest.Step{Name: "profile strings are returned as sent", Do: "POST /api/v1/users",
				Body: `{"profile":{"login":"seven@example.com","email":"o'brien@example.com","firstName":"<b>&Zoë</b>","lastName":"Łukasz",` +
					`"title":"","locale":"de_CH","timezone":"Europe/Zurich","countryCode":"CH","preferredLanguage":"de-CH, de;q=0.9",` +
					`"profileUrl":"https://example.com/z"}}`,
				Equal: map[string]any{"profile.firstName": "<b>&Zoë</b>", "profile.timezone": "Europe/Zurich"}, Lacks: []string{"profile.title"},
				Then: func(t *testing.T, a *apitest.Answer) { require.Contains(t, string(a.Body), "<b>&Zoë</b>") }},
		)
	})
}

func TestSecrets_StoredHashed(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	saved := e.Run(t, apitest.Step{Do: "POST /api/v1/users", Body: withPassword("isaac@example.com"), Save: map[string]string{"id": "id"}})
	doc, err := e.Model.Users.Get(t.Context(), e.Store.Reader(), saved["id"])
	require.NoError(t, err)
	require.Regexp(t, `^\$2a\$04\$`, doc.Value.PasswordHash)
	require.Regexp(t, `^\$2a\$04\$`, doc.Value.Recovery.AnswerHash)
	tokens, err := e.Model.APITokens.Query(t.Context(), e.Store.Reader(), docstore.Query[model.APIToken]{})
	require.NoError(t, err)
	require.NotContains(t, tokens.Docs[0].Value.Hash, apitest.Token)
}

// Proves B-credentials-06, B-credentials-07, B-hashes-10, B-hashes-12, B-profile-02, B-profile-03, B-profile-04, B-profile-05,
// B-users-25, B-users-27, B-users-29.
func TestCreate_Rejected(t *testing.T) {
	credentials := func(json string) string { return `{` + profile("x@example.com") + `,"credentials":` + json + `}` }
	attribute := func(json string) string {
		return `{"profile":{"login":"x@example.com","email":"x@example.com","firstName":"X","lastName":"Y",` + json + `}}`
	}
	const post = "POST /api/v1/users"
	for _, s := range []apitest.Step{
		{Name: "no body", Body: "", Code: "E0000003"},
		{Name: "body that is not JSON", Body: `{"profile":`, Code: "E0000003"},
		{Name: "body that is an array", Body: `[]`, Code: "E0000003"},
		{Name: "two values in the body", Body: `{} {}`, Code: "E0000003"},
		{Name: "body in another media type", Body: `{}`, Header: map[string]string{"Content-Type": "text/plain"}, Code: "E0000021"},
		{Name: "body without a media type", Body: `{}`, Header: map[string]string{"Content-Type": ""}, Code: "E0000021"},
		{Name: "no profile", Body: `{}`, Code: "E0000001",
			Causes: []string{"login: The field cannot be left blank", "firstName: ", "lastName: ", "email: "}},
		{Name: "profile of another type", Body: `{"profile":"x"}`, Code: "E0000001",
			Causes: []string{"profile: The value must be an object", "login", "firstName", "lastName", "email"}},
		{Name: "login that is not an email address", Body: without("nobody"), Code: "E0000001",
			Causes: []string{"login: The value must look like an e-mail address"}},
		{Name: "login that is too long", Body: without(strings.Repeat("a", 89) + "@example.com"), Code: "E0000001",
			Causes: []string{"login: The field must have between 5 and 100 characters"}},
		{Name: "login with a slash", Body: without("a/b@example.com"), Code: "E0000001",
			Causes: []string{"login: The value must not contain a slash"}},
		{Name: "unknown attribute", Body: attribute(`"shoeSize":"44"`), Code: "E0000001",
			Causes: []string{"shoeSize: The attribute is not defined"}},
		{Name: "attribute of another type", Body: attribute(`"title":7`), Code: "E0000001",
			Causes: []string{"title: The value must be a string"}},
		{Name: "all causes at once",
			Body: attribute(
				`"title":7,"countryCode":"XX","timezone":"Mars/Base","locale":"english","profileUrl":"x","secondEmail":"@","mobilePhone":"` +
					strings.Repeat("1", 101) + `"`), Code: "E0000001",
			Causes: []string{"secondEmail", "mobilePhone", "title", "profileUrl", "countryCode", "locale", "timezone"}},
		{Name: "login of another user with other case and diacritics", Body: without("ADMÏN@Example.COM"), Code: "E0000001",
			Causes: []string{"login: An object with this field already exists in the current organization"}},
		{Name: "weak password", Body: credentials(`{"password":{"value":"short"}}`), Code: "E0000001",
			Causes: []string{"password: Password requirements were not met."}},
		{Name: "password with a part of the login",
			Body: `{` + profile("isaac.brock@example.com") + `,"credentials":{"password":{"value":"Xx1-BROCK-yy"}}}`, Code: "E0000001",
			Causes: []string{"password: "}},
		{Name: "password that is too long", Body: credentials(`{"password":{"value":"` + strings.Repeat("Aa1", 25) + `"}}`), Code: "E0000001",
			Causes: []string{"credentials.password.value: The field must have at most 72 characters"}},
		{Name: "short recovery answer", Body: credentials(`{"recovery_question":{"question":"Who?","answer":" me "}}`), Code: "E0000001",
			Causes: []string{"recovery_question: "}},
		{Name: "recovery answer that is the question", Body: credentials(`{"recovery_question":{"question":"Who?","answer":"WHO?"}}`),
			Code: "E0000001", Causes: []string{"recovery_question: "}},
		{Name: "recovery question without an answer", Body: credentials(`{"recovery_question":{"question":"Who?"}}`), Code: "E0000001",
			Causes: []string{"credentials.recovery_question.answer: The field cannot be left blank"}},
		{Name: "password hash of an unknown algorithm", Body: credentials(`{"password":{"hash":{"algorithm":"MD4","value":"x"}}}`),
			Code: "E0000001", Causes: []string{"credentials.password.hash.algorithm: "}},
		{Name: "password hash of the wrong length", Body: credentials(`{"password":{"hash":{"algorithm":"MD5","value":"eHg="}}}`),
			Code: "E0000001", Causes: []string{"credentials.password.hash.value: The value must be base64 of 16 bytes"}},
		{Name: "password hash that is not base64", Body: credentials(`{"password":{"hash":{"algorithm":"SHA-1","value":"?","salt":"?"}}}`),
			Code:   "E0000001",
			Causes: []string{"credentials.password.hash.value: ", "credentials.password.hash.salt: ", "credentials.password.hash.saltOrder: "}},
		{Name: "bcrypt hash with invalid members",
			Body: credentials(`{"password":{"hash":{"algorithm":"BCRYPT","value":"x","salt":"y","workFactor":21}}}`), Code: "E0000001",
			Causes: []string{"credentials.password.hash.value: ", "credentials.password.hash.salt: ", "credentials.password.hash.workFactor: "}},
		{Name: "derived key with invalid members",
			Body: credentials(`{"password":{"hash":{"algorithm":"PBKDF2","value":"eHg=","iterationCount":4095,"digestAlgorithm":"MD5"}}}`),
			Code: "E0000001",
			Causes: []string{"credentials.password.hash.keySize: ", "credentials.password.hash.salt: ", "credentials.password.hash.iterationCount: ",
				"credentials.password.hash.digestAlgorithm: "}},
		{Name: "password hash of a federated user", Do: post + "?provider=true",
			Body: credentials(`{"provider":{"type":"FEDERATION"},"password":{"hash":{"algorithm":"MD5","value":"AAAAAAAAAAAAAAAAAAAAAA=="}}}`),
			Code: "E0000001", Causes: []string{"password: A user with the provider"}},
		{Name: "unknown password hook", Body: credentials(`{"password":{"hook":{"type":"another"}}}`), Status: 400, Code: "E0000001",
			Causes: []string{"credentials.password.hook.type"}},
		{Name: "password hook and value", Body: credentials(`{"password":{"hook":{"type":"default"},"value":"Long-Enough-1"}}`), Status: 400,
			Code: "E0000001", Causes: []string{"password"}},
		{Name: "password and hash",
			Body: credentials(`{"password":{"value":"` + password1 + `","hash":{"algorithm":"MD5","value":"AAAAAAAAAAAAAAAAAAAAAA=="}}}`),
			Code: "E0000001", Causes: []string{"password: Exactly one"}},
		{Name: "federated user without provider=true", Body: credentials(`{"provider":{"type":"FEDERATION"}}`), Code: "E0000001",
			Causes: []string{"provider: "}},
		{Name: "federated user with a password", Do: post + "?provider=true",
			Body: credentials(`{"provider":{"type":"FEDERATION"},"password":{"value":"` + password1 + `"}}`), Code: "E0000001",
			Causes: []string{"password: A user with the provider"}},
		{Name: "unknown provider", Body: credentials(`{"provider":{"type":"OTHER"}}`), Code: "E0000001",
			Causes: []string{"credentials.provider.type: The value must be one of"}},
		{Name: "password change without activation", Do: post + "?nextLogin=changePassword&activate=false", Body: withPassword("x@example.com"),
			Code: "E0000125"},
		{Name: "password change without a password", Do: post + "?nextLogin=changePassword", Body: without("x@example.com"), Code: "E0000124"},
		{Name: "invalid boolean", Do: post + "?activate=maybe", Body: without("x@example.com"), Code: "E0000001",
			Causes: []string{"activate: The value must be true or false"}},
		{Name: "unknown user type", Body: `{` + profile("x@example.com") + `,"type":{"id":"oty1"}}`, Status: 404, Code: "E0000007"},
		{Name: "unknown group", Body: `{` + profile("x@example.com") + `,"groupIds":["00gnone"]}`, Status: 404, Code: "E0000007"},
		{Name: "too many groups", Body: `{` + profile("x@example.com") + `,"groupIds":[` + strings.Repeat(`"g",`, 20) + `"g"]}`,
			Code: "E0000093"},
		{Name: "body that is too large", Body: `{"profile":{"title":"` + strings.Repeat("x", 1<<20) + `"}}`, Code: "E0000003"},
	} {
		t.Run(s.Name, func(t *testing.T) {
			e := apitest.New(t, sqldbtest.SQLite(t))
			if s.Do == "" {
				s.Do = post
			}
			if s.Status == 0 {
				s.Status = 400
			}
			e.Run(t, s)
			n, err := e.Model.Users.Count(t.Context(), e.Store.Reader(), nil)
			require.NoError(t, err)
			require.Equal(t, 1, n, "no user was created")
		})
	}
}

// Proves B-users-28.
func TestCreate_InGroups(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Run(t,
		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"Staff"}}`, Save: map[string]string{"g": "id"}},
		apitest.Step{Do: "GET /api/v1/groups?q=Everyone", Save: map[string]string{"everyone": "0.id"}},
		apitest.Step{Do: "POST /api/v1/users", Body: `{` + profile("a@example.com") + `,"groupIds":["{{g}}","{{g}}"]}`,
			Save: map[string]string{"u": "id"}},
		apitest.Step{Do: "GET /api/v1/groups/{{g}}/users", Equal: map[string]any{"#": 1, "0.id": "{{u}}"}, Has: []string{"0._links.self"},
			Lacks: []string{"0._links.suspend"}},
		apitest.Step{Do: "GET /api/v1/users/{{u}}/groups", Equal: map[string]any{"#": 2}},
		apitest.Step{Do: "POST /api/v1/users", Body: `{` + profile("b@example.com") + `,"groupIds":["{{everyone}}"]}`,
			Equal: map[string]any{"status": "PROVISIONED"}},
	)
}

// TestEveryone_LastMembershipUpdated verifies that the group Everyone shows the time of its latest membership change.
func TestEveryone_LastMembershipUpdated(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		everyone := e.Do(t, "GET /api/v1/groups?q=Everyone", "", nil).Value("0.id")
		last := func() string { return e.Do(t, "GET /api/v1/groups/"+everyone, "", nil).Value("lastMembershipUpdated") }
		for i := range 12 { // creates three or four users per second
			e.Run(t, apitest.Step{Do: "POST /api/v1/users", Body: without(fmt.Sprintf("user%d@example.com", i))})
			require.Equal(t, e.Clock.Now().UTC().Truncate(time.Second).Format("2006-01-02T15:04:05.000Z"), last())
			e.Clock.Advance(300 * time.Millisecond)
		}
		e.Run(t, // the deactivation removes a member from Everyone, so that the cached group is outdated
			apitest.Step{Do: "POST /api/v1/users/user3/lifecycle/deactivate"},
			apitest.Step{Do: "POST /api/v1/users", Body: without("late@example.com")},
			apitest.Step{Do: "GET /api/v1/groups/" + everyone + "/users", Equal: map[string]any{"#": 13}},
		)
	})
}
