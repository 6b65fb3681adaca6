package inlinehooks

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
)

// Options configure the slice.
type Options struct {
	// Secrets encrypts the secrets of channels.
	Secrets seal.Secrets
	// Caller calls the endpoints.
	Caller *calls.Caller
}

// Slice serves the inline hooks.
type Slice struct {
	model.Deps
	secrets seal.Secrets
	caller  *calls.Caller
}

// New returns the slice.
func New(d model.Deps, o Options) *Slice {
	return &Slice{Deps: d, secrets: o.Secrets, caller: o.Caller}
}

const (
	tag  = "Inline hooks"
	root = "/api/v1/inlineHooks"
	one  = root + "/{id}"
	kind = "InlineHook"
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	read, write := []string{"svc.inlineHooks.read"}, []string{"svc.inlineHooks.manage"}
	return []rest.Route{
		rest.Op[createRequest, InlineHook]{
			ID: "createInlineHook", Route: "POST " + root, Tag: tag, Scopes: write, Summary: "Registers an inline hook and activates it",
			Check: s.checkCreate, Do: s.create,
		},
		rest.Op[listRequest, rest.Page[InlineHook]]{
			ID: "listInlineHooks", Route: "GET " + root, Tag: tag, Scopes: read, Summary: "Lists the inline hooks, optionally those of one type",
			Do: s.list,
		},
		rest.Op[target, InlineHook]{
			ID: "getInlineHook", Route: "GET " + one, Tag: tag, Scopes: read, Summary: "Reads an inline hook",
			Find: lookup.In(s.Store, s.find, (*target).self), Do: s.get,
		},
		rest.Op[replaceRequest, InlineHook]{
			ID: "replaceInlineHook", Route: "PUT " + one, Tag: tag, Scopes: write,
			Summary: "Replaces an inline hook; absent secrets are not modified",
			Find:    lookup.In(s.Store, s.find, (*replaceRequest).self), Check: s.checkReplace, Do: s.replace,
		},
		rest.Op[updateRequest, InlineHook]{
			ID: "updateInlineHook", Route: "POST " + one, Tag: tag, Scopes: write, Summary: "Changes the given members of an inline hook",
			Find: lookup.In(s.Store, s.find, (*updateRequest).self), Check: s.checkUpdate, Do: s.update,
		},
		rest.Op[target, rest.NoContent]{
			ID: "deleteInlineHook", Route: "DELETE " + one, Tag: tag, Scopes: write, Summary: "Deletes an inline hook that is not active",
			Find: lookup.In(s.Store, s.find, (*target).self), Do: s.delete,
		},
		rest.Op[target, InlineHook]{
			ID: "activateInlineHook", Route: "POST " + one + "/lifecycle/activate", Tag: tag, Scopes: write,
			Summary: "Activates an inline hook",
			Find:    lookup.In(s.Store, s.find, (*target).self), Do: s.activate,
		},
		rest.Op[target, InlineHook]{
			ID: "deactivateInlineHook", Route: "POST " + one + "/lifecycle/deactivate", Tag: tag, Scopes: write,
			Summary: "Deactivates an inline hook",
			Find:    lookup.In(s.Store, s.find, (*target).self), Do: s.deactivate,
		},
		rest.Op[executeRequest, json.RawMessage]{
			ID: "executeInlineHook", Route: "POST " + one + "/execute", Tag: tag, Scopes: write,
			Summary:     "Calls the endpoint of an inline hook as a test",
			Description: "The body is posted unchanged to the endpoint, and the response is returned. Commands in the response are not applied.",
			Find:        lookup.In(s.Store, s.find, (*executeRequest).self), Do: s.execute,
		},
	}
}

// InlineHook is an inline hook in JSON.
type InlineHook struct {
	ID          string      `json:"id" readOnly:"true" doc:"Id of the hook."`
	Status      string      `json:"status" readOnly:"true" doc:"ACTIVE or INACTIVE."`
	Name        string      `json:"name" readOnly:"true" doc:"Name of the hook."`
	Type        string      `json:"type" readOnly:"true" doc:"Type of the hook: the operation during which the API calls the hook."`
	Version     string      `json:"version" readOnly:"true" doc:"Version of the type."`
	Channel     HookChannel `json:"channel" readOnly:"true" doc:"Endpoint and authentication of calls."`
	Created     rest.Time   `json:"created" readOnly:"true" doc:"When the hook was registered."`
	LastUpdated rest.Time   `json:"lastUpdated" readOnly:"true" doc:"When the hook was last changed."`
	Links       rest.Links  `json:"_links" readOnly:"true" doc:"Links to the operations on the hook."`
}

// HookChannel is a channel in JSON.
type HookChannel struct {
	Type    string     `json:"type" readOnly:"true" doc:"HTTP or OAUTH."`
	Version string     `json:"version" readOnly:"true" doc:"Version of the channel."`
	Config  HookConfig `json:"config" readOnly:"true" doc:"The endpoint and the authentication of calls, without secrets."`
}

// HookConfig is the configuration of a channel in JSON.
type HookConfig struct {
	URI        string          `json:"uri" readOnly:"true" doc:"The endpoint."`
	Method     string          `json:"method" readOnly:"true" doc:"POST."`
	Headers    []HookHeader    `json:"headers" readOnly:"true" doc:"Headers of each call."`
	AuthScheme *HookAuthScheme `json:"authScheme" readOnly:"true" doc:"The header with the secret. HTTP channels only."`
	AuthType   string          `json:"authType,omitempty" readOnly:"true" doc:"Client authentication of an OAUTH channel."`
	TokenURL   string          `json:"tokenUrl,omitempty" readOnly:"true" doc:"Token endpoint of the OAuth server."`
	ClientID   string          `json:"clientId,omitempty" readOnly:"true" doc:"Client id at the token endpoint."`
	Scope      string          `json:"scope,omitempty" readOnly:"true" doc:"Scopes of the token request."`
	HookKeyID  string          `json:"hookKeyId,omitempty" readOnly:"true" doc:"Id of the hook key that signs for private_key_jwt."`
}

// HookHeader is a header of each call.
type HookHeader struct {
	Key   string `json:"key" required:"true" max:"256" doc:"Name of the header."`
	Value string `json:"value" required:"true" max:"4096" doc:"Value of the header."`
}

// HookAuthScheme is the header of the secret, without the secret.
type HookAuthScheme struct {
	Type string `json:"type" readOnly:"true" doc:"HEADER."`
	Key  string `json:"key" readOnly:"true" doc:"Name of the header."`
}

func render(ctx context.Context, doc docstore.Doc[model.InlineHook]) InlineHook {
	h, c := doc.Value, doc.Value.Channel
	self := []string{"api", "v1", "inlineHooks", doc.ID}
	post := func(segments ...string) rest.Link {
		return rest.To(rest.URL(ctx, append(self[:len(self):len(self)], segments...)...), http.MethodPost)
	}
	allow := []string{http.MethodGet, http.MethodPut, http.MethodPost}
	links := rest.Links{"execute": post("execute")}
	if h.Status == model.HookActive {
		links["deactivate"] = post("lifecycle", "deactivate")
	} else {
		links["activate"] = post("lifecycle", "activate")
		allow = append(allow, http.MethodDelete)
	}
	links["self"] = rest.To(rest.URL(ctx, self...), allow...)
	out := InlineHook{
		ID: doc.ID, Status: string(h.Status), Name: h.Name, Type: string(h.Type), Version: h.Version,
		Channel: HookChannel{Type: string(c.Type), Version: c.Version, Config: HookConfig{
			URI: c.URI, Method: http.MethodPost, Headers: []HookHeader{},
			AuthType: string(c.AuthType), TokenURL: c.TokenURL, ClientID: c.ClientID, Scope: c.Scope, HookKeyID: c.HookKey,
		}},
		Created: rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(doc.Updated), Links: links,
	}
	for _, header := range c.Headers {
		out.Channel.Config.Headers = append(out.Channel.Config.Headers, HookHeader(header))
	}
	if c.AuthHeader != "" {
		out.Channel.Config.AuthScheme = &HookAuthScheme{Type: authHeader, Key: c.AuthHeader}
	}
	return out
}

// target is the inline hook in a path.
type target struct {
	ID string `path:"id" doc:"Id of the hook."`

	found docstore.Doc[model.InlineHook]
}

func (t *target) self() *target { return t }

func (s *Slice) find(ctx context.Context, q docstore.Reader, t *target) (err error) {
	t.found, err = s.InlineHooks.Get(ctx, q, t.ID)
	return rest.Missing(err, kind, t.ID)
}

func (s *Slice) get(ctx context.Context, t *target) (InlineHook, error) {
	return render(ctx, t.found), nil
}

type listRequest struct {
	Type string `query:"type" doc:"Lists only hooks of this type."`
}

// MoreTags implements rest.Described.
func (listRequest) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"type": `enum:"com.svc.oauth2.tokens.transform,com.svc.saml.tokens.transform,com.svc.import.transform,` +
			`com.svc.user.pre-registration,com.svc.user.credential.password.import,com.svc.telephony.provider"`,
	}
}

func (s *Slice) list(ctx context.Context, r *listRequest) (out rest.Page[InlineHook], err error) {
	var where docstore.Cond
	if r.Type != "" {
		where = docstore.Eq(model.InlineHookByType, r.Type)
	}
	err = model.Each(ctx, s.Store.Reader(), s.InlineHooks, where, func(doc docstore.Doc[model.InlineHook]) error {
		out.Items = append(out.Items, render(ctx, doc))
		return nil
	})
	return out, err
}
