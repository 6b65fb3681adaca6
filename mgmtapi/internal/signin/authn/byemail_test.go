package authn_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
)

func optionalPassword(o *assembly.Options) { o.OptionalPassword = true }

// enrollment sets the enrollment policy for passwords.
func enrollment(t *testing.T, e *apitest.Env, self string) {
	t.Helper()
	id := ok(t, e.Do(t, "GET /api/v1/policies?type=MFA_ENROLL", "", nil)).Value("0.id")
	body := fmt.Sprintf(
		`{"type":"MFA_ENROLL","name":"Default Policy","settings":{"authenticators":[{"key":"svc_password","enroll":{"self":%q}}]}}`, self)
	require.Equal(t, self, ok(t, e.Do(t, "PUT /api/v1/policies/"+id, body, nil)).Value("settings.authenticators.0.enroll.self"))
}

// Proves B-users-23.
func TestSignInByEmail(t *testing.T) {
	for _, self := range []string{"OPTIONAL", "NOT_ALLOWED"} {
		t.Run(self, func(t *testing.T) {
			sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
				e := apitest.New(t, db, apitest.Sandboxed, optionalPassword)
				enrollment(t, e, self)
				created := ok(t, e.Do(t, create, isaac(""), nil))
				require.Equal(t, "ACTIVE", created.Value("status"))
				v := &visitor{e: e, id: created.Value("id")}
				begin := map[string]any{"username": "isaac@example.com", "relayState": "/here"}
				a := ok(t, v.authn(t, "", begin))
				for path, want := range map[string]string{
					"status": "MFA_REQUIRED", "relayState": "/here", "_embedded.factors.#": "1", "_embedded.factors.0.factorType": "email",
					"_embedded.factors.0.profile.email": "i***@example.com", "sessionToken": "",
				} {
					require.Equal(t, want, a.Value(path), path)
				}
				path := "/factors/" + a.Value("_embedded.factors.0.id") + "/verify"
				with := func(code string) map[string]any {
					return map[string]any{"stateToken": a.Value("stateToken"), "passCode": code}
				}
				refuses(t, v.authn(t, path, with("123456")), "E0000068")
				require.Equal(t, "MFA_CHALLENGE", ok(t, v.authn(t, path, map[string]any{"stateToken": a.Value("stateToken")})).Value("status"))
				session := v.session(t, ok(t, v.authn(t, path, with(v.code(t)))))
				require.Equal(t, []string{"otp", "1", ""},
					[]string{session.Value("amr.0"), session.Value("amr.#"), session.Value("lastPasswordVerification")})
				require.NotEmpty(t, ok(t, e.Do(t, "GET /api/v1/users/"+v.id, "", nil)).Value("lastLogin"))

				t.Run("with another address", func(t *testing.T) {
					ok(t, e.Do(t, "POST /api/v1/users/"+v.id, `{"profile":{"email":"new@example.com"}}`, nil))
					a := ok(t, v.authn(t, "", begin))
					require.Equal(t, "n***@example.com", a.Value("_embedded.factors.0.profile.email"))
					list := ok(t, e.Do(t, "GET /api/v1/users/"+v.id+"/factors", "", nil))
					require.Equal(t, []string{"1", "new@example.com", "ACTIVE"},
						[]string{list.Value("#"), list.Value("0.profile.email"), list.Value("0.status")})
				})
				t.Run("with a rule that demands a factor", func(t *testing.T) {
					e.Clock.Advance(time.Minute)
					v.policy = ok(t, e.Do(t, "GET /api/v1/policies?type=SVC_SIGN_ON", "", nil)).Value("0.id")
					rule := v.demand(t, `{"name":"Two","actions":{"signon":{"access":"ALLOW","requireFactor":true}}}`)
					byEmail := func() *apitest.Answer {
						a := ok(t, v.authn(t, "", begin))
						path := "/factors/" + a.Value("_embedded.factors.0.id") + "/verify"
						ok(t, v.authn(t, path, map[string]any{"stateToken": a.Value("stateToken")}))
						a = ok(t, v.authn(t, path, map[string]any{"stateToken": a.Value("stateToken"), "passCode": v.code(t)}))
						e.Clock.Advance(time.Minute)
						return a
					}
					a := byEmail()
					require.Equal(t, "MFA_ENROLL", a.Value("status"), "the email is the first factor")
					a = ok(t,
						v.authn(t, "/factors",
							map[string]any{"stateToken": a.Value("stateToken"), "factorType": "question", "provider": "SVC",
								"profile": map[string]any{"question": "disliked_food", "answer": "mayonnaise"}}))
					session := v.session(t, a)
					require.Equal(t, []string{"otp", "kba", "mfa"}, []string{session.Value("amr.0"), session.Value("amr.1"), session.Value("amr.2")})
					a = byEmail()
					require.Equal(t, []string{"MFA_REQUIRED", "1", "question"},
						[]string{a.Value("status"), a.Value("_embedded.factors.#"), a.Value("_embedded.factors.0.factorType")})
					ok(t, e.Do(t, "DELETE "+fmt.Sprintf(rulesPath, v.policy)+"/"+rule, "", nil))
				})
				t.Run("not without an email factor", func(t *testing.T) {
					ok(t, e.Do(t, "POST /api/v1/org/factors/svc_email/lifecycle/deactivate", "", nil))
					refuses(t, v.authn(t, "", begin), "E0000004")
				})
			})
		})
	}
}

func TestSignInByEmail_Rejected(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed, optionalPassword)
	v := newVisitor(t, e) // has a password
	alone := map[string]any{"username": "isaac@example.com"}
	refuses(t, v.authn(t, "", alone), "E0000001")
	enrollment(t, e, "OPTIONAL")
	refuses(t, v.authn(t, "", alone), "E0000004")
	refuses(t, v.authn(t, "", map[string]any{"username": "nobody@example.com"}), "E0000004")
	require.Equal(t, "SUCCESS", v.begin(t).Value("status"), "an existing password is still accepted")
	other := ok(t,
		e.Do(t, create, `{"profile":{"login":"bob@example.com","email":"bob@example.com","firstName":"B","lastName":"Ob"}}`, nil)).Value("id")
	bob := map[string]any{"username": "bob@example.com"}
	refuses(t, v.authn(t, "", map[string]any{"username": "bob@example.com", "password": "Guess-2026"}), "E0000004")
	ok(t, e.Do(t, "POST /api/v1/users/"+other+"/lifecycle/suspend", "", nil))
	refuses(t, v.authn(t, "", bob), "E0000004")
	ok(t, e.Do(t, "POST /api/v1/users/"+other+"/lifecycle/unsuspend", "", nil))
	a := ok(t, v.authn(t, "", bob))
	path := "/factors/" + a.Value("_embedded.factors.0.id") + "/verify"
	for range 5 {
		refuses(t, v.authn(t, path, map[string]any{"stateToken": a.Value("stateToken"), "passCode": "x"}), "E0000068")
	}
	refuses(t, v.authn(t, path, map[string]any{"stateToken": a.Value("stateToken")}), "E0000047")
	enrollment(t, e, "REQUIRED")
	refuses(t, v.authn(t, "", bob), "E0000001")
}

// If Optional Password is disabled, a stored enrollment policy has no effect.
func TestSignInByEmail_Disabled(t *testing.T) {
	db := sqldbtest.SQLite(t)
	e := apitest.New(t, db, apitest.Sandboxed, optionalPassword)
	enrollment(t, e, "OPTIONAL")
	ok(t, e.Do(t, create, isaac(""), nil))
	v := &visitor{e: apitest.New(t, db, apitest.Sandboxed)}
	refuses(t, v.authn(t, "", map[string]any{"username": "isaac@example.com"}), "E0000001")
	id := ok(t, v.e.Do(t, "GET /api/v1/policies?type=MFA_ENROLL", "", nil)).Value("0.id")
	body := `{"type":"MFA_ENROLL","name":"Default Policy","settings":{"authenticators":[{"key":"svc_password","enroll":{"self":"OPTIONAL"}}]}}`
	refused := v.e.Do(t, "PUT /api/v1/policies/"+id, body, nil)
	refuses(t, refused, "E0000001")
	require.Contains(t, string(refused.Body), "Optional Password is not enabled")
}
