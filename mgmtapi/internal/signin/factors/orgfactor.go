package factors

import (
	"context"
	"net/http"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

const orgRoot = "/api/v1/org/factors"

// OrgFactor is a type of factor, with the organization's decision whether users may enroll and use it.
type OrgFactor struct {
	ID       string     `json:"id" readOnly:"true" doc:"Name of the type of factor."`
	Type     string     `json:"factorType" readOnly:"true" doc:"Type of the factors."`
	Provider string     `json:"provider" readOnly:"true" doc:"Provider of the factors."`
	Vendor   string     `json:"vendorName" readOnly:"true" doc:"Name of the provider."`
	Status   string     `json:"status" readOnly:"true" enum:"ACTIVE,INACTIVE" doc:"ACTIVE if users may enroll and use these factors."`
	Profile  string     `json:"factorProfileId,omitempty" readOnly:"true" doc:"Id of the custom profile, for custom_hotp."`
	Links    rest.Links `json:"_links" readOnly:"true" doc:"Links to the operations on this type of factor."`
}

// orgTarget is the type of factor in a path.
type orgTarget struct {
	ID string `path:"id" doc:"Name of the type of factor."`

	kind *kind
}

func (s *Slice) orgRoutes() []rest.Route {
	return []rest.Route{
		rest.Op[struct{}, rest.Page[OrgFactor]]{
			ID: "listOrgFactors", Route: "GET " + orgRoot, Tag: tag, Scopes: readScope,
			Summary: "Lists the types of factors of the organization", Do: s.listOrg,
		},
		rest.Op[orgTarget, OrgFactor]{
			ID: "getOrgFactor", Route: "GET " + orgRoot + "/{id}", Tag: tag, Scopes: readScope,
			Summary: "Reads a type of factor", Find: s.findOrg, Do: s.getOrg,
		},
		rest.Op[orgTarget, OrgFactor]{
			ID: "activateOrgFactor", Route: "POST " + orgRoot + "/{id}/lifecycle/activate", Tag: tag, Scopes: writeScope,
			Summary: "Activates a type of factor", Find: s.findOrg,
			Do: func(ctx context.Context, r *orgTarget) (OrgFactor, error) {
				return s.allow(ctx, r, model.Active, audit.PolicyActivate)
			},
		},
		rest.Op[orgTarget, OrgFactor]{
			ID: "deactivateOrgFactor", Route: "POST " + orgRoot + "/{id}/lifecycle/deactivate", Tag: tag, Scopes: writeScope,
			Summary:     "Deactivates a type of factor",
			Description: "Enrolled factors of this type are not deleted. Their status is INACTIVE while the type is INACTIVE.", Find: s.findOrg,
			Do: func(ctx context.Context, r *orgTarget) (OrgFactor, error) {
				return s.allow(ctx, r, model.Inactive, audit.PolicyDeactivate)
			},
		},
	}
}

func (s *Slice) findOrg(_ context.Context, r *orgTarget) error {
	i := slices.IndexFunc(s.kinds, func(k *kind) bool { return k.Org == r.ID })
	if i < 0 {
		return rest.NotFound("Policy", r.ID)
	}
	r.kind = s.kinds[i]
	return nil
}

// policy returns the JSON form of a type of factor. The status is ACTIVE if the organization allows the type.
func (k *kind) policy(ctx context.Context, allowed bool) OrgFactor {
	at := func(segments ...string) string {
		return rest.URL(ctx, append([]string{"api", "v1", "org", "factors", k.Org}, segments...)...)
	}
	out := OrgFactor{
		ID: k.Org, Type: string(k.Type), Provider: string(k.Provider), Vendor: string(k.Provider), Status: string(model.Inactive),
		Links: rest.Links{"self": rest.To(at(), http.MethodGet)},
	}
	if k.Type == model.FactorHOTP {
		out.Profile = model.CustomOTPProfile()
	}
	if allowed {
		out.Status = string(model.Active)
		out.Links["deactivate"] = rest.To(at("lifecycle", "deactivate"), http.MethodPost)
	} else {
		out.Links["activate"] = rest.To(at("lifecycle", "activate"), http.MethodPost)
	}
	return out
}

func (s *Slice) listOrg(ctx context.Context, _ *struct{}) (rest.Page[OrgFactor], error) {
	off, err := s.deactivatedKinds(ctx, s.Store.Reader())
	var out rest.Page[OrgFactor]
	for _, k := range s.kinds {
		out.Items = append(out.Items, k.policy(ctx, !off[k.Org]))
	}
	return out, err
}

func (s *Slice) getOrg(ctx context.Context, r *orgTarget) (OrgFactor, error) {
	allowed, err := s.allowed(ctx, s.Store.Reader(), r.kind.Org)
	return r.kind.policy(ctx, allowed), err
}

// allow activates or deactivates a kind. It does not modify a kind that already has the status.
func (s *Slice) allow(ctx context.Context, r *orgTarget, status model.Status, event audit.Type) (out OrgFactor, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := model.Optional(ctx, tx, s.OrgFactors, r.ID)
		if err != nil {
			return err
		}
		before, next := model.Active, model.OrgFactor{Status: status}
		if doc != nil {
			before = doc.Value.Status
			_, err = s.OrgFactors.Update(ctx, tx, doc.ID, doc.Rev, next)
		} else {
			_, err = s.OrgFactors.Insert(ctx, tx, r.ID, next)
		}
		if err != nil {
			return err
		}
		if before != status {
			party := model.LogParty{ID: r.ID, Type: audit.TypePolicy, AlternateID: string(r.kind.Provider), DisplayName: string(r.kind.Type)}
			if err := audit.Write(ctx, tx, s.Deps, audit.Entry{Type: event, Targets: []model.LogParty{party}}); err != nil {
				return err
			}
		}
		out = r.kind.policy(ctx, status == model.Active)
		return nil
	})
	return out, err
}
