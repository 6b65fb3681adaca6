package control

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/internal/rest"
)

// tag is the tag of the operations in the OpenAPI document.
const tag = "Engine"

// routes is the table of operations.
func (a *api) routes() []rest.Route {
	var all []rest.Route
	for _, part := range [][]rest.Route{
		a.laneRoutes(), a.taskRoutes(), a.principalRoutes(), a.planRoutes(), a.driftRoutes(), a.linkRoutes(), a.importRoutes(),
		a.fleetRoutes(), a.markRoutes(),
	} {
		all = append(all, part...)
	}
	return all
}

// words returns the descriptions for the OpenAPI document: for each type of a response, the struct tags of its members.
func words() rest.Words {
	all := rest.Words{}
	for _, part := range []rest.Words{laneWords, taskWords, principalWords, planWords, driftWords, linkWords, importWords, fleetWords} {
		maps.Copy(all, part)
	}
	return all
}

type appRequest struct {
	App string `path:"app" doc:"id of the app"`
}

func (r appRequest) where() (app, kind string) { return r.App, "" }

func (r *appRequest) prepend(tenant string) { r.App = tenant + r.App }

// inApp is implemented by requests for an app. where returns the app and, if the path contains one, the kind of principals. prepend
// replaces the id in the path by that of the app in the engine.
type inApp interface {
	where() (app, kind string)
	prepend(tenant string)
}

// row returns an operation on one app. For an unknown app or an unknown kind of principals, the operation returns a not-found error.
func row[Req, Resp any, P interface {
	*Req
	inApp
}](a *api, id, route, summary string, status int, do func(context.Context, *Req) (Resp, error)) rest.Op[Req, Resp] {
	return rest.Op[Req, Resp]{ID: id, Route: a.route(route), Tag: tag, Summary: summary, Status: status, Scopes: []string{a.scope},
		Find: func(ctx context.Context, r *Req) error {
			P(r).prepend(a.o.Tenant(ctx))
			app, kind := P(r).where()
			if kind != "" && kind != string(engine.User) && kind != string(engine.Group) {
				return rest.NotFound("kind of principals", kind)
			}
			_, err := a.app(ctx, app)
			return a.shownError(ctx, err, app)
		},
		Do: func(ctx context.Context, r *Req) (Resp, error) {
			out, err := do(ctx, r)
			app, _ := P(r).where()
			if tenant := a.o.Tenant(ctx); tenant != "" {
				withoutTenant(reflect.ValueOf(&out).Elem(), tenant)
			}
			return out, a.shownError(ctx, err, app)
		},
	}
}

// shownError returns an error with the id of the app as the caller's tenant has it.
func (a *api) shownError(ctx context.Context, err error, app string) error {
	return rest.Renamed(err, app, strings.TrimPrefix(app, a.o.Tenant(ctx)))
}

// withoutTenant removes the prefix of a tenant from the ids of apps in a response: from all fields with the name App, and from the id and
// the default label of a client.App.
func withoutTenant(v reflect.Value, tenant string) {
	trim := func(f reflect.Value) {
		if f.CanSet() && f.Kind() == reflect.String {
			f.SetString(strings.TrimPrefix(f.String(), tenant))
		}
	}
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			withoutTenant(v.Index(i), tenant)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			withoutTenant(v.Elem(), tenant)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[client.App]() {
			trim(v.FieldByName("ID"))
			trim(v.FieldByName("Label"))
		}
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case f.Name == "App":
				trim(v.Field(i))
			case f.IsExported():
				withoutTenant(v.Field(i), tenant)
			}
		}
	default: // no other values contain ids of apps
	}
}

// all returns an operation on all apps.
func all[Req, Resp any](a *api, id, route, summary string, do func(context.Context, *Req) (Resp, error)) rest.Op[Req, Resp] {
	return rest.Op[Req, Resp]{ID: id, Route: a.route(route), Tag: tag, Summary: summary, Scopes: []string{a.scope}, Do: do}
}

// within is the timeout of an operation that waits.
type within struct {
	Timeout int `query:"timeoutSeconds" default:"30" min:"1" max:"600" doc:"timeout in seconds"`
}

func (w within) context(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Duration(w.Timeout)*time.Second)
}

// app returns an app, or rest.NotFound.
func (a *api) app(ctx context.Context, id string) (App, error) {
	found, err := a.o.Names.App(ctx, id)
	if errors.Is(err, engine.ErrNotFound) {
		return App{}, rest.NotFound("AppInstance", id)
	}
	return found, err
}

// synced waits until the engine has a mark for every earlier change.
func (a *api) synced(ctx context.Context) error {
	if a.o.Synced == nil {
		return nil
	}
	return a.o.Synced(ctx)
}

// update runs fn in a transaction and wakes the engine for the app after the commit.
func (a *api) update(ctx context.Context, app string, fn func(tx engine.Execer) error) error {
	err := a.o.Update(ctx, fn)
	if err == nil {
		a.o.Engine.Wake(app)
	}
	return err
}

// route returns a route of the table (method, space, path) with the prefix.
func (a *api) route(text string) string {
	method, path, _ := strings.Cut(text, " ")
	return method + " " + a.prefix + path
}
