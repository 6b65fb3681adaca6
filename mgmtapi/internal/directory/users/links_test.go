package users_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

func TestLinks_ResetFactors(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	user := e.Do(t, "POST /api/v1/users", withPassword("with@example.com"), nil).Value("id")
	at := "/api/v1/users/" + user
	question := `{"factorType":"question","provider":"SVC","profile":{"question":"disliked_food","answer":"mayonnaise"}}`
	phone := `{"factorType":"sms","provider":"SVC","profile":{"phoneNumber":"+15551234567"}}`
	for status, want := range map[model.UserStatus]bool{
		model.UserStaged: false, model.UserProvisioned: true, model.UserActive: true, model.UserRecovery: true, model.UserLockedOut: true,
		model.UserPasswordExpired: true, model.UserSuspended: false, model.UserDeprovisioned: false,
	} {
		for name, body := range map[string]string{"no factor": "", "ACTIVE": question, "PENDING_ACTIVATION": phone} {
			t.Run(string(status)+" "+name, func(t *testing.T) {
				set(t, e, user, model.UserActive)
				e.Clock.Advance(time.Minute) // the API sends at most one text message per 30 s
				if body != "" {
					e.Run(t, apitest.Step{Do: "POST " + at + "/factors", Body: body, Equal: map[string]any{"status": name}})
				}
				set(t, e, user, status)
				for _, do := range []apitest.Step{{Do: "GET " + at}, {Do: "POST " + at, Body: `{"profile":{"title":"x"}}`}} {
					do.Equal, do.Has, do.Lacks = map[string]any{}, nil, []string{"_links.resetFactors"}
					if want && body != "" {
						do.Equal, do.Lacks = map[string]any{"_links.resetFactors.href": e.Server.URL + at + "/lifecycle/reset_factors",
							"_links.resetFactors.method": "POST"}, nil
					}
					e.Run(t, do)
				}
				set(t, e, user, model.UserActive)
				e.Run(t, apitest.Step{Do: "POST " + at + "/lifecycle/reset_factors"},
					apitest.Step{Do: "GET " + at, Lacks: []string{"_links.resetFactors"}})
			})
		}
	}
	e.Run(t,
		apitest.Step{Do: "POST " + at + "/factors", Body: question},
		apitest.Step{Do: "POST " + at + "/lifecycle/expire_password", Has: []string{"_links.resetFactors"}},
		apitest.Step{Do: "GET " + at, Header: map[string]string{"Content-Type": `application/json; svc-response=omitCredentialsLinks`},
			Lacks: []string{"_links.resetFactors", "_links.resetPassword"}},
		apitest.Step{Do: "GET /api/v1/users?q=Isaac", Lacks: []string{"0._links.resetFactors"}},
	)
}

// Proves B-users-11.
func TestLinks_ByStatus(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	saved := e.Run(t,
		apitest.Step{Do: "POST /api/v1/users", Body: withPassword("with@example.com"), Save: map[string]string{"with": "id"}},
		apitest.Step{Do: "POST /api/v1/users", Body: without("without@example.com"), Save: map[string]string{"without": "id", "type": "type.id"}},
	)
	// the links of a user with a password and a recovery question, and of a user without
	for status, want := range map[model.UserStatus][2]string{
		model.UserStaged:      {"activate", "activate"},
		model.UserProvisioned: {"deactivate reactivate resetPassword suspend", "deactivate reactivate resetPassword suspend"},
		model.UserActive: {
			"changePassword changeRecoveryQuestion deactivate expirePassword forgotPassword resetPassword suspend",
			"deactivate expirePassword resetPassword suspend",
		},
		model.UserRecovery: {
			"changePassword changeRecoveryQuestion deactivate reactivate resetPassword suspend",
			"changePassword changeRecoveryQuestion deactivate reactivate resetPassword suspend",
		},
		model.UserLockedOut: {"deactivate resetPassword unlock", "deactivate resetPassword unlock"},
		model.UserPasswordExpired: {
			"changePassword deactivate expirePassword resetPassword suspend",
			"changePassword deactivate expirePassword resetPassword suspend",
		},
		model.UserSuspended:     {"deactivate unsuspend", "deactivate unsuspend"},
		model.UserDeprovisioned: {"activate delete", "activate delete"},
	} {
		for i, user := range []string{saved["with"], saved["without"]} {
			set(t, e, user, status)
			self := e.Server.URL + "/api/v1/users/" + user
			a := e.Do(t, "GET /api/v1/users/"+user, "", nil)
			links, _ := a.JSON.(map[string]any)["_links"].(map[string]any)
			require.Equal(t, map[string]any{"href": self}, links["self"])
			require.Equal(t, map[string]any{"href": e.Server.URL + "/api/v1/meta/types/user/" + saved["type"]}, links["type"])
			require.Equal(t, map[string]any{"href": e.Server.URL + "/api/v1/meta/schemas/user/" + model.UserSchemaID(saved["type"])},
				links["schema"])
			for _, plain := range []string{"self", "type", "schema"} {
				delete(links, plain)
			}
			require.Empty(t, cmp.Diff(want[i], strings.Join(slices.Sorted(maps.Keys(links)), " ")), "%s", status)
			for rel, link := range links {
				method, at := "POST", "/lifecycle/"
				switch {
				case rel == "delete":
					method, at = "DELETE", ""
				case strings.HasPrefix(rel, "change"), rel == "forgotPassword":
					at = "/credentials/"
				}
				require.Equal(t, method, link.(map[string]any)["method"], rel)
				require.Contains(t, link.(map[string]any)["href"], self+at, rel)
			}
		}
	}
	e.Run(t, apitest.Step{Name: "a link of the schema leads to it", Do: "GET /api/v1/meta/schemas/user/" + model.UserSchemaID(saved["type"])},
		apitest.Step{Name: "lists have links to the user only", Do: "GET /api/v1/users", Has: []string{"0._links.self"},
			Lacks: []string{"0._links.type", "0._links.schema", "0._links.suspend"}})
}
