package authn_test

import (
	"encoding/hex"
	"encoding/json"
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
	"github.com/scimwright/scimwright/mgmtapi/internal/core/yubikey"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/yubikey/yubikeytest"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/otp"
)

const rulesPath = "/api/v1/policies/%s/rules"

// visitor is a user who signs in under a rule of the sign-on policy.
type visitor struct {
	e          *apitest.Env
	id, policy string
	rule       string
}

// demanding creates a user and a rule that requires a factor of this user.
func demanding(t *testing.T, e *apitest.Env) *visitor {
	t.Helper()
	v := newVisitor(t, e)
	v.rule = v.demand(t,
		fmt.Sprintf(
			`{"name":"Two","conditions":{"people":{"users":{"include":[%q]}}},"actions":{"signon":{"access":"ALLOW","requireFactor":true}}}`, v.id))
	return v
}

func newVisitor(t *testing.T, e *apitest.Env) *visitor {
	t.Helper()
	v := &visitor{e: e, id: ok(t, e.Do(t, create, isaac(credentials), nil)).Value("id")}
	v.policy = ok(t, e.Do(t, "GET /api/v1/policies?type=SVC_SIGN_ON", "", nil)).Value("0.id")
	return v
}

// ok requires a success.
func ok(t *testing.T, a *apitest.Answer) *apitest.Answer {
	t.Helper()
	require.Less(t, a.Status, 300, "%s", a.Body)
	return a
}

// demand adds a rule to the sign-on policy.
func (v *visitor) demand(t *testing.T, body string) string {
	t.Helper()
	return ok(t, v.e.Do(t, "POST "+fmt.Sprintf(rulesPath, v.policy), body, nil)).Value("id")
}

// enroll enrolls a factor through the management API and activates it.
func (v *visitor) enroll(t *testing.T, body string) *apitest.Answer {
	t.Helper()
	return ok(t, v.e.Do(t, "POST /api/v1/users/"+v.id+"/factors", body, nil))
}

// authn sends a step of a sign-in without an API token.
func (v *visitor) authn(t *testing.T, path string, body map[string]any) *apitest.Answer {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	return v.e.Do(t, "POST /api/v1/authn"+path, string(text), public)
}

// begin signs in with the password.
func (v *visitor) begin(t *testing.T) *apitest.Answer {
	t.Helper()
	return ok(t, v.authn(t, "", map[string]any{"username": "isaac@example.com", "password": first, "relayState": "/here"}))
}

// refuses requires an error.
func refuses(t *testing.T, a *apitest.Answer, code string) {
	t.Helper()
	require.Equal(t, code, a.Value("errorCode"), "%s", a.Body)
}

// code returns the last code that was sent.
func (v *visitor) code(t *testing.T) string {
	t.Helper()
	return ok(t, v.e.Do(t, "GET /sandbox/v1/outbox?limit=1", "", nil)).Value("0.otp")
}

// session creates a session from a complete sign-in.
func (v *visitor) session(t *testing.T, a *apitest.Answer) *apitest.Answer {
	t.Helper()
	require.Equal(t, "SUCCESS", a.Value("status"), "%s", a.Body)
	return ok(t, v.e.Do(t, "POST /api/v1/sessions", fmt.Sprintf(`{"sessionToken":%q}`, a.Value("sessionToken")), nil))
}

// If a rule requires a factor, every type of factor must be verified before a session is created.
func TestFactorRequired_EveryType(t *testing.T) {
	const totp = `{"factorType":"token:software:totp","provider":"SVC"}`
	type proof = map[string]any
	coded := func(t *testing.T, v *visitor, _ *apitest.Answer) proof { return proof{"passCode": v.code(t)} }
	key := func(t *testing.T, v *visitor, a *apitest.Answer) proof {
		id := a.Value("_embedded.factor.id")
		var out proof
		require.NoError(t, json.Unmarshal(ok(t, v.e.Do(t, "POST /sandbox/v1/fido/"+id+"/assert", "", nil)).Body, &out))
		return out
	}
	attest := func(t *testing.T, v *visitor, a *apitest.Answer) {
		body := ok(t, v.e.Do(t, "POST /sandbox/v1/fido/"+a.Value("id")+"/attest", "", nil)).Body
		ok(t, v.e.Do(t, "POST /api/v1/users/"+v.id+"/factors/"+a.Value("id")+"/lifecycle/activate", string(body), nil))
	}
	sent := func(t *testing.T, v *visitor, a *apitest.Answer) {
		ok(t,
			v.e.Do(t, "POST /api/v1/users/"+v.id+"/factors/"+a.Value("id")+"/lifecycle/activate", fmt.Sprintf(`{"passCode":%q}`, v.code(t)), nil))
	}
	const publicID = "cccccccccccb"
	shared := otp.SecretOf([]byte("12345678901234567890"))
	device := yubikey.Token{Key: [16]byte{1}, PrivateID: [6]byte{2}}
	pressed := func(t *testing.T, use uint8) string {
		return yubikeytest.GenerateOTP(t, publicID, device, 1, use, [5]byte{1, 2, 3, 4, 5})
	}
	passcode := func(t *testing.T, v *visitor, secret string) string {
		code, err := otp.Device{}.Time(otp.Secret(secret), v.e.Clock.Now())
		require.NoError(t, err)
		return code
	}
	for _, c := range []struct {
		name, enroll, method, profile, shown string
		query                                string                                    // query parameters of the enrollment
		prepare                              func(t *testing.T, e *apitest.Env) string // returns the enrollment
		activate                             func(t *testing.T, v *visitor, a *apitest.Answer)
		challenge                            string // result of a verification without a proof, empty if the API rejects it
		proof                                func(t *testing.T, v *visitor, a *apitest.Answer) proof
		wrong                                proof
	}{
		{name: "question", enroll: `{"factorType":"question","provider":"SVC","profile":{"question":"disliked_food","answer":"mayonnaise"}}`,
			method:  "kba",
			profile: "question", shown: "disliked_food", proof: func(*testing.T, *visitor, *apitest.Answer) proof {
				return proof{"answer": " MAYONNAISE "}
			}, wrong: proof{"answer": "ketchup"}},
		{name: "sms", enroll: `{"factorType":"sms","provider":"SVC","profile":{"phoneNumber":"+1-555-415-1337"}}`, method: "sms",
			profile: "phoneNumber", shown: "+XXXXXXX1337",
			activate: sent, challenge: "CHALLENGE", proof: coded, wrong: proof{"passCode": "x"}},
		{name: "call", enroll: `{"factorType":"call","provider":"SVC","profile":{"phoneNumber":"+1-555-415-1337"}}`, method: "tel",
			profile: "phoneNumber", shown: "+XXXXXXX1337",
			activate: sent, challenge: "CHALLENGE", proof: coded, wrong: proof{"passCode": "x"}},
		{name: "email", enroll: `{"factorType":"email","provider":"SVC","profile":{"email":"isaac@example.com"}}`, method: "otp",
			profile: "email", shown: "i***@example.com",
			activate: sent, challenge: "CHALLENGE", proof: coded, wrong: proof{"passCode": "x"}},
		{name: "totp", enroll: totp, method: "otp", profile: "credentialId", shown: "isaac@example.com", wrong: proof{"passCode": "x"},
			activate: func(t *testing.T, v *visitor, a *apitest.Answer) {
				v.rule = a.Value("_embedded.activation.sharedSecret") // the secret, from which proof computes the passcodes
				ok(t,
					v.e.Do(t, "POST /api/v1/users/"+v.id+"/factors/"+a.Value("id")+"/lifecycle/activate",
						fmt.Sprintf(`{"passCode":%q}`, passcode(t, v, v.rule)), nil))
			},
			proof: func(t *testing.T, v *visitor, _ *apitest.Answer) proof {
				return proof{"passCode": passcode(t, v, v.rule)}
			}},
		{name: "token", enroll: `{"factorType":"token","provider":"VENDOR_C","profile":{"credentialId":"isaac"},"verify":{"passCode":"123456"}}`,
			method: "otp", profile: "credentialId", shown: "isaac",
			proof: func(*testing.T, *visitor, *apitest.Answer) proof { return proof{"passCode": "654321"} }, wrong: proof{"passCode": "000000"}},
		{name: "hotp", query: "?activate=true", method: "otp", wrong: proof{"passCode": "x"},
			enroll: fmt.Sprintf(`{"factorType":"token:hotp","provider":"CUSTOM","factorProfileId":%q,"profile":{"sharedSecret":%q}}`,
				model.CustomOTPProfile(), shared),
			proof: func(t *testing.T, v *visitor, _ *apitest.Answer) proof {
				return proof{"passCode": passcode(t, v, string(shared))}
			}},
		{name: "hardware", method: "otp", profile: "credentialId", shown: "000000004711", wrong: proof{"passCode": "x"},
			prepare: func(t *testing.T, e *apitest.Env) string {
				ok(t, e.Do(t, "POST /api/v1/org/factors/hardware_token/tokens", fmt.Sprintf(
					`{"serialNumber":"4711","publicId":%q,"privateId":%q,"aesKey":%q}`, publicID, hex.EncodeToString(device.PrivateID[:]),
					hex.EncodeToString(device.Key[:])), nil))
				return fmt.Sprintf(`{"factorType":"token:hardware","provider":"VENDOR_E","verify":{"passCode":%q}}`, pressed(t, 1))
			},
			proof: func(t *testing.T, v *visitor, a *apitest.Answer) proof {
				path := "/factors/" + a.Value("_embedded.factors.0.id") + "/verify"
				refuses(t, v.authn(t, path, proof{"stateToken": a.Value("stateToken"), "passCode": pressed(t, 1)}), "E0000082")
				return proof{"passCode": pressed(t, 2)}
			}},
		{name: "push", enroll: `{"factorType":"push","provider":"SVC"}`, method: "swk", profile: "platform", shown: "ANDROID",
			challenge: "WAITING",
			activate: func(t *testing.T, v *visitor, a *apitest.Answer) {
				ok(t, v.e.Do(t, "POST /sandbox/v1/push/"+a.Value("id")+"/device", "", nil))
			},
			proof: func(t *testing.T, v *visitor, a *apitest.Answer) proof {
				again := ok(t, v.authn(t, "/factors/"+a.Value("_embedded.factor.id")+"/verify", proof{"stateToken": a.Value("stateToken")}))
				require.Equal(t, "WAITING", again.Value("factorResult"), "the push is pending")
				require.Equal(t, "poll", again.Value("_links.next.name"))
				ok(t, v.e.Do(t, "POST /sandbox/v1/push/transactions/"+v.transaction(t), `{"result":"APPROVE"}`, nil))
				return proof{}
			}},
		{name: "web", enroll: `{"factorType":"web","provider":"VENDOR_A"}`, method: "mca", profile: "credentialId", shown: "isaac@example.com",
			challenge: "CHALLENGE",
			activate: func(t *testing.T, v *visitor, a *apitest.Answer) {
				ok(t, v.e.Do(t, "POST /sandbox/v1/web/"+a.Value("id")+"/complete", `{"result":"SUCCESS"}`, nil))
			},
			proof: func(t *testing.T, v *visitor, a *apitest.Answer) proof {
				ok(t, v.e.Do(t, "POST /sandbox/v1/web/"+a.Value("_embedded.factor.id")+"/complete", `{"result":"SUCCESS"}`, nil))
				return proof{}
			}},
		{name: "u2f", enroll: `{"factorType":"u2f","provider":"FIDO"}`, method: "hwk", profile: "version", shown: "U2F_V2", activate: attest,
			challenge: "CHALLENGE", proof: key,
			wrong: proof{"clientData": "AAAA", "signatureData": "AAAA"}},
		{name: "webauthn", enroll: `{"factorType":"webauthn","provider":"FIDO"}`, method: "hwk", profile: "credentialId", activate: attest,
			challenge: "CHALLENGE", proof: key,
			wrong: proof{"clientData": "AAAA", "signatureData": "AAAA", "authenticatorData": "AAAA"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
			v := demanding(t, e)
			if c.prepare != nil {
				c.enroll = c.prepare(t, e)
			}
			enrolled := ok(t, e.Do(t, "POST /api/v1/users/"+v.id+"/factors"+c.query, c.enroll, nil))
			id := enrolled.Value("id")
			if c.activate != nil {
				c.activate(t, v, enrolled)
			}
			e.Clock.Advance(time.Minute)
			a := v.begin(t)
			at := "_embedded.factors.0."
			if c.name == "push" { // the list of factors starts with the TOTP factor of the push app
				at = "_embedded.factors.1."
			}
			for path, want := range map[string]string{
				"status": "MFA_REQUIRED", "relayState": "/here", at + "id": id, at + "factorType": enrolled.Value("factorType"),
				at + "vendorName": enrolled.Value("vendorName"), "_embedded.user.id": v.id, "sessionToken": "",
				at + "_links.verify.href": e.Server.URL + "/api/v1/authn/factors/" + id + "/verify",
				"_links.cancel.href":      e.Server.URL + "/api/v1/authn/cancel",
			} {
				require.Equal(t, want, a.Value(path), "%s: %s", path, a.Body)
			}
			if c.shown != "" {
				require.Equal(t, c.shown, a.Value(at+"profile."+c.profile))
			}
			require.NotEmpty(t, a.Value("stateToken"))
			state, path := a.Value("stateToken"), "/factors/"+id+"/verify"
			with := func(p proof) proof {
				out := proof{"stateToken": state}
				for name, value := range p {
					out[name] = value
				}
				return out
			}
			if c.challenge == "" {
				refuses(t, v.authn(t, path, with(nil)), "E0000001")
			} else {
				a = ok(t, v.authn(t, path, with(nil)))
				require.Equal(t, []string{"MFA_CHALLENGE", c.challenge, id, state},
					[]string{a.Value("status"), a.Value("factorResult"), a.Value("_embedded.factor.id"), a.Value("stateToken")}, "%s", a.Body)
				require.Equal(t, e.Server.URL+"/api/v1/authn"+path, a.Value("_links.next.href"))
				require.Equal(t, e.Server.URL+"/api/v1/authn/previous", a.Value("_links.prev.href"))
			}
			if c.wrong != nil {
				refuses(t, v.authn(t, path, with(c.wrong)), "E0000068")
				// the wrong proof has used up the challenge, so the verification starts again
				if strings.HasSuffix(c.name, "u2f") || c.name == "webauthn" {
					a = ok(t, v.authn(t, path, with(nil)))
				}
			}
			session := v.session(t, ok(t, v.authn(t, path, with(c.proof(t, v, a)))))
			require.Equal(t, []string{"pwd", c.method, "mfa"}, []string{session.Value("amr.0"), session.Value("amr.1"), session.Value("amr.2")})
			require.Equal(t, "true", session.Value("mfaActive"))
			require.NotEmpty(t, session.Value("lastFactorVerification"))
			require.NotEmpty(t, session.Value("lastPasswordVerification"))
			refuses(t, v.authn(t, path, with(nil)), "E0000011")
			told := ok(t,
				e.Do(t, "GET /api/v1/logs?filter=eventType+eq+%22user.authentication.auth_via_mfa%22+and+outcome.result+eq+%22SUCCESS%22", "", nil))
			require.Equal(t, "1", told.Value("#"))
			if c.name != "push" && c.name != "web" { // for push and web, the caller of /sandbox/v1 is the actor: it simulates the device
				require.Equal(t, v.id, told.Value("0.actor.id"))
			}
		})
	}
}

// transaction returns the id of the only verification on a device.
func (v *visitor) transaction(t *testing.T) string {
	t.Helper()
	page, err := v.e.Model.FactorTransactions.Query(t.Context(), v.e.Store.Reader(), docstore.Query[model.FactorTransaction]{Limit: 2})
	require.NoError(t, err)
	require.Len(t, page.Docs, 1)
	return page.Docs[0].ID
}

const securityQuestion = `{"factorType":"question","provider":"SVC","profile":{"question":"disliked_food","answer":"mayonnaise"}}`

func TestFactorRequired_States(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db, apitest.Sandboxed)
		v := demanding(t, e)
		question := v.enroll(t, securityQuestion).Value("id")
		email := v.enroll(t, `{"factorType":"email","provider":"SVC","profile":{"email":"isaac@example.com"}}`)
		ok(t,
			e.Do(t, "POST /api/v1/users/"+v.id+"/factors/"+email.Value("id")+"/lifecycle/activate", fmt.Sprintf(`{"passCode":%q}`, v.code(t)), nil))
		e.Clock.Advance(time.Minute)
		a := v.begin(t)
		require.Equal(t, "2", a.Value("_embedded.factors.#"))
		state := map[string]any{"stateToken": a.Value("stateToken")}
		both := func(name, value string) map[string]any {
			return map[string]any{"stateToken": a.Value("stateToken"), name: value}
		}

		refuses(t, v.authn(t, "/previous", state), "E0000079")
		refuses(t,
			v.authn(t, "/credentials/change_password",
				map[string]any{"stateToken": a.Value("stateToken"), "oldPassword": first, "newPassword": second}), "E0000079")
		refuses(t, v.authn(t, "/factors/nothing/verify", state), "E0000007")
		refuses(t, v.authn(t, "/factors/"+question+"/verify", map[string]any{"stateToken": "nothing", "answer": "mayonnaise"}), "E0000011")
		refuses(t, v.authn(t, "/factors/"+question+"/verify", map[string]any{"answer": "mayonnaise"}), "E0000001")
		refuses(t, v.authn(t, "/factors", map[string]any{"stateToken": a.Value("stateToken"), "factorType": "push", "provider": "SVC"}),
			"E0000079")

		other := ok(t,
			e.Do(t, create, `{"profile":{"login":"bob@example.com","email":"bob@example.com","firstName":"B","lastName":"Ob"}}`, nil)).Value("id")
		foreign := ok(t, e.Do(t, "POST /api/v1/users/"+other+"/factors", securityQuestion, nil)).Value("id")
		refuses(t, v.authn(t, "/factors/"+foreign+"/verify", both("answer", "mayonnaise")), "E0000007")

		require.Equal(t, "MFA_CHALLENGE", ok(t, v.authn(t, "/factors/"+email.Value("id")+"/verify", state)).Value("status"))
		refuses(t, v.authn(t, "/factors/"+question+"/verify", both("answer", "mayonnaise")), "E0000079")
		back := ok(t, v.authn(t, "/previous", state))
		require.Equal(t, []string{"MFA_REQUIRED", "2"}, []string{back.Value("status"), back.Value("_embedded.factors.#")})
		require.Equal(t, "SUCCESS", ok(t, v.authn(t, "/factors/"+question+"/verify", both("answer", "mayonnaise"))).Value("status"))

		a = v.begin(t)
		require.Equal(t, `{"relayState":"/here"}`,
			strings.TrimSpace(string(ok(t, v.authn(t, "/cancel", map[string]any{"stateToken": a.Value("stateToken")})).Body)))
		refuses(t, v.authn(t, "/factors/"+question+"/verify", both("answer", "mayonnaise")), "E0000011")

		a = v.begin(t)
		e.Clock.Advance(time.Hour)
		refuses(t, v.authn(t, "/factors/"+question+"/verify", both("answer", "mayonnaise")), "E0000011")

		a = v.begin(t)
		ok(t, e.Do(t, "POST /api/v1/org/factors/svc_question/lifecycle/deactivate", "", nil))
		refuses(t, v.authn(t, "/factors/"+question+"/verify", both("answer", "mayonnaise")), "E0000079")
		require.Equal(t, "1", v.begin(t).Value("_embedded.factors.#"), "a deactivated type is not offered")
		ok(t, e.Do(t, "POST /api/v1/org/factors/svc_question/lifecycle/activate", "", nil))

		a = v.begin(t)
		ok(t, e.Do(t, "POST /api/v1/users/"+v.id, `{"credentials":{"password":{"value":"`+second+`"}}}`, nil))
		refuses(t, v.authn(t, "/factors/"+question+"/verify", both("answer", "mayonnaise")), "E0000011")
	})
}

// The limit on wrong answers is per user, for sign-ins and the management API together. Without a sign-in, the responses for known and
// unknown factor ids are the same.
func TestFactorRequired_UnknownFactor(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	v := demanding(t, e)
	id := v.enroll(t, `{"factorType":"question","provider":"SVC","profile":{"question":"disliked_food","answer":"mayonnaise"}}`).Value("id")
	state := v.begin(t).Value("stateToken")
	for _, step := range []string{"/verify", "/lifecycle/activate"} {
		for _, factor := range []string{id, "ufs00000000000000000"} {
			refuses(t, v.authn(t, "/factors/"+factor+step, map[string]any{"stateToken": "unknown", "answer": "mayonnaise"}), "E0000011")
			a := v.authn(t, "/factors/"+factor+step, map[string]any{"answer": "mayonnaise"})
			require.Equal(t, 400, a.Status, "%s", a.Body)
		}
		refuses(t, v.authn(t, "/factors/ufs00000000000000000"+step, map[string]any{"stateToken": state}), "E0000007")
	}
}

func TestFactorRequired_Throttled(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	v := demanding(t, e)
	question := v.enroll(t, securityQuestion).Value("id")
	path := "/factors/" + question + "/verify"
	answer := func(a *apitest.Answer, text string) *apitest.Answer {
		return v.authn(t, path, map[string]any{"stateToken": a.Value("stateToken"), "answer": text})
	}
	a := v.begin(t)
	for range 2 {
		refuses(t, e.Do(t, "POST /api/v1/users/"+v.id+path, `{"answer":"ketchup"}`, nil), "E0000068")
	}
	for range 3 {
		refuses(t, answer(a, "ketchup"), "E0000068")
	}
	exceeded := answer(a, "mayonnaise")
	refuses(t, exceeded, "E0000047")
	require.Equal(t, "5", exceeded.Header.Get("X-Rate-Limit-Limit"))
	refuses(t, answer(v.begin(t), "mayonnaise"), "E0000047")
	refuses(t, e.Do(t, "POST /api/v1/users/"+v.id+path, `{"answer":"mayonnaise"}`, nil), "E0000047")
	e.Clock.Advance(5 * time.Minute)
	require.Equal(t, "SUCCESS", ok(t, answer(a, "mayonnaise")).Value("status"))
}

// A rejected or unanswered push does not sign in. After a return to the choice of a factor, the same factor can send another push.
func TestFactorRequired_PushRejected(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	v := demanding(t, e)
	push := v.enroll(t, `{"factorType":"push","provider":"SVC"}`).Value("id")
	ok(t, e.Do(t, "POST /sandbox/v1/push/"+push+"/device", "", nil))
	a := v.begin(t)
	state := map[string]any{"stateToken": a.Value("stateToken")}
	verify := func() *apitest.Answer { return ok(t, v.authn(t, "/factors/"+push+"/verify", state)) }
	require.Equal(t, "WAITING", verify().Value("factorResult"))
	ok(t, e.Do(t, "POST /sandbox/v1/push/transactions/"+v.transaction(t), `{"result":"REJECT"}`, nil))
	for range 2 {
		rejected := verify()
		require.Equal(t, []string{"MFA_CHALLENGE", "REJECTED"}, []string{rejected.Value("status"), rejected.Value("factorResult")})
	}
	ok(t, v.authn(t, "/previous", state))
	require.Equal(t, "WAITING", verify().Value("factorResult"))
	e.Clock.Advance(5 * time.Minute)
	require.Equal(t, "TIMEOUT", verify().Value("factorResult"))
}

// A user without a factor enrolls one during the sign-in. A user with a factor cannot add another one with the password alone.
func TestFactorEnroll(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	v := demanding(t, e)
	a := v.begin(t)
	require.Equal(t, "MFA_ENROLL", a.Value("status"))
	require.Equal(t, []string{"question", "NOT_SETUP", e.Server.URL + "/api/v1/authn/factors"},
		[]string{a.Value("_embedded.factors.0.factorType"), a.Value("_embedded.factors.0.status"),
			a.Value("_embedded.factors.0._links.enroll.href")})
	enroll := func(a *apitest.Answer, kind, profile string) *apitest.Answer {
		return v.authn(t, "/factors",
			map[string]any{"stateToken": a.Value("stateToken"), "factorType": kind, "provider": "SVC", "profile": json.RawMessage(profile)})
	}
	refuses(t, enroll(a, "u2f", `{}`), "E0000001")
	refuses(t, enroll(a, "email", `{"email":"other@example.com"}`), "E0000001")
	pending := ok(t, enroll(a, "email", `{"email":"isaac@example.com"}`))
	require.Equal(t, []string{"MFA_ENROLL_ACTIVATE", "PENDING_ACTIVATION", "activate"},
		[]string{pending.Value("status"), pending.Value("_embedded.factor.status"), pending.Value("_links.next.name")}, "%s", pending.Body)
	id := pending.Value("_embedded.factor.id")
	state := map[string]any{"stateToken": a.Value("stateToken")}
	with := func(code string) map[string]any {
		return map[string]any{"stateToken": a.Value("stateToken"), "passCode": code}
	}
	refuses(t, v.authn(t, "/factors/"+id+"/verify", with("1")), "E0000079")
	refuses(t, v.authn(t, "/factors/"+id+"/lifecycle/activate", with("1")), "E0000068")
	require.Equal(t, "MFA_ENROLL", ok(t, v.authn(t, "/previous", state)).Value("status"))
	refuses(t, v.authn(t, "/factors/"+id+"/lifecycle/activate", with(v.code(t))), "E0000079")
	e.Clock.Advance(time.Minute)
	id = ok(t, enroll(a, "email", `{"email":"isaac@example.com"}`)).Value("_embedded.factor.id")
	session := v.session(t, ok(t, v.authn(t, "/factors/"+id+"/lifecycle/activate", with(v.code(t)))))
	require.Equal(t, "otp", session.Value("amr.1"))
	require.Equal(t, "MFA_REQUIRED", v.begin(t).Value("status"))

	t.Run("at once", func(t *testing.T) {
		ok(t, e.Do(t, "POST /api/v1/users/"+v.id+"/lifecycle/reset_factors", "", nil))
		v.session(t, ok(t, enroll(v.begin(t), "question", `{"question":"disliked_food","answer":"mayonnaise"}`)))
	})
	t.Run("push", func(t *testing.T) {
		ok(t, e.Do(t, "POST /api/v1/users/"+v.id+"/lifecycle/reset_factors", "", nil))
		a := v.begin(t)
		pending := ok(t, enroll(a, "push", `{}`))
		require.Equal(t, []string{"WAITING", "poll"}, []string{pending.Value("factorResult"), pending.Value("_links.next.name")}, "%s",
			pending.Body)
		require.Empty(t, pending.Value("_embedded.factor._embedded.activation._links.poll"), "no link to an administrator operation")
		id, state := pending.Value("_embedded.factor.id"), map[string]any{"stateToken": a.Value("stateToken")}
		require.Equal(t, "WAITING", ok(t, v.authn(t, "/factors/"+id+"/lifecycle/activate", state)).Value("factorResult"))
		ok(t, e.Do(t, "POST /sandbox/v1/push/"+id+"/device", "", nil))
		v.session(t, ok(t, v.authn(t, "/factors/"+id+"/lifecycle/activate", state)))
	})
	t.Run("not with another factor", func(t *testing.T) {
		ok(t, e.Do(t, "POST /api/v1/users/"+v.id+"/lifecycle/reset_factors", "", nil))
		a, b := v.begin(t), v.begin(t)
		pending := ok(t, enroll(b, "token:software:totp", `{}`))
		v.enroll(t, securityQuestion)
		refuses(t, enroll(a, "email", `{"email":"isaac@example.com"}`), "E0000079")
		code, err := otp.Device{}.Time(otp.Secret(pending.Value("_embedded.factor._embedded.activation.sharedSecret")), e.Clock.Now())
		require.NoError(t, err)
		refuses(t,
			v.authn(t, "/factors/"+pending.Value("_embedded.factor.id")+"/lifecycle/activate",
				map[string]any{"stateToken": b.Value("stateToken"), "passCode": code}), "E0000079")
		list := ok(t, e.Do(t, "GET /api/v1/users/"+v.id+"/factors", "", nil))
		require.NotContains(t, string(list.Body), `"email"`, "a rejected enrollment is not stored")
	})
}

// The rule applies to every way to complete a sign-in.
func TestFactorRequired_EveryWay(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	v := demanding(t, e)
	v.enroll(t, securityQuestion)
	users := "POST /api/v1/users/" + v.id
	ok(t, e.Do(t, users+"/lifecycle/expire_password", "", nil))
	a := v.begin(t)
	require.Equal(t, "PASSWORD_EXPIRED", a.Value("status"))
	a = ok(t,
		v.authn(t, "/credentials/change_password",
			map[string]any{"stateToken": a.Value("stateToken"), "oldPassword": first, "newPassword": second}))
	require.Equal(t, "MFA_REQUIRED", a.Value("status"))
	require.Empty(t, a.Value("sessionToken"))
	url := ok(t, e.Do(t, users+"/lifecycle/reset_password?sendEmail=false", "", nil)).Value("resetPasswordUrl")
	a = ok(t, v.authn(t, "/recovery/token", map[string]any{"recoveryToken": url[strings.LastIndex(url, "/")+1:]}))
	a = ok(t,
		v.authn(t, "/credentials/reset_password", map[string]any{"stateToken": a.Value("stateToken"), "newPassword": "Yet-another-2026"}))
	require.Equal(t, "MFA_REQUIRED", a.Value("status"))
	require.NotEmpty(t, ok(t, e.Do(t, "GET /api/v1/users/"+v.id, "", nil)).Value("passwordChanged"))
	require.Empty(t, ok(t, e.Do(t, "GET /api/v1/users/"+v.id, "", nil)).Value("lastLogin"), "no sign-in is complete")
}

func TestSignOnRules_Decide(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	v := newVisitor(t, e)
	v.enroll(t, securityQuestion)
	rules := fmt.Sprintf(rulesPath, v.policy)
	status := func() string { return v.begin(t).Value("status") }
	require.Equal(t, "SUCCESS", status(), "without rules")
	group := ok(t, e.Do(t, "POST /api/v1/groups", `{"profile":{"name":"Careful"}}`, nil)).Value("id")
	factor := v.demand(t,
		fmt.Sprintf(`{"name":"Careful","conditions":{"people":{"groups":{"include":[%q]}}},"actions":{"signon":{"access":"ALLOW",`+
			`"requireFactor":true,"factorPromptMode":"SESSION"}}}`, group))
	require.Equal(t, "SUCCESS", status(), "not a member")
	ok(t, e.Do(t, "PUT /api/v1/groups/"+group+"/users/"+v.id, "", nil))
	require.Equal(t, "MFA_REQUIRED", status())
	free := v.demand(t,
		fmt.Sprintf(`{"name":"Free","priority":1,"conditions":{"people":{"users":{"include":[%q]}}},"actions":{"signon":{"access":"ALLOW"}}}`,
			v.id))
	require.Equal(t, "SUCCESS", status(), "the first rule decides")
	ok(t, e.Do(t, "POST "+rules+"/"+free+"/lifecycle/deactivate", "", nil))
	require.Equal(t, "MFA_REQUIRED", status())
	ok(t,
		e.Do(t, "PUT "+rules+"/"+factor,
			fmt.Sprintf(`{"name":"Careful","conditions":{"people":{"groups":{"include":[%q]},"users":{"exclude":[%q]}}},`+
				`"actions":{"signon":{"access":"ALLOW","requireFactor":true}}}`, group, v.id), nil))
	require.Equal(t, "SUCCESS", status(), "excluded")
	all := v.demand(t, `{"name":"All","actions":{"signon":{"access":"DENY"}}}`)
	a := v.authn(t, "", map[string]any{"username": "isaac@example.com", "password": first})
	refuses(t, a, "E0000004")
	told := ok(t, e.Do(t, "GET /api/v1/logs?filter=eventType+eq+%22user.session.start%22+and+outcome.result+eq+%22FAILURE%22", "", nil))
	require.Equal(t, []string{"1", "The sign-on policy denies access"}, []string{told.Value("#"), told.Value("0.outcome.reason")})
	ok(t, e.Do(t, "DELETE "+rules+"/"+all, "", nil))
	require.Equal(t, "SUCCESS", status())
}

// A rule for a deleted user or group applies to no user, and can be written back as it was read.
func TestSignOnRules_DeletedGroup(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	v := newVisitor(t, e)
	group := ok(t, e.Do(t, "POST /api/v1/groups", `{"profile":{"name":"Careful"}}`, nil)).Value("id")
	rule := v.demand(t,
		fmt.Sprintf(
			`{"name":"Careful","conditions":{"people":{"groups":{"include":[%q]}}},"actions":{"signon":{"access":"ALLOW","requireFactor":true}}}`,
			group))
	ok(t, e.Do(t, "DELETE /api/v1/groups/"+group, "", nil))
	path := fmt.Sprintf(rulesPath, v.policy) + "/" + rule
	read := ok(t, e.Do(t, "GET "+path, "", nil))
	require.Equal(t, "0", read.Value("conditions.people.groups.include.#"), "%s", read.Body)
	require.Equal(t, "SUCCESS", v.begin(t).Value("status"))
	written := ok(t, e.Do(t, "PUT "+path, string(read.Body), nil))
	require.JSONEq(t, string(read.Body), string(written.Body))
	require.Equal(t, "SUCCESS", v.begin(t).Value("status"))
}

// Without a rule, a user with factors signs in with the password alone.
func TestFactorRequired_OffByDefault(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	v := newVisitor(t, e)
	session := v.session(t, v.begin(t))
	require.Equal(t, []string{"pwd", "1", "false", ""},
		[]string{session.Value("amr.0"), session.Value("amr.#"), session.Value("mfaActive"), session.Value("lastFactorVerification")})
	v.enroll(t, securityQuestion)
	session = v.session(t, v.begin(t))
	require.Equal(t, []string{"1", "true"}, []string{session.Value("amr.#"), session.Value("mfaActive")})
}
