package slicetest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

const (
	templateRoot = "/api/v1/templates/sms"
	one          = templateRoot + "/{{t}}"
)

func body(text, translations string) string {
	return fmt.Sprintf(`{"name":"Code","type":"SMS_VERIFY_CODE","template":%q,"translations":%s}`, text, translations)
}

func TestTemplates_Lifecycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		e.Run(t,
			apitest.Step{Do: "GET " + templateRoot, Equal: map[string]any{"#": 0}},
			apitest.Step{Do: "POST " + templateRoot, Body: body("${org.name}: ${code}", `{"de-de":"Ihr Code: ${code}"}`),
				Save: map[string]string{"t": "id"},
				Equal: map[string]any{"name": "Code", "type": "SMS_VERIFY_CODE", "template": "${org.name}: ${code}",
					"translations.de-DE": "Ihr Code: ${code}", "created": "2026-03-04T05:06:07.000Z"},
				Then: func(t *testing.T, a *apitest.Answer) { require.Regexp(t, "^cst[0-9A-Za-z]{17}$", a.Value("id")) }},
			apitest.Step{Do: "GET " + templateRoot + "?templateType=SMS_VERIFY_CODE", Equal: map[string]any{"#": 1, "0.id": "{{t}}"}},
			apitest.Step{Do: "GET " + one, Equal: map[string]any{"name": "Code", "_links.self.hints.allow.#": 4}},
			apitest.Step{Name: "an update merges", Do: "POST " + one, Body: `{"translations":{"fr":"Votre code : ${code}"}}`,
				Equal: map[string]any{"template": "${org.name}: ${code}", "translations.de-DE": "Ihr Code: ${code}",
					"translations.fr": "Votre code : ${code}"}},
			apitest.Step{Name: "a replacement does not", Do: "PUT " + one, Body: body("Code ${code}", `{}`),
				Equal: map[string]any{"template": "Code ${code}", "translations": map[string]any{}}},
			apitest.Step{Do: "DELETE " + one, Status: 204},
			apitest.Step{Do: "GET " + one, Status: 404, Code: "E0000007"},
			apitest.Step{Do: "DELETE " + one, Status: 404, Code: "E0000007"},
			apitest.Step{Do: "GET /api/v1/logs?filter=eventType+sw+%22sms_template.%22",
				Equal: map[string]any{"#": 4, "0.target.0.displayName": "Code"}},
		)
	})
}

func TestTemplates_RejectBadInput(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	id := e.Do(t, "POST "+templateRoot, body("${code}", `{}`), nil).Value("id")
	for name, c := range map[string]struct{ body, cause string }{
		"no code":          {body("Hello", `{}`), "template: The text must contain the macro ${code}"},
		"unknown macro":    {body("${code} ${user.name}", `{}`), "template: Unknown macro ${user.name}"},
		"too long":         {body("${code}"+strings.Repeat("x", 155), `{}`), "template: The field must have at most 161 characters"},
		"a translation":    {body("${code}", `{"de":"Hallo"}`), "translations.de: The text must contain the macro ${code}"},
		"no language":      {body("${code}", `{"german language":"${code}"}`), `translations: "german language" is not a language tag`},
		"another type":     {strings.Replace(body("${code}", `{}`), "SMS_VERIFY_CODE", "SMS_NEWS", 1), "type: "},
		"a name too long":  {strings.Replace(body("${code}", `{}`), `"Code"`, `"`+strings.Repeat("x", 51)+`"`, 1), "name: "},
		"no string inside": {body("${code}", `{"de":1}`), "translations"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, do := range []string{"POST " + templateRoot, "PUT " + templateRoot + "/" + id, "POST " + templateRoot + "/" + id} {
				e.Run(t, apitest.Step{Do: do, Body: c.body, Status: 400, Code: "E0000001", Causes: []string{c.cause}})
			}
		})
	}
	e.Run(t,
		apitest.Step{Do: "POST " + templateRoot, Body: `{}`, Status: 400, Code: "E0000001", Causes: []string{"name", "type", "template"}},
		apitest.Step{Do: "GET " + templateRoot + "?templateType=x", Status: 400, Code: "E0000001", Causes: []string{"templateType"}},
	)
	for range 99 {
		e.Run(t, apitest.Step{Do: "POST " + templateRoot, Body: body("${code}", `{}`)})
	}
	e.Run(t,
		apitest.Step{Do: "POST " + templateRoot, Body: body("${code}", `{}`), Status: 400, Code: "E0000001",
			Causes: []string{"template: There can be at most 100"}})
}

// The outbox shows what the template says, in the language of the user.
// Proves B-factors-54, B-factors-55.
func TestTemplates_ChosenBySMSFactors(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	template := e.Do(t, "POST "+templateRoot,
		body("${code} is your code for ${org.name}", `{"de":"Ihr Code ist ${code}","fr-CA":"Code ${code}"}`), nil).Value("id")
	last := func(text, used string) apitest.Step {
		return apitest.Step{Do: "GET /sandbox/v1/outbox?limit=1", Equal: map[string]any{"0.template": used},
			Then: func(t *testing.T, a *apitest.Answer) {
				require.Equal(t, strings.ReplaceAll(text, "CODE", a.Value("0.otp")), a.Value("0.text"))
			}}
	}
	const builtIn = "Your verification code is CODE. It is valid for 5 minutes."
	for i, c := range []struct{ profile, text string }{
		{``, "CODE is your code for scimwright"},
		{`,"locale":"de_CH"`, "Ihr Code ist CODE"},
		{`,"preferredLanguage":"es, fr-CA;q=0.9","locale":"de_DE"`, "Code CODE"},
		{`,"preferredLanguage":"fr","locale":"de_DE"`, "Ihr Code ist CODE"},
		{`,"preferredLanguage":"en-GB, de","locale":"de_DE"`, "CODE is your code for scimwright"},
		{`,"preferredLanguage":"de-AT;q=0.5, *;q=0.1"`, "Ihr Code ist CODE"},
	} {
		t.Run(c.profile, func(t *testing.T) {
			user := e.Do(t, "POST /api/v1/users",
				fmt.Sprintf(`{"profile":{"login":"u%d@example.com","email":"u%[1]d@example.com","firstName":"A","lastName":"B"%s}}`, i, c.profile),
				nil).Value("id")
			require.NotEmpty(t, user)
			at, phone := "/api/v1/users/"+user+
				"/factors", fmt.Sprintf(`{"factorType":"sms","provider":"SVC","profile":{"phoneNumber":"+1555415%04d"}}`, i)
			e.Run(t, apitest.Step{Do: "POST " + at + "?templateId=" + template, Body: phone}, last(c.text, template))
			if i > 0 {
				return
			}
			saved := e.Run(t, apitest.Step{Do: "GET " + at, Save: map[string]string{"id": "0.id"}}, last(c.text, template))
			later := func() { e.Clock.Advance(time.Minute) }
			later()
			e.Run(t, apitest.Step{Do: "POST " + at + "/" + saved["id"] + "/resend"}, last(builtIn, "factor.sms"))
			later()
			e.Run(t, apitest.Step{Do: "POST " + at + "/" + saved["id"] + "/resend?templateId=" + template}, last(c.text, template))
			code := e.Do(t, "GET /sandbox/v1/outbox?limit=1", "", nil).Value("0.otp")
			e.Run(t,
				apitest.Step{Do: "POST " + at + "/" + saved["id"] + "/lifecycle/activate", Body: `{"passCode":"` + code + `"}`,
					Equal: map[string]any{"status": "ACTIVE"}})
			later()
			e.Run(t, apitest.Step{Do: "POST " + at + "/" + saved["id"] + "/verify?templateId=" + template}, last(c.text, template))
			later()
			e.Run(t, apitest.Step{Name: "an id that no template has", Do: "POST " + at + "/" + saved["id"] + "/verify?templateId=cst1"},
				last(builtIn, "factor.sms"))
			for _, other := range []string{
				`{"factorType":"call","provider":"SVC","profile":{"phoneNumber":"+15554151337"}}`,
				`{"factorType":"email","provider":"SVC","profile":{"email":"u0@example.com"}}`,
				`{"factorType":"token:software:totp","provider":"SVC"}`,
				`{"factorType":"question","provider":"SVC","profile":{"question":"disliked_food","answer":"mayonnaise"}}`,
			} {
				e.Run(t,
					apitest.Step{Do: "POST " + at + "?templateId=" + template, Body: other, Status: 400, Code: "E0000001",
						Causes: []string{"templateId: "}})
			}
			email := e.Do(t, "POST "+at, `{"factorType":"email","provider":"SVC","profile":{"email":"u0@example.com"}}`, nil).Value("id")
			later()
			e.Run(t,
				apitest.Step{Do: "POST " + at + "/" + email + "/resend?templateId=" + template, Status: 400, Code: "E0000001",
					Causes: []string{"templateId: "}})
		})
	}
}
