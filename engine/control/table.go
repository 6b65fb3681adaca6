package control

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
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

// inApp is implemented by requests for an app. where returns the app and, if the path contains one, the kind of principals.
type inApp interface{ where() (app, kind string) }

// row returns an operation on one app. For an unknown app or an unknown kind of principals, the operation returns a not-found error.
func row[Req, Resp any, P interface {
	*Req
	inApp
}](a *api, id, route, summary string, status int, do func(context.Context, *Req) (Resp, error)) rest.Op[Req, Resp] {
	return rest.Op[Req, Resp]{ID: id, Route: a.route(route), Tag: tag, Summary: summary, Status: status, Scopes: []string{a.scope}, Do: do,
		Find: func(ctx context.Context, r *Req) error {
			app, kind := P(r).where()
			if kind != "" && kind != string(engine.User) && kind != string(engine.Group) {
				return rest.NotFound("kind of principals", kind)
			}
			_, err := a.app(ctx, app)
			return err
		},
	}
}

// all returns an operation on all apps.
func all[Req, Resp any](a *api, id, route, summary string, do func(context.Context, *Req) (Resp, error)) rest.Route {
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
