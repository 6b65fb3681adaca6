package mgmtapi_test

import (
	"testing"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// Requests of client libraries that a strict implementation would reject, in addition to those in TestConventions. Tests with the libraries
// found them; docs/howto/client-libraries.md names the library of each.
func TestClientLibraries_RoundTrip(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	const (
		profile = `"profile":{"login":"a@example.com","email":"a@example.com","firstName":"A","lastName":"B"}`
		three   = `"name":"template_swa3field","label":"T"`
	)
	e.Run(t,
		apitest.Step{Do: "POST /api/v1/users",
			Body: `{` + profile +
				`,"credentials":{"password":{"value":"Correct-horse-7"},"recovery_question":{"question":"Who?","answer":"the cat"}}}`,
			Save: map[string]string{"user": "id"}},
		apitest.Step{Name: "an update with the question from the response keeps the answer", Do: "POST /api/v1/users/{{user}}",
			Body:  `{` + profile + `,"credentials":{"password":{},"recovery_question":{"question":"Who?"},"provider":{"type":"SVC","name":"SVC"}}}`,
			Equal: map[string]any{"credentials.recovery_question.question": "Who?"}},
		apitest.Step{Name: "a replacement with it keeps the answer, too", Do: "PUT /api/v1/users/{{user}}",
			Body: `{` + profile + `,"credentials":{"recovery_question":{"question":"Who?"}}}`},
		apitest.Step{Name: "the answer is still valid", Do: "POST /api/v1/users/{{user}}/credentials/forgot_password_recovery_question",
			Body: `{"password":{"value":"Correct-horse-8"},"recovery_question":{"answer":"the cat"}}`},
		apitest.Step{Name: "a new question requires an answer", Do: "POST /api/v1/users/{{user}}",
			Body: `{"credentials":{"recovery_question":{"question":"Where?"}}}`, Status: 400, Code: "E0000001",
			Causes: []string{"credentials.recovery_question.answer: "}},
		apitest.Step{Name: "the first question requires an answer", Do: "POST /api/v1/users",
			Body: `{"profile":{"login":"b@example.com","email":"b@example.com","firstName":"A","lastName":"B"},` +
				`"credentials":{"recovery_question":{"question":"Who?"}}}`, Status: 400, Code: "E0000001",
			Causes: []string{"credentials.recovery_question.answer: "}},

		apitest.Step{Do: "POST /api/v1/apps",
			Body: `{` + three +
				`,"settings":{"app":{"targetURL":"https://example.com","userNameSelector":"#u","passwordSelector":"#p","buttonSelector":"#b",` +
				`"extraFieldSelector":"#e","extraFieldValue":"v"}}}`, Save: map[string]string{"three": "id"}},
		apitest.Step{Name: "a replacement keeps a setting that the client sends under another spelling", Do: "PUT /api/v1/apps/{{three}}",
			Body: `{` + three +
				`,"settings":{"app":{"targetURL":"https://example.org","passwordSelector":"#p","buttonSelector":"#b","extraFieldSelector":"#e",` +
				`"extraFieldValue":"v"}}}`,
			Equal: map[string]any{"settings.app.usernameSelector": "#u", "settings.app.targetURL": "https://example.org"}},
		apitest.Step{Name: "the setting must not be empty", Do: "PUT /api/v1/apps/{{three}}",
			Body: `{` + three +
				`,"settings":{"app":{"targetURL":"https://example.org","usernameSelector":"","passwordSelector":"#p","buttonSelector":"#b",` +
				`"extraFieldSelector":"#e","extraFieldValue":"v"}}}`, Status: 400, Code: "E0000001",
			Causes: []string{"settings.app.usernameSelector: "}},

		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"G"}}`, Save: map[string]string{"group": "id"}},
		apitest.Step{Name: "the body null is treated as an absent body", Do: "PUT /api/v1/apps/{{three}}/groups/{{group}}", Body: `null`,
			Equal: map[string]any{"id": "{{group}}"}},
		apitest.Step{Name: "also where a body is required", Do: "PUT /api/v1/groups/{{group}}", Body: `null`, Status: 400, Code: "E0000003"},
		apitest.Step{Name: "the body null requires a JSON media type", Do: "PUT /api/v1/apps/{{three}}/groups/{{group}}", Body: `null`,
			Header: map[string]string{"Content-Type": "text/plain"}, Status: 400, Code: "E0000021"},
	)
}
