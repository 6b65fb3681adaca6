package users_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// Proves B-users-55.
func TestAppLinks(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		const list = "GET /api/v1/users/isaac/appLinks"
		app := func(save, body string) apitest.Step {
			return apitest.Step{Do: "POST /api/v1/apps", Body: body, Save: map[string]string{save: "id", save + "Name": "name"}}
		}
		assign := func(app, credentials string) apitest.Step {
			return apitest.Step{Do: "POST /api/v1/apps/{{" + app + "}}/users", Body: `{"id":"{{u}}"` + credentials + `}`}
		}
		saved := e.Run(t,
			apitest.Step{Do: "POST /api/v1/users", Body: withPassword("isaac@example.com"), Save: map[string]string{"u": "id"}},
			apitest.Step{Name: "a user without applications has no links", Do: list, Equal: map[string]any{"#": 0}},
			app("wiki", `{"name":"bookmark","label":"Wiki","settings":{"app":{"url":"https://wiki.example/"}}}`),
			app("swa", `{"label":"books","signOnMode":"AUTO_LOGIN","settings":{"signOn":{"loginUrl":"https://books.example"}}}`),
			app("hidden",
				`{"name":"bookmark","label":"Attic","visibility":{"hide":{"web":true}},"settings":{"app":{"url":"https://attic.example/"}}}`),
			app("suite",
				`{"name":"bookmark","label":"Suite","visibility":{"appLinks":{"mail":true,"drive":true,"chat":false}},`+
					`"settings":{"app":{"url":"https://suite.example/"}}}`),
			app("other", `{"name":"bookmark","label":"Not assigned","settings":{"app":{"url":"https://other.example/"}}}`),
			assign("wiki", ""), assign("swa", ""), assign("hidden", ""), assign("suite", ""),
			apitest.Step{
				Name: "links are sorted by label, one per published link", Do: list,
				Equal: map[string]any{
					"#": 5, "0.label": "Attic", "0.hidden": true, "1.label": "books", "2.label": "Suite drive", "3.label": "Suite mail", "4.label": "Wiki",
					"4.appName": "bookmark", "4.appInstanceId": "{{wiki}}", "4.appAssignmentId": "{{u}}", "4.hidden": false, "4.sortOrder": 0,
					"4.logoUrl": e.Server.URL + "/assets/logos/{{wiki}}", "4.credentialsSetup": false, "1.credentialsSetup": true,
					"1.appName": "{{swaName}}",
				},
				Save: map[string]string{"link": "4.id", "url": "4.linkUrl", "drive": "2.id", "mail": "3.id"},
			},
			apitest.Step{Name: "the id of a link is stable", Do: list, Equal: map[string]any{"4.id": "{{link}}"}},
			apitest.Step{Do: "POST /api/v1/apps/{{swa}}/users/{{u}}", Body: `{"credentials":{"userName":"isaac","password":{"value":"x"}}}`},
			apitest.Step{Name: "credentials that are set need no setup", Do: list, Equal: map[string]any{"1.credentialsSetup": false}},
			apitest.Step{Do: "POST /api/v1/apps/{{wiki}}/lifecycle/deactivate"},
			apitest.Step{Name: "links of inactive applications are omitted", Do: list, Equal: map[string]any{"#": 4}},
			apitest.Step{Do: "POST /api/v1/users/{{u}}/lifecycle/deactivate"},
			apitest.Step{Name: "a deactivated user has no links", Do: "GET /api/v1/users/{{u}}/appLinks", Equal: map[string]any{"#": 0}},
			apitest.Step{Do: "GET /api/v1/users/nobody/appLinks", Status: 404, Code: "E0000007"},
		)
		require.Regexp(t, `^aln[0-9A-Za-z]{17}$`, saved["link"])
		require.Equal(t, e.Server.URL+"/home/bookmark/"+saved["wiki"]+"/"+saved["link"], saved["url"])
		require.NotEqual(t, saved["drive"], saved["mail"])
	})
}
