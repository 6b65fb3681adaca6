package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/engine"
	api "github.com/scimwright/scimwright/engine/control/client"
)

const (
	appsPath    = "/api/v1/apps"
	serversPath = "/sandbox/v1/scim"
	connection  = "/connections/default"
	feature     = "/features/USER_PROVISIONING"
	// integration is the name of the app integration for SCIM 2.0 in the catalog.
	integration = "scim2_test_app"
)

// Management is the backend of the management API.
type Management struct {
	// Self is the base URL at which the engine reaches the SCIM servers of this process. Their URLs in the API are those of clients.
	Self  string
	frame *console.Frame
}

var _ Backend = (*Management)(nil)

// Mount implements Backend.
func (m *Management) Mount(f *console.Frame) { m.frame = f }

// Traits implements Backend.
func (m *Management) Traits() Traits { return Traits{KeepsSecret: true} }

// Servers implements Backend.
func (m *Management) Servers(ctx context.Context, v *console.Visit) (all []Server, err error) {
	if err := m.frame.Management(v).Do(ctx, http.MethodGet, serversPath, nil, &all); err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].URL, err = m.local(all[i].URL); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// local returns the URL at which the engine reaches a SCIM server of the sandbox.
func (m *Management) local(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", fmt.Errorf("connect: URL of a SCIM server: %w", err)
	}
	return m.Self + u.Path, nil
}

// Use implements Backend. The credentials are a new token, which remove revokes.
func (m *Management) Use(ctx context.Context, v *console.Visit, server string) (to engine.Target, remove func(context.Context), err error) {
	c, path := m.frame.Management(v), serversPath+"/"+url.PathEscape(server)
	var found Server
	if err := c.Do(ctx, http.MethodGet, path, nil, &found); err != nil {
		return to, nil, err
	}
	base, err := m.local(found.URL)
	if err != nil {
		return to, nil, err
	}
	var made struct{ ID, Token string }
	if err := c.Do(ctx, http.MethodPost, path+"/tokens", struct{}{}, &made); err != nil {
		return to, nil, err
	}
	remove = func(ctx context.Context) {
		_ = c.Do(ctx, http.MethodDelete, path+"/tokens/"+url.PathEscape(made.ID), nil, nil)
	}
	return engine.Target{BaseURL: base, Auth: engine.Auth{Scheme: engine.Bearer, Secret: made.Token}}, remove, nil
}

// stored is a connection of the management API.
type stored struct {
	Status, BaseURL string
	Profile         struct {
		AuthScheme, HeaderFormat, ClientID, TokenURL, Scope string
	}
}

// Read implements Backend.
func (m *Management) Read(ctx context.Context, v *console.Visit, app string) (Input, error) {
	c, path := m.frame.Management(v), appsPath+"/"+url.PathEscape(app)
	var head struct{ ID, Label string }
	if err := c.Do(ctx, http.MethodGet, path, nil, &head); err != nil {
		return Input{}, err
	}
	var s stored
	if err := c.Do(ctx, http.MethodGet, path+connection, nil, &s); err != nil {
		return Input{}, err
	}
	p := s.Profile
	in := Input{App: head.ID, Label: head.Label, BaseURL: s.BaseURL, ClientID: p.ClientID, TokenURL: p.TokenURL, Scope: p.Scope}
	switch {
	case p.AuthScheme == "OAUTH2":
		in.Scheme = engine.ClientCredentials
	case p.HeaderFormat == "RAW":
		in.Scheme = engine.Raw
	case p.HeaderFormat == "BASIC":
		in.Scheme = engine.Basic
	default:
		in.Scheme = engine.Bearer
	}
	return in, nil
}

// connectionOf returns the body of the connection.
func connectionOf(in Input) map[string]any {
	profile := map[string]any{"authScheme": "TOKEN"}
	secret := "token"
	switch in.Scheme {
	case engine.ClientCredentials:
		secret = "clientSecret"
		profile["authScheme"], profile["clientId"], profile["tokenUrl"] = "OAUTH2", in.ClientID, in.TokenURL
		if in.Scope != "" {
			profile["scope"] = in.Scope
		}
	case engine.Raw:
		profile["headerFormat"] = "RAW"
	case engine.Basic:
		profile["headerFormat"] = "BASIC"
	case engine.Bearer, engine.Header: // the form does not offer Header
		profile["headerFormat"] = "BEARER"
	}
	if in.Secret != "" {
		profile[secret] = in.auth().Secret
	}
	return map[string]any{"baseUrl": in.BaseURL, "profile": profile}
}

// capabilities returns the body of the feature.
func capabilities(in Input) map[string]any {
	status := func(on bool) map[string]string {
		if on {
			return map[string]string{"status": "ENABLED"}
		}
		return map[string]string{"status": "DISABLED"}
	}
	return map[string]any{
		"create": map[string]any{"lifecycleCreate": status(in.Create)},
		"update": map[string]any{"profile": status(in.Update), "lifecycleDeactivate": status(in.Deactivate)},
	}
}

// appOf returns the body of a new app.
func appOf(in Input) map[string]any {
	return map[string]any{"name": integration, "label": in.Label, "settings": map[string]any{"app": map[string]any{}}}
}

// Save implements Backend. If a step fails, it removes what it has created.
func (m *Management) Save(ctx context.Context, v *console.Visit, in Input) (app string, err error) {
	c, undo := m.frame.Management(v), []func(context.Context){}
	defer func() {
		if err != nil {
			for _, step := range undo {
				step(context.WithoutCancel(ctx))
			}
		}
	}()
	if in.Server != "" {
		to, remove, err := m.Use(ctx, v, in.Server)
		if err != nil {
			return "", err
		}
		undo = append(undo, remove)
		in.BaseURL, in.Scheme, in.Secret = to.BaseURL, engine.Bearer, to.Auth.Secret
	}
	made := struct{ ID string }{in.App}
	if in.App == "" {
		if err := c.Do(ctx, http.MethodPost, appsPath, appOf(in), &made); err != nil {
			return "", err
		}
		path := appsPath + "/" + url.PathEscape(made.ID)
		undo = append(undo, func(ctx context.Context) {
			_ = c.Do(ctx, http.MethodPost, path+"/lifecycle/deactivate", nil, nil)
			_ = c.Do(ctx, http.MethodDelete, path, nil, nil)
		})
	}
	path := appsPath + "/" + url.PathEscape(made.ID)
	if err := c.Do(ctx, http.MethodPost, path+connection+"?activate=true", connectionOf(in), nil); err != nil {
		return "", err
	}
	if in.App == "" {
		if err := c.Do(ctx, http.MethodPut, path+feature, capabilities(in), nil); err != nil {
			return "", err
		}
	}
	return made.ID, nil
}

// Words in Commands that are replaced by a variable of the shell: the id of a new app by APP, the secret by SECRET.
const (
	appWord    = "NEW-APP-ID"
	secretWord = "NEW-SECRET"
)

// Commands implements Backend.
func (m *Management) Commands(v *console.Visit, in Input) string {
	if in.App == "" || in.Secret != "" { // otherwise the stored secret remains
		in.Secret = secretWord
	}
	var lines []string
	if in.Server != "" {
		in.Scheme, in.Secret = engine.Bearer, secretWord
		created := m.frame.Curl(v, http.MethodPost, serversPath+"/"+url.PathEscape(in.Server)+"/tokens", struct{}{})
		lines = append(lines, "SECRET=$("+created+` | grep -o '"token":"[^"]*' | cut -d'"' -f4)`)
	}
	path := appsPath + "/" + url.PathEscape(in.App)
	if in.App == "" {
		path = appsPath + "/" + appWord
		created := m.frame.Curl(v, http.MethodPost, appsPath, appOf(in))
		lines = append(lines, "APP=$("+created+` | grep -o '"id":"[^"]*' | head -1 | cut -d'"' -f4)`)
	}
	lines = append(lines, m.frame.Curl(v, http.MethodPost, path+connection+"?activate=true", connectionOf(in)))
	if in.App == "" {
		lines = append(lines, m.frame.Curl(v, http.MethodPut, path+feature, capabilities(in)))
	}
	return strings.NewReplacer(appWord, `'"$APP"'`, secretWord, `'"$SECRET"'`).Replace(strings.Join(lines, "\n"))
}

// Next implements Backend.
func (m *Management) Next(app string) (path, text string) {
	return "/apps/" + url.PathEscape(app) + "/assignments",
		"The app is connected. Assign users or groups: the engine creates their accounts on the SCIM server."
}

// Actions implements Backend.
func (m *Management) Actions(ctx context.Context, v *console.Visit, app string) (all []console.Action) {
	c, path := m.frame.Management(v), appsPath+"/"+url.PathEscape(app)
	var head struct{ Status string }
	var s stored
	if err := errors.Join(c.Do(ctx, http.MethodGet, path, nil, &head), c.Do(ctx, http.MethodGet, path+connection, nil, &s)); err != nil {
		return nil // the page of the app has already shown the error, if any
	}
	add := func(id string) { all = append(all, console.Action{ID: id, Args: map[string]string{"app": app}}) }
	switch {
	case s.Status == "ENABLED":
		add("deactivateDefaultConnection")
	case s.BaseURL != "":
		add("activateDefaultConnection")
	}
	add("updateFeature")
	if head.Status == "ACTIVE" {
		add("deactivateApplication")
	} else {
		add("activateApplication")
		add("deleteApplication")
	}
	return all
}

// Rows implements Backend.
func (m *Management) Rows() map[string]console.Row {
	done := func(text string) func(url.Values, json.RawMessage) string {
		return func(url.Values, json.RawMessage) string { return text }
	}
	const one = appsPath + "/{app}"
	return map[string]console.Row{
		"activateDefaultConnection": {
			Label: "Activate the connection", What: "Tests the connection, and sends the pending changes.", Direct: true,
			Method: http.MethodPost, Path: one + connection + "/lifecycle/activate", Access: engine.AccessApps,
			Done: done("The connection is active."),
		},
		"deactivateDefaultConnection": {
			Label: "Deactivate the connection", What: "The engine sends nothing to the SCIM server until the connection is active again.",
			Method: http.MethodPost, Path: one + connection + "/lifecycle/deactivate", Access: engine.AccessApps,
			Form: appForm(false), Done: done("The connection is inactive."),
		},
		"updateFeature": {
			Label: "Permitted requests", Submit: "Store", What: "Selects the changes of users that the engine sends to the SCIM server.",
			Method: http.MethodPut, Path: one + feature, Access: engine.AccessApps, Form: featureForm, Body: featureBody,
			Done: done("The permitted requests are stored."),
		},
		"activateApplication": {
			Label: "Activate the app", What: "The engine provisions the assigned users and groups again.", Direct: true,
			Method: http.MethodPost, Path: one + "/lifecycle/activate", Access: engine.AccessApps, Done: done("The app is active."),
		},
		"deactivateApplication": {
			Label: "Deactivate the app", What: "The engine sends nothing for the app. Its assignments and accounts remain.",
			Method: http.MethodPost, Path: one + "/lifecycle/deactivate", Access: engine.AccessApps, Form: appForm(false),
			Done: done("The app is inactive."),
		},
		"deleteApplication": {
			Label:  "Delete the app",
			What:   "Deletes the app with its assignments. The engine sends nothing: the accounts on the SCIM server remain.",
			Method: http.MethodDelete, Path: one, Access: engine.AccessApps, Form: appForm(true), Done: done("The app is deleted."),
			To: func(url.Values, json.RawMessage) string { return "/" },
		},
	}
}

// appForm returns the form of an action on an app, which an operator confirms with the label of the app if confirmed is true.
func appForm(confirmed bool) func(context.Context, *api.Client, url.Values) (console.Form, error) {
	return func(ctx context.Context, c *api.Client, args url.Values) (console.Form, error) {
		path := appsPath + "/" + url.PathEscape(args.Get("app"))
		var head struct{ Label string }
		if err := c.Do(ctx, http.MethodGet, path, nil, &head); err != nil {
			return console.Form{}, err
		}
		var s stored
		if err := c.Do(ctx, http.MethodGet, path+connection, nil, &s); err != nil {
			return console.Form{}, err
		}
		var users, groups []struct{ ID string }
		if err := c.Do(ctx, http.MethodGet, path+"/users?limit=200", nil, &users); err != nil {
			return console.Form{}, err
		}
		if err := c.Do(ctx, http.MethodGet, path+"/groups?limit=200", nil, &groups); err != nil {
			return console.Form{}, err
		}
		f := console.Form{Subject: head.Label, Facts: []console.Fact{
			{Name: "SCIM server", Value: orNone(s.BaseURL)}, {Name: "Assigned users", Value: atMost(len(users))},
			{Name: "Assigned groups", Value: atMost(len(groups))},
		}}
		if confirmed {
			f.Word = head.Label
		}
		return f, nil
	}
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// atMost returns a number of objects of a page, of which 200 is the largest one.
func atMost(n int) string {
	if n == 200 {
		return "200 or more"
	}
	return fmt.Sprint(n)
}

// The fields of featureForm.
var featureFields = []console.Field{
	{Name: "create", Label: "Create accounts", Kind: "check"}, {Name: "update", Label: "Update accounts", Kind: "check"},
	{Name: "deactivate", Label: "Deactivate accounts", Kind: "check"},
}

// featureForm returns the form with the permitted requests of an app.
func featureForm(ctx context.Context, c *api.Client, args url.Values) (console.Form, error) {
	path := appsPath + "/" + url.PathEscape(args.Get("app"))
	var head struct{ Label string }
	if err := c.Do(ctx, http.MethodGet, path, nil, &head); err != nil {
		return console.Form{}, err
	}
	type status struct{ Status string }
	var now struct {
		Capabilities struct {
			Create struct{ LifecycleCreate status }
			Update struct{ Profile, LifecycleDeactivate status }
		}
	}
	if err := c.Do(ctx, http.MethodGet, path+feature, nil, &now); err != nil {
		return console.Form{}, err
	}
	f := console.Form{Subject: head.Label, Fields: featureFields, Values: url.Values{}, Whole: true}
	for name, s := range map[string]status{
		"create": now.Capabilities.Create.LifecycleCreate, "update": now.Capabilities.Update.Profile,
		"deactivate": now.Capabilities.Update.LifecycleDeactivate,
	} {
		if s.Status == "ENABLED" {
			f.Values.Set(name, "true")
		}
	}
	return f, nil
}

// featureBody replaces the fields of featureForm by the body of the request.
func featureBody(args url.Values, body map[string]any) error {
	clear(body)
	for name, value := range capabilities(Input{
		Create: args.Get("create") != "", Update: args.Get("update") != "", Deactivate: args.Get("deactivate") != "",
	}) {
		body[name] = value
	}
	return nil
}
