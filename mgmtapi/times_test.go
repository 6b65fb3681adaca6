package mgmtapi_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// orderOfTimes checks the times of every object below a value: none is earlier than its creation, and lastUpdated is not earlier than what
// changed the object.
func orderOfTimes(t *testing.T, what string, value any) (checked int) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		at := func(name string) time.Time {
			text, _ := v[name].(string)
			out, err := time.Parse(time.RFC3339, text)
			if text != "" {
				require.NoError(t, err, "%s: %s", what, name)
			}
			return out
		}
		later := func(first, then string) {
			a, b := at(first), at(then)
			if !a.IsZero() && !b.IsZero() {
				require.False(t, b.Before(a), "%s: %s %s is earlier than %s %s", what, then, b, first, a)
				checked++
			}
		}
		changes := []string{"activated", "statusChanged", "passwordChanged"}
		for _, name := range append(changes, "lastUpdated", "lastMembershipUpdated", "lastLogin", "lastVerified", "lastSync", "lastRotated",
			"expiresAt") {
			later("created", name)
		}
		for _, name := range changes {
			later(name, "lastUpdated")
		}
		for _, inner := range v {
			checked += orderOfTimes(t, what, inner)
		}
	case []any:
		for _, inner := range v {
			checked += orderOfTimes(t, what, inner)
		}
	}
	return checked
}

// The clock moves on whenever it is read, so that two times that are taken one after the other are seldom in the same second.
func TestTimes_InOrder(t *testing.T) {
	for _, tick := range []time.Duration{50 * time.Millisecond, 400 * time.Millisecond, 1100 * time.Millisecond} {
		t.Run(tick.String(), func(t *testing.T) {
			sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
				e := apitest.New(t, db, apitest.Sandboxed)
				e.Unrecorded()
				e.Clock.Tick(tick)
				checked := 0
				do := func(do, body string) *apitest.Answer {
					t.Helper()
					a := e.Do(t, do, body, nil)
					require.Less(t, a.Status, 300, "%s: %s", do, a.Body)
					checked += orderOfTimes(t, do, a.JSON)
					return a
				}
				for i := range 5 {
					user := func(login, more string) string {
						return fmt.Sprintf(`{"profile":{"login":"%s%d@example.com","email":"u@example.com","firstName":"A","lastName":"B"}%s}`, login, i,
							more)
					}
					password := `"credentials":{"password":{"value":"Correct-horse-7"}}`
					one := do("POST /api/v1/users", user("with", ","+password)).Value("id")
					do("POST /api/v1/users?nextLogin=changePassword&activate=true", user("next", ","+password))
					do("POST /api/v1/users", user("none", ""))
					staged := do("POST /api/v1/users?activate=false", user("staged", ","+password)).Value("id")
					do("POST /api/v1/users/"+staged+"/lifecycle/activate", "")
					do("GET /api/v1/users/"+staged, "")
					do("POST /api/v1/users/"+staged, `{`+password+`}`)
					do("POST /api/v1/users/"+staged+"/lifecycle/suspend", "")
					do("GET /api/v1/users/"+staged, "")
					do("POST /api/v1/users/"+staged+"/lifecycle/deactivate", "")
					do("POST /api/v1/users/"+staged+"/lifecycle/activate", "")
					do("GET /api/v1/users/"+staged, "")
					group := do("POST /api/v1/groups", fmt.Sprintf(`{"profile":{"name":"G%d"}}`, i)).Value("id")
					do("PUT /api/v1/groups/"+group+"/users/"+one, "")
					do("GET /api/v1/groups/"+group, "")
					for app, credentials := range map[string]string{
						`{"name":"scim2_test_app","label":"A","settings":{"app":{}}}`: ``,
						`{"label":"S","signOnMode":"AUTO_LOGIN","settings":{"signOn":{"loginUrl":"https://a.example"}}}`: `,"credentials":{"userName":"u",` +
							`"password":{"value":"x"}}`,
					} {
						id := do("POST /api/v1/apps", app).Value("id")
						do("POST /api/v1/apps/"+id+"/users", `{"id":"`+one+`"`+credentials+`}`)
						do("PUT /api/v1/apps/"+id+"/groups/"+group, "")
						do("GET /api/v1/apps/"+id+"/groups", "")
						do("DELETE /api/v1/apps/"+id+"/users/"+one, "")
						do("POST /api/v1/apps/"+id+"/users", `{"id":"`+one+`"}`)
						do("GET /api/v1/apps/"+id+"/credentials/keys", "")
					}
					server := do("POST /api/v1/authorizationServers",
						fmt.Sprintf(`{"name":"A%d","description":"x","audiences":["api://%[1]d"]}`, i)).Value("id")
					do("POST /api/v1/authorizationServers/"+server+"/policies",
						`{"type":"OAUTH_AUTHORIZATION_POLICY","name":"P","description":"x","priority":1,`+
							`"conditions":{"clients":{"include":["ALL_CLIENTS"]}}}`)
					do("GET /api/v1/authorizationServers/"+server+"/policies", "")
					do("POST /api/v1/users/"+one+"/factors",
						`{"factorType":"question","provider":"SVC","profile":{"question":"first_award","answer":"a medal"}}`)
					do("POST /api/v1/users/"+one+"/factors",
						fmt.Sprintf(`{"factorType":"sms","provider":"SVC","profile":{"phoneNumber":"+1555415%04d"}}`, i))
					do("GET /api/v1/users/"+one+"/factors", "")
					do("POST /api/v1/users/"+one+"/roles", `{"type":"ORG_ADMIN"}`)
					do("POST /api/v1/iam/roles", fmt.Sprintf(`{"label":"R%d","description":"x","permissions":["svc.users.read"]}`, i))
					do("GET /api/v1/iam/roles/"+fmt.Sprintf("R%d", i)+"/permissions", "")
					do("POST /api/v1/inlineHooks",
						fmt.Sprintf(`{"name":"H%d","type":"com.svc.oauth2.tokens.transform","version":"1.0.0","channel":{"type":"HTTP","version":"1.0.0",`+
							`"config":{"uri":"https://hooks.example.com","method":"POST"}}}`, i))
					do("POST /api/v1/hook-keys", fmt.Sprintf(`{"name":"K%d"}`, i))
					do("POST /api/v1/templates/sms", `{"name":"Code","type":"SMS_VERIFY_CODE","template":"${code}"}`)
				}
				for _, list := range []string{"users", "groups", "apps", "api-tokens", "inlineHooks", "hook-keys", "meta/types/user",
					"authorizationServers", "policies?type=PASSWORD", "users/me"} {
					do("GET /api/v1/"+list, "")
				}
				require.Greater(t, checked, 500)
			})
		})
	}
}
