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
	// Secrets seals the secrets of channels.
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
			ID: "createInlineHook", Route: "POST " + root, Tag: tag, Scopes: write, Summary: "Registers an inline hook, which is active then",
			Check: s.checkCreate, Do: s.create,
		},
		rest.Op[listRequest, rest.Page[InlineHook]]{
			ID: "listInlineHooks", Route: "GET " + root, Tag: tag, Scopes: read, Summary: "Lists the inline hooks, all or those of a type",
			Do: s.list,
		},
		rest.Op[target, InlineHook]{
			ID: "getInlineHook", Route: "GET " + one, Tag: tag, Scopes: read, Summary: "Reads an inline hook",
			Find: lookup.In(s.Store, s.find, (*target).self), Do: s.get,
		},
		rest.Op[replaceRequest, InlineHook]{
			ID: "replaceInlineHook", Route: "PUT " + one, Tag: tag, Scopes: write,
			Summary: "Replaces an inline hook; secrets that are not given stay",
			Find:    lookup.In(s.Store, s.find, (*replaceRequest).self), Check: s.checkReplace, Do: s.replace,
		},
		rest.Op[updateRequest, InlineHook]{
			ID: "updateInlineHook", Route: "POST " + one, Tag: tag, Scopes: write, Summary: "Changes what is given of an inline hook",
			Find: lookup.In(s.Store, s.find, (*updateRequest).self), Check: s.checkUpdate, Do: s.update,
		},
		rest.Op[target, rest.NoContent]{
			ID: "deleteInlineHook", Route: "DELETE " + one, Tag: tag, Scopes: write, Summary: "Deletes an inline hook that is not active",
			Find: lookup.In(s.Store, s.find, (*target).self), Do: s.delete,
		},
		rest.Op[target, InlineHook]{
			ID: "activateInlineHook", Route: "POST " + one + "/lifecycle/activate", Tag: tag, Scopes: write,
			Summary: "Lets an inline hook be called",
			Find:    lookup.In(s.Store, s.find, (*target).self), Do: s.activate,
		},
		rest.Op[target, InlineHook]{
			ID: "deactivateInlineHook", Route: "POST " + one + "/lifecycle/deactivate", Tag: tag, Scopes: write,
			Summary: "Stops an inline hook from being called",
			Find:    lookup.In(s.Store, s.find, (*target).self), Do: s.deactivate,
		},
		rest.Op[executeRequest, json.RawMessage]{
			ID: "executeInlineHook", Route: "POST " + one + "/execute", Tag: tag, Scopes: write,
			Summary:     "Calls the endpoint of an inline hook as a test",
			Description: "The body is posted as it is, and what is answered is returned. It has no other effect.",
			Find:        lookup.In(s.Store, s.find, (*executeRequest).self), Do: s.execute,
		},
	}
}

// InlineHook is an inline hook on the wire.
type InlineHook struct {
	ID          string      `json:"id" readOnly:"true" doc:"Id of the hook."`
	Status      string      `json:"status" readOnly:"true" doc:"ACTIVE or INACTIVE."`
	Name        string      `json:"name" readOnly:"true" doc:"Name of the hook."`
	Type        string      `json:"type" readOnly:"true" doc:"What the hook is asked about."`
	Version     string      `json:"version" readOnly:"true" doc:"Version of the type."`
	Channel     HookChannel `json:"channel" readOnly:"true" doc:"How the endpoint is called."`
	Created     rest.Time   `json:"created" readOnly:"true" doc:"When the hook was registered."`
	LastUpdated rest.Time   `json:"lastUpdated" readOnly:"true" doc:"When the hook was last changed."`
	Links       rest.Links  `json:"_links" readOnly:"true" doc:"What can be done with the hook."`
}

// HookChannel is a channel on the wire.
type HookChannel struct {
	Type    string     `json:"type" readOnly:"true" doc:"HTTP or OAUTH."`
	Version string     `json:"version" readOnly:"true" doc:"Version of the channel."`
	Config  HookConfig `json:"config" readOnly:"true" doc:"The endpoint and how calls authenticate, without secrets."`
}

// HookConfig is the configuration of a channel on the wire.
type HookConfig struct {
	URI        string          `json:"uri" readOnly:"true" doc:"The endpoint."`
	Method     string          `json:"method" readOnly:"true" doc:"POST."`
	Headers    []HookHeader    `json:"headers" readOnly:"true" doc:"Headers that go with each call."`
	AuthScheme *HookAuthScheme `json:"authScheme" readOnly:"true" doc:"The header with the secret. Of HTTP channels only."`
	AuthType   string          `json:"authType,omitempty" readOnly:"true" doc:"How an OAUTH channel gets its access tokens."`
	TokenURL   string          `json:"tokenUrl,omitempty" readOnly:"true" doc:"Where it gets them."`
	ClientID   string          `json:"clientId,omitempty" readOnly:"true" doc:"As which client."`
	Scope      string          `json:"scope,omitempty" readOnly:"true" doc:"For which scopes."`
	HookKeyID  string          `json:"hookKeyId,omitempty" readOnly:"true" doc:"Id of the hook key that signs for private_key_jwt."`
}

// HookHeader is a header that goes with each call.
type HookHeader struct {
	Key   string `json:"key" required:"true" max:"256" doc:"Name of the header."`
	Value string `json:"value" required:"true" max:"4096" doc:"Value of the header."`
}

// HookAuthScheme is the header with the secret, without the secret.
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

// target is the inline hook that a path names.
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
	Type string `query:"type" doc:"Only hooks of the type."`
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
