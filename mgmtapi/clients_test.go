package mgmtapi_test

import (
	"testing"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// What client libraries send that a strict reading would refuse, beside the leniencies of the conventions. Each was found by running a
// library; docs/client-libraries.md names which.
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
		apitest.Step{Name: "the question as it was read is no new one", Do: "POST /api/v1/users/{{user}}",
			Body:  `{` + profile + `,"credentials":{"password":{},"recovery_question":{"question":"Who?"},"provider":{"type":"SVC","name":"SVC"}}}`,
			Equal: map[string]any{"credentials.recovery_question.question": "Who?"}},
		apitest.Step{Name: "nor in a replacement", Do: "PUT /api/v1/users/{{user}}",
			Body: `{` + profile + `,"credentials":{"recovery_question":{"question":"Who?"}}}`},
		apitest.Step{Name: "its answer still holds", Do: "POST /api/v1/users/{{user}}/credentials/forgot_password_recovery_question",
			Body: `{"password":{"value":"Correct-horse-8"},"recovery_question":{"answer":"the cat"}}`},
		apitest.Step{Name: "another question needs an answer", Do: "POST /api/v1/users/{{user}}",
			Body: `{"credentials":{"recovery_question":{"question":"Where?"}}}`, Status: 400, Code: "E0000001",
			Causes: []string{"credentials.recovery_question.answer: "}},
		apitest.Step{Name: "so does the first one", Do: "POST /api/v1/users",
			Body: `{"profile":{"login":"b@example.com","email":"b@example.com","firstName":"A","lastName":"B"},` +
				`"credentials":{"recovery_question":{"question":"Who?"}}}`, Status: 400, Code: "E0000001",
			Causes: []string{"credentials.recovery_question.answer: "}},

		apitest.Step{Do: "POST /api/v1/apps",
			Body: `{` + three +
				`,"settings":{"app":{"targetURL":"https://example.com","userNameSelector":"#u","passwordSelector":"#p","buttonSelector":"#b",` +
				`"extraFieldSelector":"#e","extraFieldValue":"v"}}}`, Save: map[string]string{"three": "id"}},
		apitest.Step{Name: "a setting of which a client knows only the other spelling stays", Do: "PUT /api/v1/apps/{{three}}",
			Body: `{` + three +
				`,"settings":{"app":{"targetURL":"https://example.org","passwordSelector":"#p","buttonSelector":"#b","extraFieldSelector":"#e",` +
				`"extraFieldValue":"v"}}}`,
			Equal: map[string]any{"settings.app.usernameSelector": "#u", "settings.app.targetURL": "https://example.org"}},
		apitest.Step{Name: "an empty one is none", Do: "PUT /api/v1/apps/{{three}}",
			Body: `{` + three +
				`,"settings":{"app":{"targetURL":"https://example.org","usernameSelector":"","passwordSelector":"#p","buttonSelector":"#b",` +
				`"extraFieldSelector":"#e","extraFieldValue":"v"}}}`, Status: 400, Code: "E0000001",
			Causes: []string{"settings.app.usernameSelector: "}},

		apitest.Step{Do: "POST /api/v1/groups", Body: `{"profile":{"name":"G"}}`, Save: map[string]string{"group": "id"}},
		apitest.Step{Name: "a body of null is none", Do: "PUT /api/v1/apps/{{three}}/groups/{{group}}", Body: `null`,
			Equal: map[string]any{"id": "{{group}}"}},
		apitest.Step{Name: "also where one is needed", Do: "PUT /api/v1/groups/{{group}}", Body: `null`, Status: 400, Code: "E0000003"},
		apitest.Step{Name: "and it is JSON all the same", Do: "PUT /api/v1/apps/{{three}}/groups/{{group}}", Body: `null`,
			Header: map[string]string{"Content-Type": "text/plain"}, Status: 400, Code: "E0000021"},
	)
}
