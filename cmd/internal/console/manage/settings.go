package manage

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/engine"
	api "github.com/scimwright/scimwright/engine/control/client"
)

const (
	workPath       = "/sandbox/v1/work"
	orgFactorsPath = "/api/v1/org/factors"
)

// heldWork is the asynchronous work of the management API.
type heldWork struct {
	Hold    bool
	Pending int
}

// orgFactor is a type of factor that the organization permits or not.
type orgFactor struct{ ID, FactorType, Provider, VendorName, Status string }

func (m *Manage) settings() subject {
	return subject{
		links:     []console.Link{{Label: "Settings", Path: "/settings", Key: "s", Access: engine.AccessFleet}},
		actions:   settingActions,
		templates: []string{"settings"},
		pages:     map[string]console.Page{"/settings": m.settingsPage},
	}
}

// SettingsPage shows the settings of the organization.
type SettingsPage struct {
	Work    heldWork
	Factors []orgFactor
}

func (m *Manage) settingsPage(w http.ResponseWriter, r *http.Request, v *console.Visit) {
	ctx, c := r.Context(), m.frame.Management(v)
	var p SettingsPage
	for path, into := range map[string]any{workPath: &p.Work, orgFactorsPath: &p.Factors} {
		if err := c.Do(ctx, http.MethodGet, path, nil, into); err != nil {
			m.frame.Problem(w, r, v, err)
			return
		}
	}
	m.frame.Write(w, r, v, "settings", "Settings", p)
}

// hold returns the row of an action that holds or releases the asynchronous work.
func hold(on bool, label, what, text string) console.Row {
	return console.Row{
		Label: label, What: what, Direct: true, Method: http.MethodPut, Path: workPath, Access: engine.AccessFleet, Done: done(text),
		Body: func(_ url.Values, body map[string]any) error {
			body["hold"] = on
			return nil
		},
	}
}

var settingActions = map[string]console.Row{
	"holdWork": hold(true, "Hold", "Activations, deactivations and deletions of users, and updates after a change of a mapping, stay pending.",
		"The asynchronous work is on hold."),
	"releaseWork": hold(false, "Release", "Executes the pending work.", "The asynchronous work is released."),
	"activateOrgFactor": {
		Label: "Activate", What: "Users may enroll and use factors of this type.", Direct: true, Method: http.MethodPost,
		Path: orgFactorsPath + "/{factor}/lifecycle/activate", Done: done("The type of factor is active."),
	},
	"deactivateOrgFactor": {
		Label: "Deactivate", What: "Users can neither enroll nor use factors of this type. Enrolled factors remain stored.",
		Method: http.MethodPost, Path: orgFactorsPath + "/{factor}/lifecycle/deactivate", Done: done("The type of factor is not active."),
		Form: func(_ context.Context, _ *api.Client, args url.Values) (console.Form, error) {
			return console.Form{Subject: args.Get("factor")}, nil
		},
	},
	"resetSandbox": {
		Label: "Reset the sandbox", Submit: "Reset", What: "Deletes all data of the organization in one step, and the resources in the SCIM " +
			"servers of the sandbox. It cannot be undone. The SCIM servers themselves, their quirks, and the clock remain.",
		Method: http.MethodPost, Path: "/sandbox/v1/reset", Access: engine.AccessFleet,
		Fields: []console.Field{{
			Name: "seed", Label: "Create the demo organization of a new sandbox", Kind: "check", Default: "true",
			Help: "Without it, the organization is empty.",
		}},
		Form: func(ctx context.Context, c *api.Client, _ url.Values) (f console.Form, err error) {
			f.Word = "reset"
			for _, kind := range []struct{ name, path string }{{"Users", usersPath}, {"Groups", groupsPath}, {"Apps", appsPath}} {
				var found []struct{ ID string }
				if err := c.Do(ctx, http.MethodGet, kind.path+"?limit=200", nil, &found); err != nil {
					return f, err
				}
				number := strconv.Itoa(len(found))
				if len(found) == 200 {
					number = "200 or more"
				}
				f.Facts = append(f.Facts, console.Fact{Name: kind.name, Value: number})
			}
			f.Facts = append(f.Facts,
				console.Fact{Name: "Also", Value: "assignments, mappings, hooks, OAuth clients, the system log, the outbox, the state of the engine"},
				console.Fact{Name: "Tokens", Value: "all API tokens except the configured one, and the sessions of the console that use them"},
			)
			return f, nil
		},
		Done: done("The sandbox is reset."),
	},
}
