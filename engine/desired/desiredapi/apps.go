package desiredapi

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/mapping"
	"github.com/scimwright/scimwright/internal/rest"
)

func (a *api) appRoutes() []rest.Route {
	const tag, one = "Apps", "/apps/{app}"
	return []rest.Route{
		row(a, tag, "listApps", "GET /apps", "List the apps", a.listApps),
		rest.Needs(row(a, tag, "putApp", "PUT "+one, "Create or replace an app with its target", a.putApp), engine.AccessApps),
		row(a, tag, "getApp", "GET "+one, "Show an app, without credentials", a.getApp),
		rest.Needs(row(a, tag, "deleteApp", "DELETE "+one,
			"Delete an app with its users, groups and members, without requests to its target", a.deleteApp), engine.AccessApps),
	}
}

// App is an app.
type App struct {
	ID             string    `json:"id" readOnly:"true" doc:"id of the app"`
	Version        int64     `json:"version" required:"true" min:"1" max:"9007199254740992" doc:"increases with each change"`
	Target         Target    `json:"target" required:"true" doc:"the SCIM server of the app"`
	Mapping        *Mapping  `json:"mapping,omitempty" doc:"rules that derive the resources of users from their profiles"`
	Pull           *Pull     `json:"pull,omitempty" doc:"endpoint that is queried for users, groups and members, which are then not stored"`
	HasCredentials bool      `json:"hasCredentials" readOnly:"true" doc:"a secret or a client key is stored"`
	ChangedAt      time.Time `json:"changedAt" readOnly:"true" doc:"time of the last change"`
}

// Mapping derives resources from profiles.
type Mapping struct {
	Attributes map[string]string `json:"attributes" max:"500" doc:"type per attribute: any, string, integer, number, boolean, array or object"`
	Rules      []Rule            `json:"rules" max:"500" doc:"one rule for each attribute of the target"`
}

// Pull is an endpoint of the identity provider.
type Pull struct {
	URL     string   `json:"url" required:"true" max:"2048" doc:"https URL to which the paths of the queries are appended, such as /user"`
	Secrets []string `json:"secrets,omitempty" writeOnly:"true" max:"4" doc:"whsec_ and 24 to 64 bytes as base64; sign the queries"`
}

// Rule assigns a value to an attribute of the target.
type Rule struct {
	Target     string `json:"target" required:"true" max:"1024" doc:"path on the target, such as name.givenName"`
	Expression string `json:"expression,omitempty" max:"10000" doc:"expression whose result is the value, such as user.firstName"`
	Constant   any    `json:"constant,omitempty" doc:"the value itself, instead of an expression"`
	CreateOnly bool   `json:"createOnly,omitempty" doc:"set the attribute only when the account is created"`
}

type listAppsRequest struct{ position }

type putAppRequest struct {
	appPath
	Body App `body:"required"`
}

type deleteAppRequest struct {
	appPath
	versionQuery
}

func (a *api) listApps(ctx context.Context, r *listAppsRequest) (rest.Page[App], error) {
	tenant := a.tenant(ctx)
	read := func(after string, n int) ([]desired.App, error) {
		apps, err := a.s.Apps(ctx, tenant+after, n)
		if i := slices.IndexFunc(apps, func(app desired.App) bool { return !strings.HasPrefix(app.ID, tenant) }); i >= 0 {
			apps = apps[:i] // the apps of a tenant are consecutive
		}
		for i := range apps {
			apps[i].ID = strings.TrimPrefix(apps[i].ID, tenant)
		}
		return apps, err
	}
	return pageOf(ctx, r.position, read, shownApp, func(a *desired.App) string { return a.ID })
}

// shownID returns the id of an app as the caller's tenant has it.
func (a *api) shownID(ctx context.Context, app string) string {
	return strings.TrimPrefix(app, a.tenant(ctx))
}

func (a *api) putApp(ctx context.Context, r *putAppRequest) (Written, error) {
	app, err := r.Body.Stored(r.App)
	if err != nil {
		return Written{}, err
	}
	changed, err := a.s.PutApp(ctx, app)
	return Written{ID: a.shownID(ctx, r.App), Version: r.Body.Version, Changed: changed}, rejected(err, r.App, "", "")
}

// Stored returns the app as a desired.Store takes it, with an id. Read-only members have no effect.
func (a App) Stored(id string) (desired.App, error) {
	target, err := a.Target.engine()
	if err != nil {
		return desired.App{}, err
	}
	app := desired.App{ID: id, Version: a.Version, Target: target}
	if a.Pull != nil {
		app.Pull = desired.Pull(*a.Pull)
	}
	if m := a.Mapping; m != nil {
		for name, kind := range m.Attributes {
			if app.Mapping.Attributes == nil {
				app.Mapping.Attributes = map[string]mapping.Kind{}
			}
			app.Mapping.Attributes[name] = mapping.Kind(kind)
		}
		for _, rule := range m.Rules {
			app.Mapping.Rules = append(app.Mapping.Rules, mapping.Rule(rule))
		}
	}
	return app, nil
}

func (a *api) getApp(ctx context.Context, r *appPath) (App, error) {
	app, err := a.s.App(ctx, r.App)
	app.ID = a.shownID(ctx, app.ID)
	return shownApp(&app), rejected(err, r.App, "", "")
}

func (a *api) deleteApp(ctx context.Context, r *deleteAppRequest) (Written, error) {
	changed, err := a.s.DeleteApp(ctx, r.App, r.Version)
	return Written{ID: a.shownID(ctx, r.App), Version: r.Version, Changed: changed}, rejected(err, r.App, "", "")
}

func shownApp(a *desired.App) App {
	out := App{
		ID: a.ID, Version: a.Version, Target: targetOf(&a.Target), HasCredentials: a.HasCredentials, ChangedAt: a.ChangedAt,
	}
	if a.Pull.URL != "" {
		out.Pull = &Pull{URL: a.Pull.URL}
	}
	if len(a.Mapping.Rules)+len(a.Mapping.Attributes) == 0 {
		return out
	}
	out.Mapping = &Mapping{Attributes: map[string]string{}, Rules: []Rule{}}
	for name, kind := range a.Mapping.Attributes {
		out.Mapping.Attributes[name] = string(kind)
	}
	for _, rule := range a.Mapping.Rules {
		out.Mapping.Rules = append(out.Mapping.Rules, Rule(rule))
	}
	return out
}
