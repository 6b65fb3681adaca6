package control

import (
	"context"
	"reflect"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/rest"
)

func (a *api) linkRoutes() []rest.Route {
	return []rest.Route{
		row(a, "exportLinks", "GET /apps/{app}/links", "List the links between principals and accounts or groups, groups first", 0,
			func(ctx context.Context, r *linksRequest) ([]engine.Link, error) {
				after, err := position(r.After)
				if err != nil {
					return nil, err
				}
				found, err := a.o.Engine.Imports().Links(ctx, r.App, engine.Link{Kind: after.Kind, ID: after.ID}, r.Limit)
				return append([]engine.Link{}, found...), err
			}),
		rest.Needs(row(a, "importLinks", "POST /apps/{app}/links", "Create links between principals and accounts or groups; all links or none", 0,
			func(ctx context.Context, r *linkRequest) (linked, error) {
				err := a.link(ctx, r.App, r.Body.Links, func(tx engine.Execer) error { return a.o.Engine.Imports().Link(ctx, tx, r.App, r.Body.Links) })
				if err != nil {
					return linked{}, err
				}
				return linked{Linked: len(r.Body.Links)}, nil
			}), engine.AccessApprove),
	}
}

type linked struct {
	Linked int `json:"linked" readOnly:"true" doc:"number of links that were stored"`
}

type linksRequest struct {
	appRequest
	After string `query:"after" doc:"position of the last link of the previous page as kind:id"`
	Limit int    `query:"limit" default:"1000" min:"1" max:"10000" clamp:"true"`
}

type linkRequest struct {
	appRequest
	Body struct {
		Links []engine.Link `json:"links" required:"true"`
	} `body:"required"`
}

// link creates links in one transaction. It also marks the linked principals that are desired in the app, so that the engine reports
// their accounts to the embedder. It marks no other principals: a user who is not assigned would lose the account.
func (a *api) link(ctx context.Context, app string, links []engine.Link, fn func(tx engine.Execer) error) error {
	if err := a.synced(ctx); err != nil {
		return Rejected(err, "AppInstance", app)
	}
	var marks []engine.Mark
	for _, l := range links {
		want, err := desiredWant(ctx, a.o.Directory, app, engine.Principal{Kind: l.Kind, ID: l.ID})
		if err != nil {
			return err
		}
		if want == engine.Active {
			marks = append(marks, engine.Mark{App: app, Kind: l.Kind, ID: l.ID})
		}
	}
	err := a.update(ctx, app, func(tx engine.Execer) error {
		if err := fn(tx); err != nil {
			return err
		}
		return a.o.Engine.Mark(ctx, tx, marks...)
	})
	return Rejected(err, "AppInstance", app)
}

var linkWords = rest.Words{
	reflect.TypeFor[engine.Link](): {Members: map[string]reflect.StructTag{
		"kind":       `required:"true" enum:"user,group"`,
		"id":         `required:"true" doc:"id of the user or group"`,
		"remoteId":   `required:"true"`,
		"remoteName": `doc:"userName or displayName on the target"`,
		"origin":     `enum:"created,linked,imported" doc:"default: imported"`,
	}},
}
