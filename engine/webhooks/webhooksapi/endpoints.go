package webhooksapi

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/webhooks"
	"github.com/scimwright/scimwright/internal/errtext"
	"github.com/scimwright/scimwright/internal/rest"
)

func (a *api) endpointRoutes() []rest.Route {
	const one = "/webhooks/{endpoint}"
	create := row(a, "createWebhook", "POST /webhooks", "Create an endpoint and show its secret once", a.create)
	create.Status = 201
	return []rest.Route{
		row(a, "listWebhooks", "GET /webhooks", "List the endpoints, without their secrets", a.list),
		secret(a, create),
		row(a, "getWebhook", "GET "+one, "Show an endpoint, without its secrets", a.get),
		row(a, "putWebhook", "PUT "+one, "Change the URL, the types, the description and the state of an endpoint", a.put),
		row(a, "deleteWebhook", "DELETE "+one, "Delete an endpoint with its undelivered messages", a.remove),
		row(a, "enableWebhook", "POST "+one+"/enable", "Enable an endpoint, and send its waiting messages immediately", a.enable),
		secret(a, row(a, "rotateWebhook", "POST "+one+"/rotate", "Add a secret to an endpoint and show it once", a.rotate)),
	}
}

// Settings are the members of an endpoint that can be changed.
type Settings struct {
	URL         string   `json:"url" required:"true" max:"2048"`
	Types       []string `json:"types" max:"100"`
	Description string   `json:"description,omitempty" max:"1024"`
	Disabled    bool     `json:"disabled"`
}

// MoreTags implements rest.Described.
func (Settings) MoreTags() map[string]reflect.StructTag {
	all := make([]string, 0, len(webhooks.Types()))
	for _, t := range webhooks.Types() {
		all = append(all, string(t))
	}
	types := `doc:"types of the events that the endpoint receives. Default: all types" enum:"` + strings.Join(all, ",") + `"`
	return map[string]reflect.StructTag{
		"url":         `doc:"URL that receives the messages"`,
		"types":       reflect.StructTag(types),
		"description": `doc:"what the endpoint is for"`,
		"disabled":    `doc:"the endpoint receives nothing, and its events wait"`,
	}
}

// Webhook is an endpoint.
type Webhook struct {
	ID  string `json:"id" readOnly:"true" doc:"id of the endpoint"`
	App string `json:"app,omitempty" max:"256" doc:"id of the app whose events the endpoint receives. Default: all apps of the caller"`
	Settings
	State
}

// State is the state of an endpoint.
type State struct {
	Reason       string    `json:"reason,omitempty" readOnly:"true" doc:"why the endpoint was disabled automatically"`
	Version      int64     `json:"version" readOnly:"true" doc:"number of changes"`
	Created      time.Time `json:"created" readOnly:"true" doc:"time of the creation"`
	Changed      time.Time `json:"changed" readOnly:"true" doc:"time of the last change"`
	Delivered    time.Time `json:"delivered,omitzero" readOnly:"true" doc:"time of the last delivery"`
	Failures     int       `json:"failures" readOnly:"true" doc:"number of failed messages since the last delivery"`
	FailingSince time.Time `json:"failingSince,omitzero" readOnly:"true" doc:"time of the first of these failures"`
	LastError    string    `json:"lastError,omitempty" readOnly:"true" doc:"reason of the last failure"`
	HeldUntil    time.Time `json:"heldUntil,omitzero" readOnly:"true" doc:"no message is sent before"`
	Waiting      int       `json:"waiting" readOnly:"true" doc:"number of messages that wait for a retry"`
	Dead         int       `json:"dead" readOnly:"true" doc:"number of dead letters"`
	Dropped      int       `json:"dropped" readOnly:"true" doc:"number of dead letters that were removed because there were too many"`
}

// NewWebhook is an endpoint to create.
type NewWebhook struct {
	Webhook
	Secret    string `json:"secret,omitempty" writeOnly:"true" max:"200" doc:"whsec_ and 24 to 64 bytes in base64. Default: random"`
	FromStart bool   `json:"fromStart,omitempty" doc:"also deliver the stored events. Default: later events only"`
}

// CreatedWebhook is an endpoint with its secret.
type CreatedWebhook struct {
	Webhook
	Secret string `json:"secret" readOnly:"true" doc:"the secret that signs the messages; no other operation returns it"`
}

// Rotated is a new secret.
type Rotated struct {
	Secret string `json:"secret" readOnly:"true" doc:"the new secret; no other operation returns it"`
}

type createRequest struct {
	Key  string     `header:"Idempotency-Key" max:"200" doc:"chosen by the client; a repetition of the request has the same response"`
	Body NewWebhook `body:"required"`
}

type listRequest struct {
	After string `query:"after" doc:"id of the last endpoint of the previous page"`
	Limit int    `query:"limit" default:"100" min:"1" max:"1000" clamp:"true" doc:"maximum number of endpoints"`
}

type putRequest struct {
	endpointPath
	Body Settings `body:"required"`
}

type rotateRequest struct {
	endpointPath
	Overlap int `query:"overlapSeconds" default:"86400" min:"0" max:"2592000" doc:"time for which the previous secret signs, too"`
	Body    struct {
		Secret string `json:"secret,omitempty" writeOnly:"true" max:"200" doc:"whsec_ and 24 to 64 bytes in base64. Default: random"`
	} `body:"optional"`
}

func (a *api) create(ctx context.Context, r *createRequest) (CreatedWebhook, error) {
	tenant := a.tenant(ctx)
	e := r.Body.with(webhooks.Endpoint{})
	if r.Body.App == "" {
		e.Prefix = tenant
	} else {
		e.App = tenant + r.Body.App
		if a.o.App != nil {
			if err := a.o.App(ctx, e.App); errors.Is(err, engine.ErrNotFound) {
				return CreatedWebhook{}, rest.Invalid("app", "there is no such app")
			} else if err != nil {
				return CreatedWebhook{}, err
			}
		}
	}
	made, secret, err := a.s.Create(ctx, e, webhooks.CreateOptions{
		Secret: r.Body.Secret, FromStart: r.Body.FromStart, Key: r.Key, Within: tenant, MaxWithin: a.o.MaxPerTenant,
	})
	if errors.Is(err, webhooks.ErrChanged) {
		return CreatedWebhook{}, &rest.Error{Code: rest.CodeMoved, Summary: errtext.Plain(err), Err: err}
	}
	return CreatedWebhook{Webhook: shown(&made, tenant), Secret: secret}, rejected(err, made.ID)
}

// with returns an endpoint with the settings.
func (s *Settings) with(e webhooks.Endpoint) webhooks.Endpoint {
	e.URL, e.Description, e.Disabled, e.Types = s.URL, s.Description, s.Disabled, nil
	for _, t := range s.Types {
		e.Types = append(e.Types, engine.EventType(t))
	}
	return e
}

// shown returns an endpoint as the caller's tenant sees it.
func shown(e *webhooks.Endpoint, tenant string) Webhook {
	out := Webhook{
		ID: e.ID, App: strings.TrimPrefix(e.App, tenant),
		Settings: Settings{URL: e.URL, Types: []string{}, Description: e.Description, Disabled: e.Disabled},
		State: State{
			Reason: e.Reason, Version: e.Version, Created: e.Created, Changed: e.Changed, Delivered: e.Delivered, Failures: e.Failures,
			FailingSince: e.FailingSince, LastError: e.LastError, HeldUntil: e.HeldUntil, Waiting: e.Parked, Dead: e.Dead, Dropped: e.Dropped,
		},
	}
	for _, t := range e.Types {
		out.Types = append(out.Types, string(t))
	}
	return out
}

func (a *api) list(ctx context.Context, r *listRequest) (rest.Page[Webhook], error) {
	found, err := a.s.List(ctx, webhooks.Query{Within: a.tenant(ctx), After: r.After, Limit: r.Limit})
	page := rest.Page[Webhook]{Items: []Webhook{}}
	for i := range found {
		page.Items = append(page.Items, shown(&found[i], a.tenant(ctx)))
	}
	if len(found) == r.Limit {
		page.Next = found[len(found)-1].ID
	}
	return page, err
}

func (a *api) get(ctx context.Context, r *endpointPath) (Webhook, error) {
	return shown(&r.stored, a.tenant(ctx)), nil
}

func (a *api) put(ctx context.Context, r *putRequest) (Webhook, error) {
	e, err := a.s.Update(ctx, r.Body.with(r.stored))
	return shown(&e, a.tenant(ctx)), rejected(err, r.Endpoint)
}

func (a *api) remove(ctx context.Context, r *endpointPath) (rest.NoContent, error) {
	return rest.NoContent{}, rejected(a.s.Delete(ctx, r.Endpoint), r.Endpoint)
}

func (a *api) enable(ctx context.Context, r *endpointPath) (Webhook, error) {
	e, err := a.s.Enable(ctx, r.Endpoint)
	return shown(&e, a.tenant(ctx)), rejected(err, r.Endpoint)
}

func (a *api) rotate(ctx context.Context, r *rotateRequest) (Rotated, error) {
	next, err := a.s.Rotate(ctx, r.Endpoint, r.Body.Secret, time.Duration(r.Overlap)*time.Second)
	return Rotated{Secret: next}, rejected(err, r.Endpoint)
}
