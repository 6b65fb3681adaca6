package factors_test

import (
	"testing"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

const users = "/api/v1/users"

// person is the body of a user without factors.
const person = `{"profile":{"login":"ada@example.com","email":"ada@example.com","secondEmail":"ada@example.org","firstName":"Ada",` +
	`"lastName":"L"},"credentials":{"password":{"value":"Abcd1234!x"}}}`

// withPerson returns the step that creates the user.
func withPerson() apitest.Step {
	return apitest.Step{Do: "POST " + users, Body: person, Save: map[string]string{"user": "id"}, Equal: map[string]any{"status": "ACTIVE"}}
}

// Proves B-factors-12, B-factors-16, B-factors-35, B-factors-38, B-factors-41, B-factors-46, B-factors-52.
func TestQuestionFactor_Lifecycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		const factors = users + "/{{user}}/factors"
		const verify = factors + "/{{id}}/verify"
		e.Run(t,
			withPerson(),
			apitest.Step{
				Do:   "POST " + factors,
				Body: `{"factorType":"question","provider":"SVC","profile":{"question":"disliked_food","answer":" Mayonnaise "}}`,
				Save: map[string]string{"id": "id"},
				Equal: map[string]any{
					"status": "ACTIVE", "vendorName": "SVC", "provider": "SVC", "factorType": "question", "profile.question": "disliked_food",
					"profile.questionText": "Which food did you like least as a child?", "_links.self.hints.allow.1": "DELETE",
				},
				Has: []string{"_links.questions.href", "_links.user.href"}, Lacks: []string{"profile.answer", "_links.verify", "_embedded"},
			},
			apitest.Step{Do: "GET " + factors + "/{{id}}", Equal: map[string]any{"status": "ACTIVE"}, Lacks: []string{"profile.answer"}},
			apitest.Step{Name: "case and space are ignored", Do: "POST " + verify, Body: `{"answer":"  mayonnaisE "}`,
				Equal: map[string]any{"factorResult": "SUCCESS"}},
			apitest.Step{Do: "POST " + verify, Body: `{"answer":"ketchup"}`, Status: 403, Code: "E0000068"},
			apitest.Step{Do: "POST " + verify, Status: 400, Code: "E0000001", Causes: []string{"answer: "}},
			apitest.Step{Do: "POST " + verify, Body: `{"passCode":"1"}`, Status: 400, Code: "E0000001", Causes: []string{"answer: "}},
			apitest.Step{
				Name: "a second factor is rejected", Do: "POST " + factors,
				Body:   `{"factorType":"question","provider":"SVC","profile":{"question":"first_award","answer":"chess"}}`,
				Status: 400, Code: "E0000001", Causes: []string{"factorEnrollRequest: A factor of this type is already set up"},
			},
		)
	})
}
