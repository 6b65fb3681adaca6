package authservers

import (
	"context"
	"reflect"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/tokens"
)

// Claim is a claim in JSON.
type Claim struct {
	ID     string       `json:"id" readOnly:"true" doc:"Id of the claim."`
	Name   string       `json:"name" readOnly:"true" doc:"Name in the token."`
	Status model.Status `json:"status" readOnly:"true" enum:"ACTIVE,INACTIVE" doc:"ACTIVE or INACTIVE: whether tokens contain the claim."`

	ClaimType string `json:"claimType" readOnly:"true" enum:"RESOURCE,IDENTITY" doc:"RESOURCE for access tokens, IDENTITY for ID tokens."`

	ValueType  string          `json:"valueType" readOnly:"true" enum:"EXPRESSION,GROUPS,SYSTEM" doc:"Kind of the value."`
	Value      string          `json:"value" readOnly:"true" doc:"Expression, or the value compared with the names of groups."`
	Filter     string          `json:"group_filter_type,omitempty" readOnly:"true" doc:"Comparison for the names of groups."`
	Conditions ClaimConditions `json:"conditions" readOnly:"true" doc:"Conditions for the claim."`

	Always bool `json:"alwaysIncludeInToken" readOnly:"true" doc:"Whether ID tokens issued with access tokens have the claim. RESOURCE: true."`

	System bool       `json:"system" readOnly:"true" doc:"Whether the claim is built in."`
	Links  rest.Links `json:"_links" readOnly:"true" doc:"Links to the operations on the claim."`
}

// MoreTags implements rest.Described.
func (Claim) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"group_filter_type": `enum:"STARTS_WITH,EQUALS,CONTAINS,REGEX"`,
	}
}

// ClaimConditions are the conditions for a claim in a token.
type ClaimConditions struct {
	Scopes []string `json:"scopes" doc:"Names of scopes, one of which must be granted. Empty: always."`
}

// ClaimInput is the body of a new or replaced claim.
type ClaimInput struct {
	Name   string       `json:"name" max:"255" required:"true" doc:"Name in the token."`
	Status model.Status `json:"status" empty:"absent" enum:"ACTIVE,INACTIVE" doc:"Whether tokens contain the claim. Default: ACTIVE."`

	ClaimType string `json:"claimType" required:"true" enum:"RESOURCE,IDENTITY" doc:"RESOURCE for access tokens, IDENTITY for ID tokens."`

	ValueType string `json:"valueType" required:"true" enum:"EXPRESSION,GROUPS,SYSTEM" doc:"Kind of the value. A new claim cannot be SYSTEM."`

	Value      string          `json:"value" max:"8192" required:"true" doc:"Expression, or the value compared with the names of groups."`
	Filter     string          `json:"group_filter_type" empty:"absent" doc:"Comparison for the names of groups. Required for GROUPS."`
	Conditions ClaimConditions `json:"conditions" doc:"Conditions for the claim."`
	Always     bool            `json:"alwaysIncludeInToken" doc:"Whether ID tokens issued with an access token contain the claim."`
}

// MoreTags implements rest.Described.
func (ClaimInput) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"group_filter_type": `enum:"STARTS_WITH,EQUALS,CONTAINS,REGEX"`,
	}
}

func showClaim(ctx context.Context, server string, c *model.AuthClaim) Claim {
	return Claim{
		ID: c.ID, Name: c.Name, Status: c.Status, ClaimType: c.ClaimType, ValueType: c.ValueType, Value: c.Value, Filter: c.Filter,
		Conditions: ClaimConditions{append([]string{}, c.Scopes...)}, Always: c.Always, System: c.System,
		Links: rest.Links{"self": rest.To(rest.URL(ctx, "api", "v1", "authorizationServers", server, "claims", c.ID), get, put, remove)},
	}
}

// applyClaim validates a body and applies it to a claim.
func (s *Slice) applyClaim(ctx context.Context, q docstore.Reader, in *ClaimInput, server *model.AuthServer, c *model.AuthClaim) error {
	var causes rest.Causes
	next := *c
	if in.Status != "" {
		next.Status = in.Status
	}
	next.Value = in.Value
	if c.System {
		if in.Name != c.Name || in.ClaimType != c.ClaimType || len(in.Conditions.Scopes) > 0 {
			causes.Add("name", "Only value and status of a built-in claim can be changed")
		}
	} else {
		if tokens.Reserved(in.Name) || in.ClaimType == model.ClaimIdentity && tokens.ReservedIdentity(in.Name) {
			causes.Add("name", "The name is reserved")
		}
		if in.ValueType == model.ValueSystem {
			causes.Add("valueType", "The value must be one of: %s, %s", model.ValueExpression, model.ValueGroups)
		}
		next.Name, next.ClaimType, next.ValueType, next.Scopes = in.Name, in.ClaimType, in.ValueType, unique(in.Conditions.Scopes)
		next.Always, next.Filter = in.Always || in.ClaimType == model.ClaimResource, ""
		checkScopes(server, next.Scopes, "conditions.scopes", false, &causes)
		if slices.ContainsFunc(server.Claims, func(other model.AuthClaim) bool { return other.ID != c.ID && sameClaim(&other, &next) }) {
			causes.NotUnique("name")
		}
	}
	if next.ValueType == model.ValueGroups {
		if next.Filter = in.Filter; in.Filter == "" {
			causes.Blank("group_filter_type")
		} else if tokens.Comparison(in.Filter, in.Value) == nil {
			causes.Add("value", "The value is not a regular expression")
		}
	} else {
		names, err := tokens.Names(ctx, s.Deps, q)
		if err != nil {
			return err
		}
		if err := tokens.CheckExpression(in.Value, names); err != nil {
			causes.Add("value", "%s", err)
		}
	}
	if err := causes.Err(); err != nil {
		return err
	}
	*c = next
	return nil
}

// sameClaim reports whether two claims have the same name, the same claim type and the same scopes in any order.
func sameClaim(a, b *model.AuthClaim) bool {
	sorted := func(scopes []string) []string { return slices.Sorted(slices.Values(scopes)) }
	return a.Name == b.Name && a.ClaimType == b.ClaimType && slices.Equal(sorted(a.Scopes), sorted(b.Scopes))
}

type listClaimsRequest struct {
	target
	Include bool `query:"includeClaims" doc:"No effect."`
}

func (s *Slice) listClaims(ctx context.Context, r *listClaimsRequest) ([]Claim, error) {
	out := []Claim{}
	for i := range r.found.Value.Claims {
		out = append(out, showClaim(ctx, r.found.ID, &r.found.Value.Claims[i]))
	}
	return out, nil
}

// claimTarget is the claim in a path.
type claimTarget struct {
	target
	Claim string `path:"claimId" doc:"Id of the claim."`
}

func (t *claimTarget) self() *claimTarget { return t }

func (s *Slice) findClaim(ctx context.Context, q docstore.Reader, t *claimTarget) error {
	return findPart(ctx, s, q, t)
}

func (t *claimTarget) at(server *model.AuthServer) (spot[model.AuthClaim], error) {
	return locate(&server.Claims, "OAuth2Claim", t.Claim, func(c *model.AuthClaim) bool { return c.ID == t.Claim }, claimParty)
}

func claimParty(c *model.AuthClaim) []model.LogParty {
	return []model.LogParty{audit.Part(audit.TypeClaim, c.ID, c.Name)}
}

func (s *Slice) getClaim(ctx context.Context, t *claimTarget) (Claim, error) {
	at, err := t.at(&t.found.Value)
	if err != nil {
		return Claim{}, err
	}
	return showClaim(ctx, t.found.ID, at.part()), nil
}

type createClaimRequest struct {
	target
	Body ClaimInput `body:"required"`
}

func (s *Slice) createClaim(ctx context.Context, r *createClaimRequest) (Claim, error) {
	c := model.AuthClaim{ID: model.NewID(model.KindAuthClaim), Status: model.Active}
	err := s.change(ctx, &r.target, audit.ClaimCreate, func(tx *docstore.Tx, server *model.AuthServer) ([]model.LogParty, error) {
		if len(server.Claims) >= maxClaims {
			return nil, rest.Invalid("claims", "An authorization server can have at most %d claims", maxClaims)
		}
		if err := s.applyClaim(ctx, tx, &r.Body, server, &c); err != nil {
			return nil, err
		}
		server.Claims = append(server.Claims, c)
		return claimParty(&c), nil
	})
	if err != nil {
		return Claim{}, err
	}
	return showClaim(ctx, r.found.ID, &c), nil
}

type replaceClaimRequest struct {
	claimTarget
	Body ClaimInput `body:"required"`
}

func (s *Slice) replaceClaim(ctx context.Context, r *replaceClaimRequest) (Claim, error) {
	err := replacePart(ctx, s, r, audit.ClaimUpdate, 0, func(tx *docstore.Tx, server *model.AuthServer, c *model.AuthClaim) error {
		return s.applyClaim(ctx, tx, &r.Body, server, c)
	})
	if err != nil {
		return Claim{}, err
	}
	return s.getClaim(ctx, &r.claimTarget)
}

func (s *Slice) deleteClaim(ctx context.Context, t *claimTarget) (rest.NoContent, error) {
	return rest.NoContent{}, deletePart(ctx, s, t, audit.ClaimDelete, "claim", "claimId", func(c *model.AuthClaim) bool { return c.System })
}
