package authservers

import (
	"context"
	"encoding/base64"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/search"
)

// Values for the publication of a scope in the metadata of a server.
const (
	publishNone = "NO_CLIENTS"
	publishAll  = "ALL_CLIENTS"
)

// Scope is a scope in JSON.
type Scope struct {
	ID          string `json:"id" readOnly:"true" doc:"Id of the scope."`
	Name        string `json:"name" readOnly:"true" doc:"Name in token requests."`
	DisplayName string `json:"displayName,omitempty" readOnly:"true" doc:"Human-readable name."`
	Description string `json:"description,omitempty" readOnly:"true" doc:"Description of the scope."`
	System      bool   `json:"system" readOnly:"true" doc:"Whether the scope is built in."`
	Default     bool   `json:"default" readOnly:"true" doc:"Whether a request without scopes gets the scope."`

	Consent string `json:"consent" readOnly:"true" enum:"IMPLICIT,REQUIRED,FLEXIBLE" doc:"Whether users must consent."`

	Optional bool `json:"optional" readOnly:"true" doc:"Whether users may decline the scope."`

	MetadataPublish string `json:"metadataPublish" readOnly:"true" enum:"NO_CLIENTS,ALL_CLIENTS" doc:"Whether metadata contains the scope."`

	Links rest.Links `json:"_links" readOnly:"true" doc:"Links to the operations on the scope."`
}

// ScopeInput is the body of a new or replaced scope.
type ScopeInput struct {
	Name string `json:"name" max:"255" required:"true" doc:"Name in token requests: printable ASCII without space, quote and backslash."`

	DisplayName string `json:"displayName" max:"255" doc:"Human-readable name."`
	Description string `json:"description" max:"1024" doc:"Description of the scope."`
	Default     bool   `json:"default" doc:"Whether a request without scopes gets the scope."`

	Consent string `json:"consent" empty:"absent" enum:"IMPLICIT,REQUIRED,FLEXIBLE" doc:"Whether users must consent. Default: IMPLICIT."`

	Optional        bool   `json:"optional" doc:"Whether users may decline the scope."`
	MetadataPublish string `json:"metadataPublish" empty:"absent"`
}

// MoreTags implements rest.Described.
func (ScopeInput) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"metadataPublish": `enum:"NO_CLIENTS,ALL_CLIENTS" doc:"Whether the metadata of the server contains the scope. Default: NO_CLIENTS."`,
	}
}

// scopePattern is scope-token of RFC 6749 section 3.3.
var scopePattern = regexp.MustCompile(`^[!#-\[\]-~]+$`)

func (in *ScopeInput) check(causes *rest.Causes) {
	name := in.Name
	switch {
	case name == "": // the check of the struct tags has reported the missing name
	case !scopePattern.MatchString(name):
		causes.Add("name", "The value must be printable ASCII without space, quote and backslash")
	case name == model.AnyScope, name == "svc", strings.HasPrefix(name, "svc."), strings.HasPrefix(name, "svc:"):
		causes.Add("name", "The value is reserved")
	}
}

// apply applies a body to a scope. Of a built-in scope, only the settings for users and metadata can be changed.
func (in *ScopeInput) apply(c *model.AuthScope, causes *rest.Causes) {
	if c.System && in.Name != c.Name {
		causes.Add("name", "The name of a built-in scope cannot be changed")
	}
	if c.System && (in.Default != c.Default || in.Optional != c.Optional) {
		causes.Add("default", "Only metadataPublish, consent, description and displayName of a built-in scope can be changed")
	}
	c.Name, c.DisplayName, c.Description, c.Default, c.Optional = in.Name, in.DisplayName, in.Description, in.Default, in.Optional
	if c.Consent = in.Consent; c.Consent == "" {
		c.Consent = model.ConsentImplicit
	}
	c.Published = in.MetadataPublish == publishAll
}

func showScope(ctx context.Context, server string, c *model.AuthScope) Scope {
	out := Scope{
		ID: c.ID, Name: c.Name, DisplayName: c.DisplayName, Description: c.Description, System: c.System, Default: c.Default, Consent: c.Consent,
		Optional: c.Optional, MetadataPublish: publishNone,
		Links: rest.Links{"self": rest.To(rest.URL(ctx, "api", "v1", "authorizationServers", server, "scopes", c.ID), get, put, remove)},
	}
	if c.Published {
		out.MetadataPublish = publishAll
	}
	return out
}

type listScopesRequest struct {
	target
	Q      string `query:"q" doc:"Prefix of the name."`
	Filter string `query:"filter" doc:"Expression with name eq."`
	Limit  int    `query:"limit" default:"200" min:"1" max:"200" clamp:"true" doc:"Size of the page, at most 200."`
	After  string `query:"after" doc:"Cursor from the link to the next page."`
}

// byName is the filter language of scopes.
var byName = search.Language[model.AuthScope]{
	"name": {Operators: search.Equality, Values: func(d *docstore.Doc[model.AuthScope]) []any { return []any{d.Value.Name} }},
}

func (s *Slice) listScopes(ctx context.Context, r *listScopesRequest) (out rest.Page[Scope], err error) {
	after, err := readCursor(r.After)
	if err != nil {
		return out, err
	}
	match := func(c *docstore.Doc[model.AuthScope]) bool { return strings.HasPrefix(c.Value.Name, r.Q) }
	if r.Filter != "" {
		if r.Q != "" {
			return out, rest.Fail(rest.CodeQueryAndFilter)
		}
		query, err := byName.Compile(r.Filter)
		if err != nil {
			return out, err
		}
		match = query.Match
	}
	server := &r.found.Value
	last := int64(0)
	for i := range server.Scopes {
		c := &server.Scopes[i]
		if c.Seq <= after || match != nil && !match(&docstore.Doc[model.AuthScope]{Value: *c}) {
			continue
		}
		if len(out.Items) == r.Limit {
			out.Next = cursor(last)
			break
		}
		out.Items, last = append(out.Items, showScope(ctx, r.found.ID, c)), c.Seq
	}
	return out, nil
}

// cursor returns the cursor after a scope. It remains valid if the scope is deleted.
func cursor(seq int64) string {
	return base64.RawURLEncoding.EncodeToString(strconv.AppendInt([]byte("s"), seq, 10))
}

func readCursor(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil && len(data) > 1 && data[0] == 's' {
		if seq, err := strconv.ParseInt(string(data[1:]), 10, 64); err == nil {
			return seq, nil
		}
	}
	return 0, docstore.ErrBadCursor
}

// scopeTarget is the scope in a path.
type scopeTarget struct {
	target
	Scope string `path:"scopeId" doc:"Id of the scope."`
}

func (t *scopeTarget) self() *scopeTarget { return t }

func (s *Slice) findScope(ctx context.Context, q docstore.Reader, t *scopeTarget) error {
	return findPart(ctx, s, q, t)
}

func (t *scopeTarget) at(server *model.AuthServer) (spot[model.AuthScope], error) {
	return locate(&server.Scopes, "OAuth2Scope", t.Scope, func(c *model.AuthScope) bool { return c.ID == t.Scope }, scopeParty)
}

func scopeParty(c *model.AuthScope) []model.LogParty {
	return []model.LogParty{audit.Part(audit.TypeScope, c.ID, c.Name)}
}

func (s *Slice) getScope(ctx context.Context, t *scopeTarget) (Scope, error) {
	at, err := t.at(&t.found.Value)
	if err != nil {
		return Scope{}, err
	}
	return showScope(ctx, t.found.ID, at.part()), nil
}

type createScopeRequest struct {
	target
	Body ScopeInput `body:"required"`
}

// checkCreateScope validates the name.
func checkCreateScope(_ context.Context, r *createScopeRequest, causes *rest.Causes) error {
	r.Body.check(causes)
	return nil
}

func (s *Slice) createScope(ctx context.Context, r *createScopeRequest) (Scope, error) {
	c := model.AuthScope{ID: model.NewID(model.KindAuthScope)}
	err := s.change(ctx, &r.target, audit.ScopeCreate, func(_ *docstore.Tx, server *model.AuthServer) ([]model.LogParty, error) {
		if len(server.Scopes) >= maxScopes {
			return nil, rest.Invalid("scopes", "An authorization server can have at most %d scopes", maxScopes)
		}
		if server.Scope(r.Body.Name) != nil {
			return nil, rest.NotUnique("name")
		}
		server.LastSeq++
		c.Seq = server.LastSeq
		r.Body.apply(&c, &rest.Causes{})
		server.Scopes = append(server.Scopes, c)
		return scopeParty(&c), nil
	})
	if err != nil {
		return Scope{}, err
	}
	return showScope(ctx, r.found.ID, &c), nil
}

type replaceScopeRequest struct {
	scopeTarget
	Body ScopeInput `body:"required"`
}

// checkReplaceScope validates the name.
func checkReplaceScope(_ context.Context, r *replaceScopeRequest, causes *rest.Causes) error {
	r.Body.check(causes)
	return nil
}

func (s *Slice) replaceScope(ctx context.Context, r *replaceScopeRequest) (Scope, error) {
	err := replacePart(ctx, s, r, audit.ScopeUpdate, 0, func(tx *docstore.Tx, server *model.AuthServer, c *model.AuthScope) error {
		was := c.Name
		if other := server.Scope(r.Body.Name); other != nil && other.ID != c.ID {
			return rest.NotUnique("name")
		}
		var causes rest.Causes
		if r.Body.apply(c, &causes); causes.Err() != nil {
			return causes.Err()
		}
		renameScope(server, was, c.Name)
		return s.followScope(ctx, tx, r.found.ID, c.ID, was, c.Name)
	})
	if err != nil {
		return Scope{}, err
	}
	return s.getScope(ctx, &r.scopeTarget)
}

// renameScope renames a scope in the rules and claims that name it.
func renameScope(server *model.AuthServer, was, name string) {
	follow := func(names []string) {
		for i := range names {
			if names[i] == was {
				names[i] = name
			}
		}
	}
	for i := range server.Policies {
		for j := range server.Policies[i].Rules {
			follow(server.Policies[i].Rules[j].Scopes)
		}
	}
	for i := range server.Claims {
		follow(server.Claims[i].Scopes)
	}
}

func (s *Slice) deleteScope(ctx context.Context, t *scopeTarget) (rest.NoContent, error) {
	return rest.NoContent{}, changePart(ctx, s, t, audit.ScopeDelete,
		func(tx *docstore.Tx, server *model.AuthServer, at spot[model.AuthScope]) (model.AuthScope, error) {
			c := *at.part()
			if c.System {
				return c, rest.Invalid("scopeId", "A built-in scope cannot be deleted")
			}
			if user := userOfScope(server, c.Name); user != "" {
				return c, rest.Invalid("scopeId", "The scope is in use by %s", user)
			}
			*at.list = slices.Delete(*at.list, at.i, at.i+1)
			return c, s.followScope(ctx, tx, t.found.ID, c.ID, c.Name, "")
		})
}

// userOfScope returns a description of the rule or claim that refers to a scope, or "" if neither does. Such a scope cannot be deleted: a
// claim that lost its last scope would be in every token.
func userOfScope(server *model.AuthServer, name string) string {
	for _, p := range server.Policies {
		for _, r := range p.Rules {
			if slices.Contains(r.Scopes, name) {
				return fmt.Sprintf("the rule %q of the policy %q", r.Name, p.Name)
			}
		}
	}
	for _, c := range server.Claims {
		if slices.Contains(c.Scopes, name) {
			return fmt.Sprintf("the claim %q", c.Name)
		}
	}
	return ""
}

// followScope renames a scope in refresh tokens and consents, or removes it if name is empty. Otherwise these tokens and consents would
// become valid for another scope that gets the old name.
func (s *Slice) followScope(ctx context.Context, tx *docstore.Tx, server, id, was, name string) error {
	if name == was {
		return nil
	}
	err := model.Each(ctx, tx, s.RefreshTokens, docstore.Eq(model.RefreshTokenByServer, server),
		func(doc docstore.Doc[model.RefreshToken]) error {
			i := slices.Index(doc.Value.Scopes, was)
			if i < 0 {
				return nil
			}
			if name != "" {
				doc.Value.Scopes[i] = name
			} else {
				doc.Value.Scopes = slices.Delete(doc.Value.Scopes, i, i+1)
			}
			_, err := s.RefreshTokens.Update(ctx, tx, doc.ID, doc.Rev, doc.Value)
			return err
		})
	if err != nil {
		return err
	}
	return model.Each(ctx, tx, s.Consents, docstore.Eq(model.ConsentByServer, server), func(doc docstore.Doc[model.Consent]) error {
		if doc.Value.ScopeID != id {
			return nil
		}
		if name != "" {
			doc.Value.Scope = name
		} else {
			doc.Value.Status = model.TokenRevoked
		}
		_, err := s.Consents.Update(ctx, tx, doc.ID, doc.Rev, doc.Value)
		return err
	})
}
