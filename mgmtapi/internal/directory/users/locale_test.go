package users_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Proves B-profile-19, B-profile-20.
func TestLocale_Default(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		is := func(locale string) map[string]any { return map[string]any{"profile.locale": locale} }
		null := apitest.Step{Status: 400, Code: "E0000001", Causes: []string{"locale: The field cannot be left blank"}}
		with := func(s apitest.Step, do, body string) apitest.Step { s.Do, s.Body = do, body; return s }
		const one = "/api/v1/users/{{u}}"
		base := `"login":"a@example.com","email":"a@example.com","firstName":"A","lastName":"B"`
		e.Run(t,
			with(null, "POST /api/v1/users", `{"profile":{`+base+`,"locale":null}}`),
			apitest.Step{Do: "POST /api/v1/users", Body: `{"profile":{` + base + `}}`, Equal: is("en_US"), Save: map[string]string{"u": "id"}},
			apitest.Step{Do: "GET " + one, Equal: is("en_US")},
			apitest.Step{Do: "GET /api/v1/users/me", Equal: is("en_US")},
			apitest.Step{Do: "GET /api/v1/users?search=profile.locale+eq+%22en_US%22", Equal: map[string]any{"#": 2}},
			apitest.Step{Do: "POST " + one, Body: `{"profile":{"locale":"de_CH"}}`, Equal: is("de_CH")},
			apitest.Step{Do: "GET /api/v1/users?search=profile.locale+eq+%22en_US%22", Equal: map[string]any{"#": 1}},
			with(null, "POST "+one, `{"profile":{"locale":null}}`), with(null, "PUT "+one, `{"profile":{`+base+`,"locale":null}}`),
			apitest.Step{Do: "GET " + one, Equal: is("de_CH")},
			apitest.Step{Do: "POST " + one, Body: `{"profile":{"title":"x"}}`, Equal: is("de_CH")},
			apitest.Step{Name: "a replacement without locale restores the default", Do: "PUT " + one, Body: `{"profile":{` + base + `}}`,
				Equal: is("en_US")},
			apitest.Step{Do: "POST " + one, Body: `{"profile":{"locale":"fr_FR"}}`, Equal: is("fr_FR")},
			apitest.Step{Name: "an empty string restores the default", Do: "POST " + one, Body: `{"profile":{"locale":""}}`, Equal: is("en_US")},
			apitest.Step{Do: "POST " + one, Body: `{"profile":{"locale":"en-US"}}`, Status: 400, Code: "E0000001", Causes: []string{"locale: "}},
		)
	})
}

// An earlier version stored users without a locale, and languages with an underscore.
func TestLocale_OfStoredUser(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		id := e.Do(t, "POST /api/v1/users", `{`+profile("a@example.com")+`}`, nil).Value("id")
		require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
			doc, err := e.Model.Users.Get(t.Context(), tx, id)
			if err != nil {
				return err
			}
			delete(doc.Value.Profile, "locale")
			doc.Value.Profile["preferredLanguage"] = "de_CH, en_US;q=0.5"
			_, err = e.Model.Users.Update(t.Context(), tx, id, doc.Rev, doc.Value)
			return err
		}))
		e.Run(t,
			apitest.Step{Do: "GET /api/v1/users/" + id,
				Equal: map[string]any{"profile.locale": "en_US", "profile.preferredLanguage": "de-CH, en-US;q=0.5"}},
			apitest.Step{Do: "GET /api/v1/users?search=profile.locale+eq+%22en_US%22+and+id+eq+%22" + id + "%22", Equal: map[string]any{"#": 1}},
			apitest.Step{Name: "the user can be changed", Do: "POST /api/v1/users/" + id, Body: `{"profile":{"title":"x"}}`,
				Equal: map[string]any{"profile.locale": "en_US"}},
		)
	})
}

// Proves B-profile-17.
func TestPreferredLanguage(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	id := e.Do(t, "POST /api/v1/users", `{`+profile("a@example.com")+`}`, nil).Value("id")
	for value, ok := range map[string]bool{
		`"en"`: true, `"en-US"`: true, `"de-CH, de;q=0.9, en;q=0.8"`: true, `"zh-Hant-TW"`: true, `"da;q=1.000"`: true, `null`: true, `""`: true,
		`"en_US"`: false, `"de-CH, en_US"`: false, `"en;q=2"`: false, `"en,"`: false, `"en US"`: false, `"english language"`: false, `5`: false,
	} {
		t.Run(value, func(t *testing.T) {
			body := `{"profile":{"login":"a@example.com","email":"a@example.com","firstName":"A","lastName":"B","preferredLanguage":` + value + `}}`
			for _, do := range []string{"POST /api/v1/users/" + id, "PUT /api/v1/users/" + id} {
				step := apitest.Step{Do: do, Body: body}
				if !ok {
					step.Status, step.Code, step.Causes = 400, "E0000001", []string{"preferredLanguage: "}
				}
				e.Run(t, step)
			}
		})
	}
	e.Run(t,
		apitest.Step{Do: "POST /api/v1/users",
			Body:  `{"profile":{"login":"b@example.com","email":"b@example.com","firstName":"A","lastName":"B","preferredLanguage":null}}`,
			Lacks: []string{"profile.preferredLanguage"}},
		apitest.Step{Do: "POST /api/v1/users",
			Body:   `{"profile":{"login":"c@example.com","email":"c@example.com","firstName":"A","lastName":"B","preferredLanguage":"en_US"}}`,
			Status: 400, Code: "E0000001", Causes: []string{"preferredLanguage: "}},
	)
	require.Empty(t, model.FormatLanguages.Problem("*"), "any language")
}
