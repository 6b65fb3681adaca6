package factors_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/otp"
)

const (
	totpBody     = `{"factorType":"token:software:totp","provider":"SVC"}`
	questionBody = `{"factorType":"question","provider":"SVC","profile":{"question":"disliked_food","answer":"mayonnaise"}}`
	smsBody      = `{"factorType":"sms","provider":"SVC","profile":{"phoneNumber":"+1-555-415-1337"}}`
	emailBody    = `{"factorType":"email","provider":"SVC","profile":{"email":"ada@example.com"}}`
)

// Proves B-factors-73, B-factors-74, B-factors-75, B-factors-76.
func TestAttempts_LimitPerUser(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	mine := &app{env: e}
	saved := e.Run(t, withPerson(),
		apitest.Step{Do: "POST " + factors, Body: totpBody, Save: map[string]string{"id": "id", "secret": "_embedded.activation.sharedSecret"}},
		apitest.Step{Do: "POST " + factors, Body: smsBody, Save: map[string]string{"sms": "id"}}, lastCode())
	mine.secret = otp.Secret(saved["secret"])
	at := func(s apitest.Step) apitest.Step { return stepFor(saved, s) }
	wrong := at(apitest.Step{Do: activate, Body: `{"passCode":"` + mine.unlike(t) + `"}`, Status: 403, Code: "E0000068"})
	refused := func(do, body string) apitest.Step {
		return at(apitest.Step{Do: do, Body: body, Status: 429, Code: "E0000047", Then: func(t *testing.T, a *apitest.Answer) {
			require.Equal(t, "5", a.Header.Get("X-Rate-Limit-Limit"))
			require.Equal(t, "0", a.Header.Get("X-Rate-Limit-Remaining"))
			require.NotEmpty(t, a.Header.Get("X-Rate-Limit-Reset"))
		}})
	}
	e.Run(t,
		wrong, wrong, wrong,
		at(
			apitest.Step{Name: "of every factor", Do: "POST " + factors + "/{{sms}}/lifecycle/activate", Body: `{"passCode":"000"}`, Status: 403,
				Code: "E0000068"}),
		at(apitest.Step{Name: "an expired passcode counts", Do: activate, Body: mine.prove(t, 4), Status: 403, Code: "E0000068"}),
		refused(activate, mine.prove(t, 0)),
		refused("POST "+factors+"/{{sms}}/lifecycle/activate", `{"passCode":"{{code}}"}`),
		wait(e, 40*time.Second),
		refused("POST "+factors+"/{{sms}}/resend", ""),
		wait(e, 4*time.Minute+19*time.Second),
		refused(activate, mine.prove(t, 0)),
		wait(e, time.Second),
	)
	e.Run(t,
		at(apitest.Step{Name: "the window is over", Do: activate, Body: mine.prove(t, 0), Equal: map[string]any{"status": "ACTIVE"}}),
		at(apitest.Step{Do: "POST " + factors + "/{{sms}}/resend"}),
	)
	for i := range 5 {
		e.Run(t,
			at(
				apitest.Step{Name: fmt.Sprint("wrong again ", i), Do: verify, Body: `{"passCode":"` + mine.unlike(t) + `"}`, Status: 403,
					Code: "E0000068"}))
	}
	e.Run(t, refused(verify, mine.prove(t, 1)), refused(verify, `{"passCode":"1"}`))
}

// The limit of five wrong codes per user also applies to concurrent requests, and to all factors of the user together.
func TestAttempts_ParallelLimit(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db, apitest.Sandboxed)
		saved := e.Run(t, withPerson(),
			apitest.Step{Do: "POST " + factors, Body: totpBody, Save: map[string]string{"id": "id"}},
			apitest.Step{Do: "POST " + factors, Body: questionBody, Save: map[string]string{"question": "id"}},
		)
		base := strings.ReplaceAll(factors, "{{user}}", saved["user"])
		var mu sync.Mutex
		statuses := map[int]int{}
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				do, body := "POST "+base+"/"+saved["id"]+"/lifecycle/activate", `{"passCode":"wrong"}`
				if i%2 == 0 {
					do, body = "POST "+base+"/"+saved["question"]+"/verify", `{"answer":"ketchup"}`
				}
				a := e.Do(t, do, body, nil)
				mu.Lock()
				defer mu.Unlock()
				statuses[a.Status]++
			})
		}
		all.Wait()
		require.Equal(t, map[int]int{http.StatusForbidden: 5, http.StatusTooManyRequests: 25}, statuses)
		e.Run(t,
			apitest.Step{Name: "all are in the log", Do: "GET /api/v1/logs?limit=1000&filter=outcome.result+eq+%22FAILURE%22",
				Equal: map[string]any{"#": 30}},
			apitest.Step{Do: "GET /api/v1/logs?limit=1000&filter=eventType+eq+%22system.org.rate_limit.violation%22", Equal: map[string]any{
				"#": 25, "0.outcome.reason": "The limit of 5 wrong codes and answers of a user in 5 minutes was exceeded",
				"0.target.0.id": saved["user"], "0.target.1.type": "UserFactor",
				"0.debugContext.debugData.bucket": "factors.wrong",
			}},
		)
	})
}

// Any period of five minutes contains at most five wrong codes.
func TestAttempts_SlidingWindow(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	saved := e.Run(t, withPerson(), apitest.Step{Do: "POST " + factors, Body: questionBody, Save: map[string]string{"id": "id"}})
	answer := func(text string, status int, code string) apitest.Step {
		return stepFor(saved, apitest.Step{Do: verify, Body: `{"answer":"` + text + `"}`, Status: status, Code: code})
	}
	wrong, tooMany := answer("ketchup", 403, "E0000068"), answer("mayonnaise", 429, "E0000047")
	tooMany.Then = func(t *testing.T, a *apitest.Answer) {
		require.Equal(t, fmt.Sprint(time.Date(2026, 3, 4, 5, 11, 8, 0, time.UTC).Unix()), a.Header.Get("X-Rate-Limit-Reset"),
			"when the first no longer counts")
	}
	next := tooMany
	next.Then = nil
	e.Run(t,
		wrong, wait(e, 4*time.Minute), wrong, wrong, wrong, wrong, tooMany, wait(e, time.Minute-time.Millisecond), tooMany,
		wait(e, time.Millisecond), wrong, next, wait(e, 4*time.Minute-time.Millisecond), next,
		wait(e, time.Millisecond), wrong, wrong, wrong, wrong, next, wait(e, 5*time.Minute), answer("mayonnaise", 200, ""),
	)
}

func TestEnrollment_Expires(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db, apitest.Sandboxed)
		e.Run(t, withPerson(),
			apitest.Step{Do: "POST " + factors, Body: emailBody, Save: map[string]string{"id": "id"}},
			apitest.Step{Do: "POST " + factors, Body: totpBody,
				Save: map[string]string{"totp": "id", "qr": "_embedded.activation._links.qrcode.href"}},
			wait(e, 24*time.Hour-time.Millisecond),
			apitest.Step{Do: "GET " + factors, Equal: map[string]any{"#": 2}},
			apitest.Step{Do: "GET {{qr}}", Header: map[string]string{"Authorization": ""}},
			wait(e, time.Millisecond),
			apitest.Step{Do: "GET " + factors, Equal: map[string]any{"#": 0}},
			apitest.Step{Do: "GET " + factor, Equal: map[string]any{"status": "EXPIRED", "_links.self.hints.allow.1": "DELETE"},
				Lacks: []string{"_links.activate", "_links.resend"}},
			apitest.Step{Do: "GET " + factors + "/{{totp}}", Equal: map[string]any{"status": "EXPIRED"}, Lacks: []string{"_embedded"}},
			apitest.Step{Do: "GET {{qr}}", Header: map[string]string{"Authorization": ""}, Status: 404, Code: "E0000007"},
			apitest.Step{Do: activate, Body: `{"passCode":"123456"}`, Status: 403, Code: "E0000105"},
			apitest.Step{Do: "POST " + factor + "/resend", Status: 403, Code: "E0000105"},
			apitest.Step{Do: verify, Status: 403, Code: "E0000079"},
			apitest.Step{Name: "the catalog shows NOT_SETUP", Do: "GET " + factors + "/catalog",
				Equal: map[string]any{"3.factorType": "email", "3.status": "NOT_SETUP"}},
			apitest.Step{Name: "an expired factor is replaced", Do: "POST " + factors, Body: emailBody,
				Equal: map[string]any{"status": "PENDING_ACTIVATION"}},
			apitest.Step{Do: "GET " + factor, Status: 404, Code: "E0000007"},
			apitest.Step{Name: "an expired factor is removed", Do: "DELETE " + factors + "/{{totp}}", Status: 204},
		)
	})
}

// TestOrgFactors_DeactivatedType verifies that the factors of a type are unusable while the organization has it deactivated.
func TestOrgFactors_DeactivatedType(t *testing.T) {
	const org = "/api/v1/org/factors"
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db, apitest.Sandboxed)
		e.Run(t, withPerson(),
			apitest.Step{Do: "POST " + factors, Body: questionBody, Save: map[string]string{"id": "id"}},
			apitest.Step{Do: "POST " + factors, Body: totpBody, Save: map[string]string{"totp": "id"}},
			apitest.Step{Do: "GET " + org, Equal: map[string]any{"0.id": "svc_question", "0.status": "ACTIVE"},
				Has: []string{"0._links.deactivate", "link:self"}, Lacks: []string{"0._links.activate", "link:next"}},
			apitest.Step{Do: "GET " + org + "/svc_question",
				Equal: map[string]any{"factorType": "question", "provider": "SVC", "vendorName": "SVC"}},
			apitest.Step{Do: "POST " + org + "/svc_question/lifecycle/deactivate", Equal: map[string]any{"status": "INACTIVE"},
				Has: []string{"_links.activate"}, Lacks: []string{"_links.deactivate"}},
			apitest.Step{Name: "again", Do: "POST " + org + "/svc_question/lifecycle/deactivate", Equal: map[string]any{"status": "INACTIVE"}},
			apitest.Step{Do: "POST " + org + "/svc_otp/lifecycle/deactivate"},
			apitest.Step{Do: "GET " + factor, Equal: map[string]any{"status": "INACTIVE"}, Lacks: []string{"_links.questions", "_links.verify"}},
			apitest.Step{Do: verify, Body: `{"answer":"mayonnaise"}`, Status: 403, Code: "E0000079"},
			apitest.Step{Do: "PUT " + factor, Body: `{"profile":{"question":"first_award","answer":"chess"}}`, Status: 403, Code: "E0000079"},
			apitest.Step{Name: "a pending factor stays pending", Do: "GET " + factors,
				Equal: map[string]any{"#": 1, "0.id": "{{totp}}", "0.status": "PENDING_ACTIVATION"}},
			apitest.Step{Do: "POST " + factors + "/{{totp}}/lifecycle/activate", Body: `{"passCode":"123456"}`, Status: 403, Code: "E0000079"},
			apitest.Step{Do: "GET " + factors + "/catalog", Equal: map[string]any{"0.factorType": "sms"}},
			apitest.Step{Do: "POST " + factors, Body: questionBody, Status: 400, Code: "E0000001", Causes: []string{"factorType: "}},
			apitest.Step{Do: "POST " + org + "/svc_question/lifecycle/activate", Equal: map[string]any{"status": "ACTIVE"}},
			apitest.Step{Do: verify, Body: `{"answer":"mayonnaise"}`, Equal: map[string]any{"factorResult": "SUCCESS"}},
			apitest.Step{Do: "GET " + factor, Equal: map[string]any{"status": "ACTIVE"}},
			apitest.Step{Do: "GET " + org + "/nothing", Status: 404, Code: "E0000007"},
			apitest.Step{Do: "POST " + org + "/nothing/lifecycle/activate", Status: 404, Code: "E0000007"},
			apitest.Step{Do: "GET /api/v1/logs?filter=eventType+sw+%22policy.lifecycle%22",
				Equal: map[string]any{"#": 3, "0.target.0.id": "svc_question"}},
		)
	})
}

// TestFactor_FollowsUserLifecycle verifies the effect of a factor reset, a suspension, a deactivation and a deletion of the user on its
// factors.
func TestFactor_FollowsUserLifecycle(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	saved := e.Run(t, withPerson(),
		apitest.Step{Do: "POST " + factors, Body: questionBody, Save: map[string]string{"id": "id"}},
		apitest.Step{Do: "POST " + factors, Body: totpBody},
		apitest.Step{Do: "POST " + users + "/{{user}}/lifecycle/reset_factors", Equal: map[string]any{},
			Then: func(t *testing.T, a *apitest.Answer) { require.JSONEq(t, "{}", string(a.Body)) }},
		apitest.Step{Do: "GET " + factors, Equal: map[string]any{"#": 0}},
		apitest.Step{Do: "POST " + users + "/nobody/lifecycle/reset_factors", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "GET /api/v1/logs?filter=eventType+eq+%22user.mfa.factor.reset_all%22",
			Equal: map[string]any{"#": 1, "0.target.0.id": "{{user}}"}},
		apitest.Step{Do: "POST " + factors, Body: questionBody, Save: map[string]string{"id": "id"}},
		apitest.Step{Do: "POST " + factors, Body: smsBody, Save: map[string]string{"sms": "id"}},
		apitest.Step{Do: verify, Body: `{"answer":"wrong"}`, Status: 403, Code: "E0000068"},
		apitest.Step{Do: "POST " + users + "/{{user}}/lifecycle/suspend"},
		apitest.Step{Do: "GET " + factors, Equal: map[string]any{"#": 2}},
		apitest.Step{Do: "POST " + users + "/{{user}}/lifecycle/deactivate"},
		apitest.Step{Name: "the factors are kept", Do: "GET " + factors, Equal: map[string]any{"#": 2}},
		apitest.Step{Do: verify, Body: `{"answer":"mayonnaise"}`, Status: 403, Code: "E0000038"},
		apitest.Step{Do: "POST " + factors, Body: totpBody, Status: 403, Code: "E0000038"},
		apitest.Step{Do: "POST " + factors + "/{{sms}}/lifecycle/activate", Body: `{"passCode":"1"}`, Status: 403, Code: "E0000038"},
		apitest.Step{Do: "POST " + factors + "/{{sms}}/resend", Status: 403, Code: "E0000038"},
		apitest.Step{Do: "PUT " + factor, Body: `{"profile":{"question":"first_award","answer":"chess"}}`, Status: 403, Code: "E0000038"},
		apitest.Step{Do: "DELETE " + factor, Status: 403, Code: "E0000038"},
		apitest.Step{Do: "POST " + users + "/{{user}}/lifecycle/reset_factors", Status: 403, Code: "E0000038"},
		apitest.Step{Do: "POST " + users + "/{{user}}/lifecycle/activate"},
		apitest.Step{Name: "the factors are usable again", Do: verify, Body: `{"answer":"mayonnaise"}`,
			Equal: map[string]any{"factorResult": "SUCCESS"}},
		apitest.Step{Do: "DELETE " + users + "/{{user}}", Status: 204},
		apitest.Step{Do: "DELETE " + users + "/{{user}}", Status: 204},
		apitest.Step{Do: "GET " + factors, Status: 404, Code: "E0000007"},
	)
	n, err := e.Model.Factors.Count(t.Context(), e.Store.Reader(), nil)
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = e.Model.FactorWindows.Count(t.Context(), e.Store.Reader(), docstore.Prefix(docstore.ID, docstore.JoinID("wrong", "")))
	require.NoError(t, err)
	require.Zero(t, n, "the data of %s is deleted", saved["user"])
}

// TestFactor_UserStatus verifies which factor operations the API allows for staged and locked out users.
func TestFactor_UserStatus(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	staged := withPerson()
	staged.Do, staged.Equal = "POST "+users+"?activate=false", map[string]any{"status": "STAGED"}
	steps := []apitest.Step{
		staged,
		{Name: "an administrator enrolls a STAGED user", Do: "POST " + factors, Body: questionBody, Save: map[string]string{"id": "id"}},
		{Do: "POST " + users + "/{{user}}/lifecycle/activate"},
	}
	for range 10 { // as many failed sign-ins as the password policy allows
		steps = append(steps,
			apitest.Step{Do: "POST /api/v1/authn", Body: `{"username":"ada@example.com","password":"wrong"}`,
				Header: map[string]string{"Authorization": ""}, Status: 401, Code: "E0000004"})
	}
	e.Run(t, append(steps,
		apitest.Step{Do: "GET " + users + "/{{user}}", Equal: map[string]any{"status": "LOCKED_OUT"}},
		apitest.Step{Do: verify, Body: `{"answer":"mayonnaise"}`, Status: 403, Code: "E0000069"},
		apitest.Step{Do: "POST " + factors, Body: totpBody, Status: 403, Code: "E0000069"},
		apitest.Step{Do: "GET " + factors, Equal: map[string]any{"#": 1}},
		apitest.Step{Name: "an administrator can still remove it", Do: "DELETE " + factor, Status: 204},
	)...)
}

// Proves B-factors-18, B-factors-19, B-factors-51.
func TestQuestionFactor_Update(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	e.Run(t, withPerson(),
		apitest.Step{Do: "GET " + factors + "/questions",
			Equal: map[string]any{"#": 20, "0.question": "disliked_food", "19.question": "favorite_sports_player",
				"19.questionText": "Who is your favourite sports player?"}, Lacks: []string{"link:next"}},
		apitest.Step{Do: "POST " + factors, Body: questionBody, Save: map[string]string{"id": "id"}},
		apitest.Step{Do: "PUT " + factor, Body: `{"profile":{"question":"custom","questionText":"What is the answer?","answer":"forty-two"}}`,
			Equal: map[string]any{"id": "{{id}}", "profile.question": "custom", "profile.questionText": "What is the answer?", "status": "ACTIVE"},
			Lacks: []string{"profile.answer"}},
		apitest.Step{Do: verify, Body: `{"answer":"mayonnaise"}`, Status: 403, Code: "E0000068"},
		apitest.Step{Do: verify, Body: `{"answer":"FORTY-two"}`, Equal: map[string]any{"factorResult": "SUCCESS"}},
		apitest.Step{Do: "PUT " + factor, Status: 400, Code: "E0000003"},
		apitest.Step{Do: "PUT " + factor, Body: `{}`, Status: 400, Code: "E0000001", Causes: []string{"profile: "}},
		apitest.Step{Do: "PUT " + factor, Body: `{"profile":{"question":"disliked_food"}}`, Status: 400, Code: "E0000001",
			Causes: []string{"profile.answer: The field cannot be left blank"}},
		apitest.Step{Name: "these requests changed nothing", Do: verify, Body: `{"answer":"forty-two"}`},
		apitest.Step{Do: "POST " + factor + "/resend", Status: 400, Code: "E0000001", Causes: []string{"factorType: "}},
		apitest.Step{Do: "GET /api/v1/logs?filter=eventType+eq+%22user.mfa.factor.update%22",
			Equal: map[string]any{"#": 1, "0.target.1.id": "{{id}}"}},
	)
}

// Proves B-factors-02, B-factors-03, B-factors-15, B-factors-17, B-factors-18, B-factors-24, B-factors-26, B-factors-56.
func TestEnrollment_Rejected(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	bad := func(name, body string, causes ...string) apitest.Step {
		return apitest.Step{Name: name, Do: "POST " + factors, Body: body, Status: 400, Code: "E0000001", Causes: causes}
	}
	ask := func(profile string) string {
		return `{"factorType":"question","provider":"SVC","profile":` + profile + `}`
	}
	e.Run(t, withPerson(),
		apitest.Step{Do: "POST " + factors, Status: 400, Code: "E0000003"},
		apitest.Step{Do: "POST " + factors, Body: `[]`, Status: 400, Code: "E0000003"},
		apitest.Step{Do: "POST " + factors, Body: `{"factorType"`, Status: 400, Code: "E0000003"},
		bad("nothing", `{}`, "factorType: The field cannot be left blank", "provider: The field cannot be left blank"),
		bad("an unknown type", `{"factorType":"smell","provider":"SVC"}`, "factorType: The value must be one of"),
		bad("a type without support", `{"factorType":"signed_nonce","provider":"SVC"}`, "factorType: "),
		bad("an unknown provider", `{"factorType":"sms","provider":"OKTA"}`, "provider: "),
		bad("an unsupported pair", `{"factorType":"sms","provider":"FIDO"}`, "factorType: FIDO has no factors of the type sms"),
		bad("another unsupported pair", `{"factorType":"token:software:totp","provider":"VENDOR_C"}`, "factorType: "),
		bad("wrong types", `{"factorType":1,"provider":[],"profile":"x","verify":7}`, "factorType: ", "provider: ", "profile: ", "verify: "),
		bad("a question without a profile", `{"factorType":"question","provider":"SVC"}`, "profile.question: The field",
			"profile.answer: The field"),
		bad("a question that is not offered", ask(`{"question":"your_pin","answer":"1234"}`), "profile.question: "),
		bad("a custom one without a text", ask(`{"question":"custom","questionText":"  ","answer":"1234"}`), "profile.questionText: The field"),
		bad("a short answer", ask(`{"question":"first_award","answer":" abc "}`), "profile.answer: The field must have at least 4"),
		bad("an answer in the question", ask(`{"question":"disliked_food","answer":" FOOD"}`), "profile.answer: The answer must not be part"),
		bad("an answer that is too long", ask(`{"question":"disliked_food","answer":"`+strings.Repeat("x", 256)+`"}`), "profile.answer: "),
		bad("an email factor without an address", `{"factorType":"email","provider":"SVC"}`, "profile.email: The field"),
		bad("an address of another user", `{"factorType":"email","provider":"SVC","profile":{"email":"eve@example.com"}}`,
			"profile.email: The value must be the primary"),
		bad("an invalid number", `{"factorType":"sms","provider":"SVC","profile":{"phoneNumber":15554151337}}`, "profile.phoneNumber: "),
		bad("an extension that is too long",
			`{"factorType":"call","provider":"SVC","profile":{"phoneNumber":"+15554151337","phoneExtension":"1234567890123456"}}`,
			"profile.phoneExtension: "),
		apitest.Step{Do: "POST " + factors + "?tokenLifetimeSeconds=0", Body: emailBody, Status: 400, Code: "E0000001",
			Causes: []string{"tokenLifetimeSeconds: "}},
		apitest.Step{Do: "POST " + factors + "?tokenLifetimeSeconds=86401", Body: emailBody, Status: 400, Code: "E0000001",
			Causes: []string{"tokenLifetimeSeconds: "}},
		apitest.Step{Do: "POST " + factors + "?activate=perhaps", Body: emailBody, Status: 400, Code: "E0000001", Causes: []string{"activate: "}},
		apitest.Step{Do: "POST " + users + "/nobody/factors", Body: `{`, Status: 404, Code: "E0000007"},
		apitest.Step{Name: "nothing was created or sent", Do: "GET " + factors, Equal: map[string]any{"#": 0}},
		apitest.Step{Do: "GET " + outbox, Equal: map[string]any{"#": 0}},
	)
}

func TestFactorsOfOthers(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	steps := []apitest.Step{
		withPerson(),
		{Do: "POST " + factors, Body: questionBody, Save: map[string]string{"id": "id"}},
		{Do: "GET " + users + "/me", Save: map[string]string{"me": "id"}},
	}
	for _, do := range []string{"GET %s", "DELETE %s", "PUT %s", "POST %s/verify", "POST %s/lifecycle/activate",
		"POST %s/lifecycle/activate/poll", "POST %s/resend", "GET %s/transactions/mst00000000000000000",
		"DELETE %s/transactions/mst00000000000000000"} {
		for _, at := range []string{users + "/me/factors/{{id}}", factors + "/ufs00000000000000000", factors + "/{{me}}",
			users + "/nobody/factors/{{id}}"} {
			steps = append(steps, apitest.Step{Name: fmt.Sprintf(do, at), Do: fmt.Sprintf(do, at), Status: 404, Code: "E0000007"})
		}
	}
	e.Run(t, append(steps,
		apitest.Step{Do: "GET " + factor + "/transactions/mst00000000000000000", Status: 404, Code: "E0000007"},
		apitest.Step{Do: "GET " + factor + "/qr/x", Header: map[string]string{"Authorization": ""}, Status: 404, Code: "E0000007"},
		apitest.Step{Name: "the factor still exists", Do: verify, Body: `{"answer":"mayonnaise"}`},
		apitest.Step{Name: "by login", Do: "GET " + users + "/ada/factors/{{id}}", Equal: map[string]any{"id": "{{id}}"}},
	)...)
}

// Without a sandbox there is no outbox, so that no client could read a code.
func TestMessages_WithoutOutbox(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), func(o *assembly.Options) { o.RateLimits = callers.Limits{Off: true} })
	e.Run(t, withPerson(),
		apitest.Step{Do: "POST " + factors, Body: smsBody, Status: 501, Code: "E0000060"},
		apitest.Step{Do: "GET " + factors, Equal: map[string]any{"#": 0}},
		apitest.Step{Do: "POST " + factors + "?activate=true", Body: smsBody, Save: map[string]string{"id": "id"},
			Equal: map[string]any{"status": "ACTIVE"}},
		apitest.Step{Do: verify, Status: 501, Code: "E0000060"},
		apitest.Step{Do: verify, Body: `{"passCode":"123456"}`, Status: 403, Code: "E0000068"},
	)
}

// Only some kinds create transactions, but polling and cancellation are the same for all kinds.
func TestTransaction_States(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	saved := e.Run(t, withPerson(), apitest.Step{Do: "POST " + factors, Body: questionBody, Save: map[string]string{"id": "id"}})
	insert := func(factor string, result model.FactorResult) string {
		id := model.NewID(model.KindFactorTransaction)
		require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
			_, err := e.Model.FactorTransactions.Insert(t.Context(), tx, id, model.FactorTransaction{
				User: saved["user"], Factor: factor, Result: result, Expires: e.Clock.Now().Add(5 * time.Minute),
			})
			return err
		}))
		return id
	}
	const waiting, done, strange = "{{waiting}}", "{{done}}", "{{strange}}"
	for name, id := range map[string]string{
		"waiting": insert(saved["id"], model.FactorWaiting), "second": insert(saved["id"], model.FactorWaiting),
		"done":     insert(saved["id"], model.FactorSuccess),
		"rejected": insert(saved["id"], model.FactorRejected), "strange": insert("ufs00000000000000000", model.FactorWaiting),
	} {
		saved[name] = id
	}
	at := func(s apitest.Step) apitest.Step { return stepFor(saved, s) }
	e.Run(t,
		at(
			apitest.Step{Do: "GET " + factor + "/transactions/" + waiting,
				Equal: map[string]any{"factorResult": "WAITING", "_links.cancel.hints.allow.0": "DELETE"},
				Has:   []string{"expiresAt", "_links.poll.href"}}),
		at(
			apitest.Step{Do: "GET " + factor + "/transactions/" + done, Equal: map[string]any{"factorResult": "SUCCESS"},
				Lacks: []string{"_links", "expiresAt"}}),
		at(
			apitest.Step{Do: "GET " + factor + "/transactions/{{rejected}}", Equal: map[string]any{"factorResult": "REJECTED"},
				Has: []string{"_links.verify.href", "_links.factor.href"}}),
		at(apitest.Step{Name: "of another factor", Do: "GET " + factor + "/transactions/" + strange, Status: 404, Code: "E0000007"}),
		at(apitest.Step{Name: "of another factor, too", Do: "DELETE " + factor + "/transactions/" + strange, Status: 404, Code: "E0000007"}),
		at(apitest.Step{Do: "DELETE " + factor + "/transactions/" + waiting, Equal: map[string]any{"factorResult": "CANCELLED"}}),
		at(apitest.Step{Name: "twice", Do: "DELETE " + factor + "/transactions/" + waiting, Equal: map[string]any{"factorResult": "CANCELLED"}}),
		at(apitest.Step{Do: "GET " + factor + "/transactions/" + waiting, Equal: map[string]any{"factorResult": "CANCELLED"}}),
		at(apitest.Step{Name: "a complete transaction", Do: "DELETE " + factor + "/transactions/" + done, Status: 403, Code: "E0000107"}),
		wait(e, 5*time.Minute),
		at(
			apitest.Step{Do: "GET " + factor + "/transactions/{{second}}", Equal: map[string]any{"factorResult": "TIMEOUT"},
				Has: []string{"_links.verify.href"}}),
		at(apitest.Step{Do: "DELETE " + factor + "/transactions/{{second}}", Status: 403, Code: "E0000107"}),
		at(apitest.Step{Do: "DELETE " + factor, Status: 204}),
	)
	n, err := e.Model.FactorTransactions.Count(t.Context(), e.Store.Reader(), nil)
	require.NoError(t, err)
	require.Equal(t, 1, n, "the transactions were deleted with the factor")
}

// A code for one number does not verify another number. While the limit is reached, no message is sent.
func TestPhone_ChangedNumberRequiresCode(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	const other = `{"factorType":"sms","provider":"SVC","profile":{"phoneNumber":"+1-555-415-1340"}}`
	saved := e.Run(t, withPerson(), apitest.Step{Do: "POST " + factors, Body: smsBody, Save: map[string]string{"id": "id"}}, lastCode())
	e.Run(t,
		stepFor(saved,
			apitest.Step{Do: "POST " + factors + "?updatePhone=true", Body: other,
				Equal: map[string]any{"id": "{{id}}", "profile.phoneNumber": "+15554151340"}}))
	next := e.Run(t, stepFor(saved, lastCode()))
	require.Equal(t, "+15554151340", next["to"])
	if next["code"] != saved["code"] { // in rare cases, both random codes are equal
		e.Run(t, stepFor(saved, apitest.Step{Do: activate, Body: `{"passCode":"{{code}}"}`, Status: 403, Code: "E0000068"}))
	}
	saved["code"] = next["code"]
	e.Run(t, stepFor(saved, apitest.Step{Do: activate, Body: `{"passCode":"{{code}}"}`, Equal: map[string]any{"status": "ACTIVE"}}))

	wrong := stepFor(saved, apitest.Step{Do: verify, Body: `{"passCode":"wrong"}`, Status: 403, Code: "E0000068"})
	e.Run(t, stepFor(saved, wait(e, 10*time.Minute)), wrong, wrong, wrong, wrong, wrong,
		stepFor(saved,
			apitest.Step{Name: "an enrollment sends nothing either", Do: "POST " + factors, Body: emailBody, Status: 429, Code: "E0000047"}),
		stepFor(saved, apitest.Step{Do: "GET " + factors, Equal: map[string]any{"#": 1}}),
		apitest.Step{Do: "GET " + outbox, Equal: map[string]any{"#": 2}},
	)
}

// The rejection of a future passcode does not reveal that it will be valid, and the passcode stays valid for its time.
func TestPasscode_FutureRejected(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	mine := &app{env: e}
	saved := e.Run(t, withPerson(),
		apitest.Step{Do: "POST " + factors, Body: totpBody, Save: map[string]string{"id": "id", "secret": "_embedded.activation.sharedSecret"}})
	mine.secret = otp.Secret(saved["secret"])
	early := mine.prove(t, 5)
	told := func(s apitest.Step) string {
		text := ""
		s.Then = func(_ *testing.T, a *apitest.Answer) {
			text = a.Value("errorSummary") + a.Value("errorCauses.0.errorSummary")
		}
		e.Run(t, stepFor(saved, s))
		return text
	}
	e.Run(t, stepFor(saved, apitest.Step{Do: activate, Body: mine.prove(t, 0)}))
	never := told(apitest.Step{Do: verify, Body: `{"passCode":"` + mine.unlike(t) + `"}`, Status: 403, Code: "E0000068"})
	require.Equal(t, never, told(apitest.Step{Do: verify, Body: early, Status: 403, Code: "E0000068"}))
	e.Clock.Advance(150 * time.Second)
	e.Run(t,
		stepFor(saved,
			apitest.Step{Name: "the passcode was not used", Do: verify, Body: early, Equal: map[string]any{"factorResult": "SUCCESS"}}))
}

// Of many concurrent requests with the same right code, one succeeds.
func TestPasscode_AcceptedOnceConcurrently(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db, apitest.Sandboxed)
		mine := &app{env: e}
		saved := e.Run(t, withPerson(),
			apitest.Step{Do: "POST " + factors, Body: totpBody, Save: map[string]string{"id": "id", "secret": "_embedded.activation.sharedSecret"}},
			apitest.Step{Do: "POST " + factors, Body: emailBody, Save: map[string]string{"email": "id"}}, lastCode(),
		)
		mine.secret = otp.Secret(saved["secret"])
		base := strings.ReplaceAll(factors, "{{user}}", saved["user"])
		e.Run(t, stepFor(saved, apitest.Step{Do: activate, Body: mine.prove(t, 0)}))
		require.Equal(t, map[int]int{http.StatusOK: 1, http.StatusBadRequest: 7},
			inParallel(t, e, "POST "+base+"/"+saved["email"]+"/lifecycle/activate", `{"passCode":"`+saved["code"]+`"}`))
		require.Equal(t, map[int]int{http.StatusOK: 1, http.StatusForbidden: 5, http.StatusTooManyRequests: 2},
			inParallel(t, e, "POST "+base+"/"+saved["id"]+"/verify", mine.prove(t, 1)))
	})
}

// inParallel sends a request many times concurrently and counts the statuses of the responses.
func inParallel(t *testing.T, e *apitest.Env, do, body string) map[int]int {
	t.Helper()
	var mu sync.Mutex
	statuses := map[int]int{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			a := e.Do(t, do, body, nil)
			mu.Lock()
			defer mu.Unlock()
			statuses[a.Status]++
		})
	}
	all.Wait()
	return statuses
}

// TestEnrollment_ConcurrentLeavesOne verifies that concurrent enrollments of one type leave one factor.
func TestEnrollment_ConcurrentLeavesOne(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		h := withHolder(t, e)
		require.Equal(t, map[int]int{http.StatusOK: 8}, inParallel(t, e, "POST "+h.factors, totpBody))
		is(t, h.ok(t, "GET", "", ""), map[string]string{"#": "1", "0.status": "PENDING_ACTIVATION"})
		require.Equal(t, 7, h.events(t, "user.mfa.factor.deactivate", "SUCCESS"), "those that were replaced are in the log")
		require.Equal(t, map[int]int{http.StatusOK: 1, http.StatusBadRequest: 7}, inParallel(t, e, "POST "+h.factors, questionBody))
		is(t, h.ok(t, "GET", "", ""), map[string]string{"#": "2"})
	})
}

// TestFactor_LimitPerUser verifies the maximum number of call factors per user and of verifications per push factor.
func TestFactor_LimitPerUser(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	h := withHolder(t, e)
	call := func(i int) string {
		return fmt.Sprintf(`{"factorType":"call","provider":"SVC","profile":{"phoneNumber":"+1555415%04d"}}`, 1000+i)
	}
	for i := range 10 {
		h.ok(t, "POST", "?activate=true", call(i))
	}
	require.Contains(t, h.refused(t, "POST", "?activate=true", call(10), "E0000001").Value("errorCauses.0.errorSummary"),
		"factorEnrollRequest: A user has at most 10")
	h.ok(t, "POST", "", call(9))
	push := h.ok(t, "POST", "", pushBody).Value("id")
	h.device(t, "/push/"+push+"/device", `{}`, "")
	for range 20 {
		h.ok(t, "POST", "/"+push+"/verify", "")
	}
	require.Equal(t, "20", h.refused(t, "POST", "/"+push+"/verify", "", "E0000047").Header.Get("X-Rate-Limit-Limit"))
	e.Clock.Advance(5 * time.Minute)
	h.ok(t, "POST", "/"+push+"/verify", "")
}

// No code is sent to an address that no longer belongs to the user, and a code that was sent to it is invalid.
func TestEmail_RemovedAddress(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	stale := []string{"profile.email: The address no longer belongs to the user"}
	e.Run(t, withPerson(),
		apitest.Step{Do: "POST " + factors + "?tokenLifetimeSeconds=3600", Body: emailBody, Save: map[string]string{"id": "id"}},
		wait(e, time.Minute),
		apitest.Step{Do: "POST " + factor + "/resend"},
		apitest.Step{Do: "GET " + outbox + "?limit=1", Then: func(t *testing.T, a *apitest.Answer) {
			require.Contains(t, a.Value("0.text"), "It is valid for 1 hour.", "the lifetime of the enrollment")
		}},
		lastCode(), wait(e, 59*time.Minute),
		apitest.Step{Do: "POST " + users + "/{{user}}", Body: `{"profile":{"email":"ada@example.net"}}`},
		apitest.Step{Do: activate, Body: `{"passCode":"{{code}}"}`, Status: 400, Code: "E0000001", Causes: stale},
		apitest.Step{Do: "POST " + factor + "/resend", Status: 400, Code: "E0000001", Causes: stale},
		apitest.Step{Do: "POST " + users + "/{{user}}", Body: `{"profile":{"secondEmail":"ADA@example.com"}}`},
		apitest.Step{Name: "case-insensitive", Do: activate, Body: `{"passCode":"{{code}}"}`, Equal: map[string]any{"status": "ACTIVE"}},
		apitest.Step{Do: "POST " + users + "/{{user}}", Body: `{"profile":{"secondEmail":"ada@example.org"}}`},
		apitest.Step{Do: verify, Status: 400, Code: "E0000001", Causes: stale},
		apitest.Step{Do: "DELETE " + factor, Status: 204},
		apitest.Step{Do: "POST " + factors, Body: `{"factorType":"email","provider":"SVC","profile":{"email":"ada@example.net"}}`},
	)
}

// A list does not read the factors that it omits: it succeeds although these factors cannot be decoded.
func TestLists_SkipHiddenFactors(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db, apitest.Sandboxed)
		h := withHolder(t, e)
		expired := h.ok(t, "POST", "", smsBody).Value("id")
		e.Clock.Advance(24 * time.Hour)
		forbidden := h.ok(t, "POST", "?activate=true", emailBody).Value("id")
		others := e.Do(t, "POST "+users+"/me/factors", questionBody, nil).Value("id")
		h.ok(t, "POST", "", questionBody)
		h.ok(t, "POST", "", totpBody)
		e.Run(t, apitest.Step{Do: "POST /api/v1/org/factors/svc_email/lifecycle/deactivate"})
		require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
			_, err := tx.Exec(t.Context(), "UPDATE factors SET doc = ? WHERE id IN (?, ?, ?)", []byte("unreadable"), expired, forbidden, others)
			return err
		}))
		require.Equal(t, http.StatusInternalServerError, e.Do(t, "GET "+h.factors+"/"+expired, "", nil).Status)
		is(t, h.ok(t, "GET", "", ""), map[string]string{"#": "2", "0.factorType": "question", "1.factorType": "token:software:totp"})
		is(t, h.ok(t, "GET", "/catalog", ""),
			map[string]string{"0.status": "ACTIVE", "1.factorType": "sms", "1.status": "NOT_SETUP", "3.factorType": "push"})
	})
}
