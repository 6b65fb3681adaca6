package authservers

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/authz"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/tokens"
	"github.com/scimwright/scimwright/scim/filter"
)

// errUnchanged is returned by a change without effect. The server is then neither stored nor logged.
var errUnchanged = errors.New("nothing to change")

// The modes of key rotation.
const (
	rotationAuto   = "AUTO"
	rotationManual = "MANUAL"
)

// AuthorizationServer is an authorization server in JSON.
type AuthorizationServer struct {
	ID          string       `json:"id" readOnly:"true" doc:"Id of the server."`
	Name        string       `json:"name" readOnly:"true" doc:"Name of the server."`
	Description string       `json:"description" readOnly:"true" doc:"Description of the server."`
	Audiences   []string     `json:"audiences" readOnly:"true" doc:"The audience of its access tokens: exactly one."`
	Issuer      string       `json:"issuer" readOnly:"true" doc:"URL of the server, which is the issuer of its tokens."`
	IssuerMode  string       `json:"issuerMode,omitempty" readOnly:"true"`
	Status      model.Status `json:"status" readOnly:"true" enum:"ACTIVE,INACTIVE" doc:"Whether the server issues tokens."`
	Default     bool         `json:"default" readOnly:"true" doc:"Whether this is the built-in default server."`
	Created     rest.Time    `json:"created" readOnly:"true" doc:"When the server was created."`
	LastUpdated rest.Time    `json:"lastUpdated" readOnly:"true" doc:"When the settings last changed."`
	Credentials Credentials  `json:"credentials" readOnly:"true" doc:"Signing settings."`
	Links       rest.Links   `json:"_links" readOnly:"true" doc:"Links to the operations on the server."`
}

// MoreTags implements rest.Described.
func (AuthorizationServer) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"issuerMode": `enum:"ORG_URL,CUSTOM_URL,DYNAMIC" doc:"Kind of the issuer URL. Shown when a custom domain is configured or ` +
			`Dynamic Issuer Mode is enabled."`,
	}
}

// Credentials are the signing settings of a server.
type Credentials struct {
	Signing Signing `json:"signing" readOnly:"true" doc:"Signing keys and their rotation."`
}

// Signing describes the signing keys of a server.
type Signing struct {
	RotationMode string     `json:"rotationMode" readOnly:"true" enum:"AUTO,MANUAL" doc:"AUTO rotates the keys every 90 days."`
	LastRotated  rest.Time  `json:"lastRotated" readOnly:"true" doc:"When the active key became active."`
	NextRotation *rest.Time `json:"nextRotation,omitempty" readOnly:"true" doc:"Time of the next rotation. Absent if rotationMode is MANUAL."`
	KID          string     `json:"kid" readOnly:"true" doc:"Id of the active key."`
}

// ServerInput is the body of a new or replaced server.
type ServerInput struct {
	Name        string   `json:"name" max:"100" empty:"absent" doc:"Name of the server."`
	Description *string  `json:"description" max:"1024" doc:"Description of the server. May be omitted in a replacement."`
	Audiences   []string `json:"audiences" doc:"The audience of its access tokens: exactly one."`
	IssuerMode  string   `json:"issuerMode" empty:"absent"`
	Credentials *struct {
		Signing *struct {
			RotationMode string `json:"rotationMode" empty:"absent" enum:"AUTO,MANUAL" doc:"Whether keys are rotated automatically."`
		} `json:"signing" doc:"Signing keys and their rotation."`
	} `json:"credentials" doc:"Signing settings."`
}

// MoreTags implements rest.Described.
func (ServerInput) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"issuerMode": `enum:"ORG_URL,CUSTOM_URL,DYNAMIC" doc:"Kind of the issuer URL. CUSTOM_URL needs a custom domain, DYNAMIC needs ` +
			`Dynamic Issuer Mode. Default: DYNAMIC or CUSTOM_URL where these are configured, otherwise ORG_URL. A replacement without it ` +
			`retains the mode."`,
	}
}

// maxAudience is the maximum length of an audience, in bytes.
const maxAudience = 1024

// check records the errors in the settings of a server. had is the current issuer mode, empty for a new server.
func (s *Slice) check(in *ServerInput, had model.IssuerMode, causes *rest.Causes) {
	modes := s.domains.Modes()
	if mode := model.IssuerMode(in.IssuerMode); mode != "" && mode != had && !slices.Contains(modes, mode) {
		causes.Add("issuerMode", "The value must be one of: %s", joined(modes))
	}
	if strings.TrimSpace(in.Name) == "" {
		causes.Blank("name")
	}
	switch {
	case len(in.Audiences) == 0:
		causes.Blank("audiences")
	case len(in.Audiences) > 1:
		causes.Add("audiences", "The field must have exactly one element")
	case strings.TrimSpace(in.Audiences[0]) == "" || len(in.Audiences[0]) > maxAudience:
		causes.Add("audiences", "The audience must have between 1 and %d bytes", maxAudience)
	}
}

// joined returns a list of issuer modes as text.
func joined(modes []model.IssuerMode) string {
	texts := make([]string, len(modes))
	for i, mode := range modes {
		texts[i] = string(mode)
	}
	return strings.Join(texts, ", ")
}

// apply applies a body to a server.
func (in *ServerInput) apply(s *model.AuthServer, now time.Time) {
	s.Name, s.Audience, s.Changed = in.Name, in.Audiences[0], now
	if in.Description != nil {
		s.Description = *in.Description
	}
	if in.IssuerMode != "" {
		s.IssuerMode = model.IssuerMode(in.IssuerMode)
	}
	if in.Credentials != nil && in.Credentials.Signing != nil && in.Credentials.Signing.RotationMode != "" {
		s.ManualRotation = in.Credentials.Signing.RotationMode == rotationManual
	}
}

// show renders a server.
func (s *Slice) show(ctx context.Context, doc docstore.Doc[model.AuthServer]) (AuthorizationServer, error) {
	v := doc.Value
	ring, err := s.keys.Ring(ctx, doc.ID, v.ManualRotation)
	if err != nil {
		return AuthorizationServer{}, err
	}
	url := func(segments ...string) string {
		return rest.URL(ctx, append([]string{"api", "v1", "authorizationServers", doc.ID}, segments...)...)
	}
	metadata := func(document string) rest.Link {
		link := rest.To(rest.URL(ctx, "oauth2", tokens.PathName(doc), ".well-known", document), http.MethodGet)
		link.Name = document
		return link
	}
	out := AuthorizationServer{
		ID: doc.ID, Name: v.Name, Description: v.Description, Audiences: []string{v.Audience}, Issuer: s.domains.Issuer(ctx, doc),
		Status: v.Status, Default: v.Default, Created: rest.TimeOf(doc.Created), LastUpdated: rest.TimeOf(v.Changed),
		Credentials: Credentials{Signing{RotationMode: rotationManual, LastRotated: rest.TimeOf(ring.Rotated), KID: ring.Active}},
		Links: rest.Links{
			"self": rest.To(url(), get, put, remove), "scopes": rest.To(url("scopes"), get), "claims": rest.To(url("claims"), get),
			"policies": rest.To(url("policies"), get), "keys": rest.To(url("credentials", "keys"), get),
			"rotateKey": rest.To(url("credentials", "lifecycle", "keyRotate"), post),
			"metadata":  []rest.Link{metadata("oauth-authorization-server"), metadata("openid-configuration")},
		},
	}
	if s.domains.Shown() {
		out.IssuerMode = string(cmp.Or(v.IssuerMode, model.IssuerOrg))
	}
	if !v.ManualRotation {
		out.Credentials.Signing.RotationMode = rotationAuto
		out.Credentials.Signing.NextRotation = rest.TimePtr(ring.Due())
	}
	lifecycle(out.Links, v.Status, url)
	return out, nil
}

// lifecycle adds the link to the operation for the other status.
func lifecycle(links rest.Links, status model.Status, url func(...string) string) {
	verb := "activate"
	if status == model.Active {
		verb = "deactivate"
	}
	links[verb] = rest.To(url("lifecycle", verb), post)
}

type createRequest struct {
	Body ServerInput `body:"required"`
}

// checkCreate validates the settings.
func (s *Slice) checkCreate(_ context.Context, r *createRequest, causes *rest.Causes) error {
	s.check(&r.Body, "", causes)
	if r.Body.Description == nil || strings.TrimSpace(*r.Body.Description) == "" {
		causes.Blank("description")
	}
	return nil
}

func (s *Slice) create(ctx context.Context, r *createRequest) (AuthorizationServer, error) {
	var doc docstore.Doc[model.AuthServer]
	err := s.Update(ctx, func(tx *docstore.Tx) (err error) {
		server := model.NewAuthServer(tx.Now(), "", "", "")
		server.IssuerMode = s.domains.Default()
		r.Body.apply(&server, tx.Now())
		if doc, err = s.InsertAuthServer(ctx, tx, server); err != nil {
			return err
		}
		return audit.Write(ctx, tx, s.Deps,
			audit.Entry{Type: audit.AuthServerCreate, Targets: []model.LogParty{audit.AuthServer(doc.ID, &server)}})
	})
	if err != nil {
		return AuthorizationServer{}, err
	}
	rest.SetHeader(ctx, "Location", rest.URL(ctx, "api", "v1", "authorizationServers", doc.ID))
	return s.show(ctx, doc)
}

type listRequest struct {
	Q     string `query:"q" doc:"Part of the name or of the audience, ignoring case."`
	Limit int    `query:"limit" default:"200" min:"1" max:"200" clamp:"true" doc:"Size of the page, at most 200."`
	After string `query:"after" doc:"Cursor from the link to the next page."`
}

func (s *Slice) list(ctx context.Context, r *listRequest) (rest.Page[AuthorizationServer], error) {
	query := docstore.Query[model.AuthServer]{After: r.After, Limit: r.Limit}
	if part := filter.Fold(r.Q); part != "" {
		query.Match = func(doc *docstore.Doc[model.AuthServer]) bool {
			return strings.Contains(filter.Fold(doc.Value.Name), part) || strings.Contains(filter.Fold(doc.Value.Audience), part)
		}
	}
	if visible, match := authz.Servers(ctx), query.Match; visible != nil {
		query.Match = func(doc *docstore.Doc[model.AuthServer]) bool { return visible(doc.ID) && (match == nil || match(doc)) }
	}
	page, err := s.AuthServers.Query(ctx, s.Store.Reader(), query)
	if err != nil {
		return rest.Page[AuthorizationServer]{}, err
	}
	out := rest.Page[AuthorizationServer]{Next: page.Next}
	for _, doc := range page.Docs {
		server, err := s.show(ctx, doc)
		if err != nil {
			return out, err
		}
		out.Items = append(out.Items, server)
	}
	return out, nil
}

func (s *Slice) get(ctx context.Context, t *target) (AuthorizationServer, error) {
	return s.show(ctx, t.found)
}

type replaceRequest struct {
	target
	Body ServerInput `body:"required"`
}

// checkReplace validates the settings.
func (s *Slice) checkReplace(_ context.Context, r *replaceRequest, causes *rest.Causes) error {
	s.check(&r.Body, r.found.Value.IssuerMode, causes)
	return nil
}

func (s *Slice) replace(ctx context.Context, r *replaceRequest) (AuthorizationServer, error) {
	err := s.change(ctx, &r.target, audit.AuthServerUpdate, func(tx *docstore.Tx, server *model.AuthServer) ([]model.LogParty, error) {
		wasManual := server.ManualRotation
		r.Body.apply(server, s.Now())
		if wasManual && !server.ManualRotation {
			return nil, s.keys.StartPeriod(ctx, tx, r.found.ID)
		}
		return nil, nil
	})
	if err != nil {
		return AuthorizationServer{}, err
	}
	return s.show(ctx, r.found)
}

func (s *Slice) delete(ctx context.Context, t *target) (rest.NoContent, error) {
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.find(ctx, tx, t); err != nil {
			return err
		}
		if t.found.Value.Default {
			return rest.Invalid("authServerId", "The default authorization server cannot be deleted")
		}
		id := t.found.ID
		if _, err := s.RefreshTokens.DeleteWhere(ctx, tx, docstore.Eq(model.RefreshTokenByServer, id)); err != nil {
			return err
		}
		if _, err := s.Consents.DeleteWhere(ctx, tx, docstore.Eq(model.ConsentByServer, id)); err != nil {
			return err
		}
		if _, err := s.AuthKeys.DeleteWhere(ctx, tx, docstore.Eq(model.AuthKeyByServer, id)); err != nil {
			return err
		}
		if err := s.KeyRings.Delete(ctx, tx, id); err != nil {
			return err
		}
		if err := s.AuthServers.Delete(ctx, tx, id); err != nil {
			return err
		}
		if err := audit.Write(ctx, tx, s.Deps,
			audit.Entry{Type: audit.AuthServerDelete, Targets: []model.LogParty{audit.AuthServer(id, &t.found.Value)}}); err != nil {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.AuthServerDeleted{ID: id})
	})
	return rest.NoContent{}, s.refused(ctx, t, audit.AuthServerDelete, err)
}

// enter returns the operation that sets the status of a server.
func (s *Slice) enter(status model.Status, event audit.Type) func(context.Context, *target) (rest.NoContent, error) {
	return func(ctx context.Context, t *target) (rest.NoContent, error) {
		return rest.NoContent{}, s.change(ctx, t, event, func(_ *docstore.Tx, server *model.AuthServer) ([]model.LogParty, error) {
			if server.Status == status {
				return nil, errUnchanged
			}
			server.Status, server.Changed = status, s.Now()
			return nil, nil
		})
	}
}
