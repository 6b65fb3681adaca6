package connect

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/scimwright/scimwright/cmd/internal/console"
	"github.com/scimwright/scimwright/engine"
	api "github.com/scimwright/scimwright/engine/control/client"
)

// Desired is the backend of apps in the desired state.
type Desired struct {
	// Prefix is the prefix of the API, such as /engine/v1.
	Prefix string
	frame  *console.Frame
}

var _ Backend = (*Desired)(nil)

// Mount implements Backend.
func (d *Desired) Mount(f *console.Frame) { d.frame = f }

// Traits implements Backend.
func (d *Desired) Traits() Traits { return Traits{AssignsID: true, Groups: true, EditsAccess: true} }

// Servers implements Backend. The daemon has none.
func (d *Desired) Servers(context.Context, *console.Visit) ([]Server, error) { return nil, nil }

// Use implements Backend. It is not called, because the daemon has no servers.
func (d *Desired) Use(context.Context, *console.Visit, string) (engine.Target, func(context.Context), error) {
	return engine.Target{}, nil, &notEditable{"The daemon has no SCIM servers."}
}

// at returns the path of an app.
func (d *Desired) at(app string) string { return d.Prefix + "/apps/" + url.PathEscape(app) }

// document is an app in the API. Members that the form does not have remain unchanged.
type document map[string]any

// member returns a member that is an object, and creates it if necessary.
func (d document) member(name string) document {
	inner, ok := d[name].(map[string]any)
	if !ok {
		inner = map[string]any{}
		d[name] = inner
	}
	return inner
}

func (d document) text(name string) string {
	text, _ := d[name].(string)
	return text
}

func (d document) is(name string) bool {
	on, _ := d[name].(bool)
	return on
}

// read returns an app. It returns an error for an app with a secret that the form does not have, because a write without it removes it.
func (d *Desired) read(ctx context.Context, v *console.Visit, app string) (document, error) {
	doc := document{}
	if err := d.frame.Management(v).Do(ctx, http.MethodGet, d.at(app), nil, &doc); err != nil {
		return nil, err
	}
	auth := doc.member("target").member("auth")
	switch {
	case doc["pull"] != nil:
		return nil, &notEditable{"The console cannot change this app, because a change would remove the secrets of its queries."}
	case doc.member("target")["tls"] != nil:
		return nil, &notEditable{"The console cannot change this app, because a change would remove the key of its client certificate."}
	case engine.Scheme(auth.text("scheme")) == engine.Header:
		return nil, &notEditable{"The console cannot change this app, because its secret is in a header of its own."}
	}
	return doc, nil
}

// Read implements Backend.
func (d *Desired) Read(ctx context.Context, v *console.Visit, app string) (Input, error) {
	doc, err := d.read(ctx, v, app)
	if err != nil {
		return Input{}, err
	}
	target := doc.member("target")
	auth := target.member("auth")
	oauth := auth.member("oauth")
	in := Input{
		App: app, Label: app, BaseURL: target.text("baseUrl"), Scheme: engine.Bearer, ClientID: oauth.text("clientId"),
		TokenURL: oauth.text("tokenUrl"), Scope: oauth.text("scope"), Create: target.is("createUsers"), Update: target.is("updateUsers"),
		Deactivate: target.is("deactivateUsers"), Groups: target.is("pushGroups"),
	}
	if scheme := auth.text("scheme"); scheme != "" {
		in.Scheme = engine.Scheme(scheme)
	}
	return in, nil
}

// fill writes the form into a document.
func (d *Desired) fill(doc document, in Input) {
	target := doc.member("target")
	target["baseUrl"], target["createUsers"], target["updateUsers"] = in.BaseURL, in.Create, in.Update
	target["deactivateUsers"], target["pushGroups"] = in.Deactivate, in.Groups
	a := in.auth()
	auth := map[string]any{"scheme": string(a.Scheme), "secret": a.Secret}
	if a.Scheme == engine.ClientCredentials {
		oauth := map[string]any{"tokenUrl": a.OAuth.TokenURL, "clientId": a.OAuth.ClientID}
		if a.OAuth.Scope != "" {
			oauth["scope"] = a.OAuth.Scope
		}
		if old, ok := target.member("auth")["oauth"].(map[string]any); ok && old["inBody"] != nil {
			oauth["inBody"] = old["inBody"]
		}
		auth["oauth"] = oauth
	}
	target["auth"] = auth
}

// Save implements Backend. The request does not test the connection: an app whose target cannot be reached is on hold, and says so.
func (d *Desired) Save(ctx context.Context, v *console.Visit, in Input) (string, error) {
	c, doc, id := d.frame.Management(v), document{"version": 1}, in.ID
	if in.App != "" {
		var err error
		if doc, err = d.read(ctx, v, in.App); err != nil {
			return "", err
		}
		version, _ := doc["version"].(float64)
		doc["version"], id = int64(version)+1, in.App
		for _, name := range []string{"id", "changedAt", "hasCredentials"} { // members of responses
			delete(doc, name)
		}
	} else if err := c.Do(ctx, http.MethodGet, d.at(id), nil, nil); !api.IsNotFound(err) {
		if err != nil {
			return "", err
		}
		return "", &api.Error{Status: http.StatusConflict, Summary: "An app with this id exists", Causes: []string{"id: Enter another id."}}
	}
	d.fill(doc, in)
	return id, c.Do(ctx, http.MethodPut, d.at(id), doc, nil)
}

// Commands implements Backend.
func (d *Desired) Commands(v *console.Visit, in Input) string {
	if in.App != "" {
		return "" // the request repeats the mapping and all other settings
	}
	doc := document{"version": 1}
	in.Secret = "SECRET"
	d.fill(doc, in)
	id := in.ID
	if id == "" {
		id = "ID"
	}
	return d.frame.Curl(v, http.MethodPut, d.at(id), doc)
}

// Next implements Backend.
func (d *Desired) Next(app string) (path, text string) {
	return "/apps/" + url.PathEscape(app),
		"The app is connected. Its users and groups are what the identity provider writes to " + d.at(app) + "/users."
}

// Actions implements Backend.
func (d *Desired) Actions(_ context.Context, _ *console.Visit, app string) []console.Action {
	return []console.Action{{ID: "deleteApp", Args: map[string]string{"app": app}}}
}

// Rows implements Backend.
func (d *Desired) Rows() map[string]console.Row {
	return map[string]console.Row{
		"deleteApp": {
			Label:  "Delete the app",
			What:   "Deletes the app with its users, groups and members. The engine sends nothing: the accounts on the SCIM server remain.",
			Method: http.MethodDelete, Path: d.Prefix + "/apps/{app}", Access: engine.AccessApps,
			Form: func(ctx context.Context, c *api.Client, args url.Values) (console.Form, error) {
				doc := document{}
				app := args.Get("app")
				if err := c.Do(ctx, http.MethodGet, d.at(app), nil, &doc); err != nil {
					return console.Form{}, err
				}
				version, _ := doc["version"].(float64)
				return console.Form{
					Subject: app, Word: app, Facts: []console.Fact{{Name: "SCIM server", Value: orNone(doc.member("target").text("baseUrl"))}},
					Fields: []console.Field{{
						Name: "version", Label: "Version", Kind: "number", Query: true, Required: true, Default: strconv.FormatInt(int64(version)+1, 10),
						Help: "Later writes of an app with this id require a higher version.",
					}},
				}, nil
			},
			Done: func(url.Values, json.RawMessage) string { return "The app is deleted." },
			To:   func(url.Values, json.RawMessage) string { return "/" },
		},
	}
}
