package factors_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

const (
	factors = users + "/{{user}}/factors"
	factor  = factors + "/{{id}}"
	outbox  = "/sandbox/v1/outbox"
)

// enroll is the step that enrolls a factor and saves its id.
func enroll(body string) apitest.Step {
	return apitest.Step{Do: "POST " + factors, Body: body, Save: map[string]string{"id": "id"}}
}

// lastCode is the step that saves the last code that was sent.
func lastCode() apitest.Step {
	return apitest.Step{Do: "GET " + outbox + "?userId={{user}}&limit=1", Equal: map[string]any{"#": 1},
		Save: map[string]string{"code": "0.otp", "to": "0.to"}}
}

// wait is the step that moves the clock.
func wait(e *apitest.Env, d time.Duration) apitest.Step {
	return apitest.Step{Name: "after " + d.String(), Do: "GET " + users + "/me", Then: func(*testing.T, *apitest.Answer) {
		e.Clock.Advance(d)
	}}
}

// Proves B-factors-05, B-factors-12, B-factors-20, B-factors-23, B-factors-34, B-factors-35, B-factors-38, B-factors-39,
// B-factors-42, B-factors-43, B-factors-59, B-factors-60, B-factors-61, B-factors-62, B-factors-63, B-factors-64, B-factors-77.
func TestMessageFactor_Lifecycle(t *testing.T) {
	for _, c := range []struct {
		kind, body, prefix, profile, event, template string
		digits                                       int
		soon                                         time.Duration
		code                                         string // error code of a request for another message within the time soon
	}{
		{"sms", `{"factorType":"sms","provider":"SVC","profile":{"phoneNumber":"+1-555-415-1337"}}`, "sms", "+15554151337",
			"system.sms.send_factor_verify_message", "factor.sms", 6, 30 * time.Second, "E0000109"},
		{"call", `{"factorType":"call","provider":"SVC","profile":{"phoneNumber":"+1 555 415 1337","phoneExtension":"1234"}}`, "clf",
			"+15554151337", "system.voice.send_mfa_challenge_call", "factor.voice", 5, 30 * time.Second, "E0000047"},
		{"email", `{"factorType":"email","provider":"SVC","profile":{"email":"ADA@example.org"}}`, "emf", "ada@example.org",
			"system.email.send_factor_verify_message", "factor.email", 6, 5 * time.Second, "E0000118"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
			member := map[string]string{"email": "email"}[c.kind]
			if member == "" {
				member = "phoneNumber"
			}
			begun := enroll(c.body)
			begun.Equal = map[string]any{
				"status": "PENDING_ACTIVATION", "profile." + member: c.profile, "_links.resend.0.name": c.kind, "_links.self.hints.allow.#": 1,
			}
			begun.Has, begun.Lacks = []string{"_links.activate.href", "_links.user.href"}, []string{"_links.verify", "_embedded"}
			begun.Then = func(t *testing.T, a *apitest.Answer) {
				require.Equal(t, c.prefix, a.Value("id")[:3])
				require.NotContains(t, string(a.Body), "otp")
			}
			wrong := func(do string) apitest.Step {
				return apitest.Step{Do: do, Body: `{"passCode":"000"}`, Status: 403, Code: "E0000068"}
			}
			const activate, verify, resend = "POST " + factor + "/lifecycle/activate", "POST " + factor + "/verify", "POST " + factor + "/resend"
			limited := func(do string) apitest.Step {
				return apitest.Step{Name: "too soon: " + do, Do: do, Status: 429, Code: c.code, Then: func(t *testing.T, a *apitest.Answer) {
					require.Equal(t, "1", a.Header.Get("X-Rate-Limit-Limit"))
					require.Equal(t, "0", a.Header.Get("X-Rate-Limit-Remaining"))
					reset := e.Clock.Now().Add(c.soon + time.Second - 1).Unix()
					require.Equal(t, fmt.Sprint(reset), a.Header.Get("X-Rate-Limit-Reset"))
				}}
			}
			first := map[string]string{}
			saved := e.Run(t,
				withPerson(), begun, lastCode(),
				apitest.Step{Do: "GET " + outbox + "?userId={{user}}", Equal: map[string]any{"#": 1, "0.template": c.template, "0.to": c.profile},
					Then: func(t *testing.T, a *apitest.Answer) {
						require.Len(t, a.Value("0.otp"), c.digits)
						require.Contains(t, a.Value("0.text"), a.Value("0.otp"))
						first["code"] = a.Value("0.otp")
					}},
				apitest.Step{Do: "GET " + factors, Equal: map[string]any{"#": 1, "0.status": "PENDING_ACTIVATION"}},
				apitest.Step{Name: "a factor that is pending cannot be verified", Do: verify, Body: `{"passCode":"{{code}}"}`, Status: 403,
					Code: "E0000079"},
				apitest.Step{Do: verify, Status: 403, Code: "E0000079"},
				apitest.Step{Do: activate, Status: 400, Code: "E0000001", Causes: []string{"passCode: The field cannot be left blank"}},
				apitest.Step{Do: activate, Body: `{}`, Status: 400, Code: "E0000001", Causes: []string{"passCode: "}},
				wrong(activate),
				limited(resend),
				wait(e, c.soon),
				apitest.Step{Name: "a new code voids the old one", Do: resend, Body: c.body,
					Equal: map[string]any{"status": "PENDING_ACTIVATION", "id": "{{id}}"}},
			)
			// In rare cases, the old and the new code are equal by chance.
			if next := e.Run(t, apitest.Step{Do: "GET " + outbox + "?limit=1", Save: map[string]string{"code": "0.otp"}}); next["code"] !=
				first["code"] {
				e.Run(t, stepFor(saved, apitest.Step{Do: activate, Body: `{"passCode":"` + first["code"] + `"}`, Status: 403, Code: "E0000068"}))
			}
			steps := []apitest.Step{
				lastCode(),
				{Do: activate, Body: `{"passCode":"{{code}}"}`, Equal: map[string]any{"status": "ACTIVE", "_links.self.hints.allow.1": "DELETE"},
					Has: []string{"_links.verify"}, Lacks: []string{"_links.activate", "_links.resend"}},
				{Name: "once is enough", Do: activate, Body: `{"passCode":"{{code}}"}`, Status: 400, Code: "E0000001"},
				{Do: resend, Status: 400, Code: "E0000001"},
				{Name: "a code can be used once", Do: verify, Body: `{"passCode":"{{code}}"}`, Status: 403, Code: "E0000068"},
				limited(verify),
				wait(e, 6*time.Minute),
				{
					Do: verify + "?templateId=mine", Equal: map[string]any{"factorResult": "CHALLENGE", "profile." + member: c.profile},
					Has: []string{"_links.verify.href", "_links.factor.href"},
				},
				lastCode(),
				{Do: "GET " + outbox + "?limit=1", Equal: map[string]any{"0.template": c.template}},
				wrong(verify),
				{Do: verify, Body: `{"passCode":"{{code}}"}`, Equal: map[string]any{"factorResult": "SUCCESS"}},
				{Do: verify, Body: `{"passCode":"{{code}}"}`, Status: 403, Code: "E0000068"},
				wait(e, time.Minute),
				{Do: verify + "?tokenLifetimeSeconds=60", Equal: map[string]any{"factorResult": "CHALLENGE"}},
				lastCode(),
				wait(e, 5*time.Minute),
				{Name: "it has expired", Do: verify, Body: `{"passCode":"{{code}}"}`, Status: 403, Code: "E0000068"},
				{Do: "PUT " + factor, Body: `{"profile":{"phoneNumber":"+15554151338"}}`, Status: 400, Code: "E0000001"},
				{Do: "DELETE " + factor, Status: 204},
				{Do: "GET " + factor, Status: 404, Code: "E0000007"},
				{Do: "GET " + factors, Equal: map[string]any{"#": 0}},
				{Do: "GET /api/v1/logs?filter=eventType+eq+%22" + c.event + "%22",
					Equal: map[string]any{"#": 4, "0.target.1.id": "{{id}}", "0.target.1.type": "UserFactor"}},
			}
			for i := range steps {
				steps[i] = stepFor(map[string]string{"user": saved["user"], "id": saved["id"]}, steps[i])
			}
			e.Run(t, steps...)
		})
	}
}

// stepFor replaces the placeholders of a step for which saved has a value, and keeps the others.
func stepFor(saved map[string]string, s apitest.Step) apitest.Step {
	for name, value := range saved {
		s.Do, s.Body = strings.ReplaceAll(s.Do, "{{"+name+"}}", value), strings.ReplaceAll(s.Body, "{{"+name+"}}", value)
		for path, want := range s.Equal {
			if text, ok := want.(string); ok {
				s.Equal[path] = strings.ReplaceAll(text, "{{"+name+"}}", value)
			}
		}
	}
	return s
}

// Proves B-factors-22, B-factors-50, B-factors-53, B-factors-58.
func TestPhone_EnrollAndUpdate(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	phone := func(kind, number string) string {
		return fmt.Sprintf(`{"factorType":%q,"provider":"SVC","profile":{"phoneNumber":%q}}`, kind, number)
	}
	const other = "+1-555-415-1338"
	e.Run(t,
		withPerson(),
		apitest.Step{Name: "the user has no number yet", Do: "POST " + factors, Body: `{"factorType":"sms","provider":"SVC"}`, Status: 400,
			Code: "E0000001", Causes: []string{"profile.phoneNumber: The field cannot be left blank"}},
		apitest.Step{Do: "POST " + factors + "?activate=true", Body: phone("sms", "1-555-415-1337"),
			Equal: map[string]any{"status": "ACTIVE", "profile.phoneNumber": "+15554151337"}, Save: map[string]string{"id": "id"}},
		apitest.Step{Name: "nothing was sent", Do: "GET " + outbox, Equal: map[string]any{"#": 0}},
		apitest.Step{Name: "the same number ends with the same factor", Do: "POST " + factors, Body: phone("sms", "+1 555 415 1337"),
			Equal: map[string]any{"status": "ACTIVE", "id": "{{id}}"}},
		apitest.Step{Do: "POST " + factors, Body: phone("sms", other), Status: 400, Code: "E0000001",
			Causes: []string{"factorEnrollRequest: There is an existing verified phone number"}},
		apitest.Step{Do: "POST " + factors + "?updatePhone=true", Body: phone("sms", other), Status: 400, Code: "E0000001"},
		apitest.Step{Name: "a call uses the existing phone", Do: "POST " + factors, Body: `{"factorType":"call","provider":"SVC"}`,
			Equal: map[string]any{"status": "PENDING_ACTIVATION", "profile.phoneNumber": "+15554151337"}, Save: map[string]string{"call": "id"}},
		apitest.Step{
			Do: "GET " + factors + "/catalog",
			Equal: map[string]any{"1.factorType": "sms", "1.status": "ACTIVE", "1._embedded.phones.#": 1, "1._embedded.phones.0.status": "ACTIVE",
				"2.factorType": "call", "2.status": "PENDING_ACTIVATION"},
			Then: func(t *testing.T, a *apitest.Answer) {
				require.Regexp(t, "^mbl[0-9A-Za-z]{17}$", a.Value("1._embedded.phones.0.id"))
			},
		},
		apitest.Step{Name: "another number replaces what is pending", Do: "POST " + factors, Body: phone("call", other),
			Equal: map[string]any{"status": "PENDING_ACTIVATION"}},
		apitest.Step{Do: "GET " + factors + "/{{call}}", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "DELETE " + factor, Status: 204},
		apitest.Step{Do: "GET " + factors + "/catalog",
			Equal: map[string]any{"1.status": "NOT_SETUP", "1._embedded.phones.#": 1, "1._embedded.phones.0.profile.phoneNumber": "+15554151338",
				"1._embedded.phones.0.status": "PENDING_ACTIVATION"}},
		wait(e, time.Minute),
		apitest.Step{Do: "POST " + factors, Body: phone("sms", "+1-555-415-1339"), Save: map[string]string{"id": "id"}},
		apitest.Step{Name: "the number of what is pending changes", Do: "POST " + factors + "?updatePhone=true",
			Body:  phone("sms", "+1-555-415-1340"),
			Equal: map[string]any{"id": "{{id}}", "profile.phoneNumber": "+15554151340", "status": "PENDING_ACTIVATION"}},
		apitest.Step{Do: "POST " + factor + "/resend", Body: phone("sms", "+1-555-415-1339"), Status: 400, Code: "E0000001",
			Causes: []string{"profile.phoneNumber: "}},
		apitest.Step{Do: "POST " + factor + "/resend", Body: phone("call", "+1-555-415-1340"), Status: 400, Code: "E0000001",
			Causes: []string{"factorType: "}},
	)
	steps := []apitest.Step{{Do: "GET " + users + "/ada@example.com", Save: map[string]string{"user": "id"}}}
	for _, number := range []string{"abc", "1", "+", "+1-555-415-1337000001", "1555415133700001", "(555) 415-1337", "+1+5554151337", "-",
		"0041 44 123 45 67", "044 123 45 67", "tel:+15554151337"} {
		steps = append(steps,
			apitest.Step{Name: "not " + number, Do: "POST " + factors, Body: phone("call", number), Status: http.StatusBadRequest, Code: "E0000098"})
	}
	e.Run(t, steps...)
}

// A number has at most 15 digits (E.164). The API adds no digits. Proves B-factors-21.
func TestPhone_NoCountryCodeAdded(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	saved := e.Run(t, withPerson())
	for number, want := range map[string]string{
		"+155541513370001": "+155541513370001", "155541513370001": "+155541513370001", "+998765432109876": "+998765432109876",
		"5554151337":       "+5554151337",
		"+41 44-123 45 67": "+41441234567", "+1555415133700001": "", "1555415133700001": "", "+1 555 415 1337 00001": "", "+0441234567": "",
	} {
		for _, kind := range []string{"sms", "call"} {
			t.Run(kind+" "+number, func(t *testing.T) {
				e.Clock.Advance(time.Minute)
				step := apitest.Step{Do: "POST " + users + "/" + saved["user"] + "/factors",
					Body: fmt.Sprintf(`{"factorType":%q,"provider":"SVC","profile":{"phoneNumber":%q}}`, kind, number)}
				if want == "" {
					step.Status, step.Code = http.StatusBadRequest, "E0000098"
				} else {
					step.Equal = map[string]any{"profile.phoneNumber": want}
				}
				e.Run(t, step)
			})
		}
	}
}
