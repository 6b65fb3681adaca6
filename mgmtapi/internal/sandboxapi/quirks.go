package sandboxapi

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sandboxport"
)

// quirk is a deviation that can be enabled.
type quirk struct {
	Usage    string `json:"usage" readOnly:"true" doc:"syntax of a setting"`
	Category string `json:"category" readOnly:"true" doc:"profile, fault or chaos"`
	Does     string `json:"does" readOnly:"true" doc:"what the server does instead of the correct behavior"`
	Seen     string `json:"seen,omitempty" readOnly:"true" doc:"servers that are known to have this behavior"`
}

func (s *Slice) quirkRoutes() []rest.Route {
	return []rest.Route{
		rest.Op[providerRequest, quirkList]{ID: "listQuirks", Route: "GET /sandbox/v1/scim/{provider}/quirks", Tag: tag,
			Summary: "List the active and the available quirks of a SCIM server of the sandbox", Scopes: []string{manage}, Do: s.listQuirks},
		rest.Op[setQuirksRequest, quirkList]{ID: "replaceQuirks", Route: "PUT /sandbox/v1/scim/{provider}/quirks", Tag: tag,
			Summary: "Set the quirks of a SCIM server of the sandbox", Scopes: []string{manage}, Do: s.setQuirks},
	}
}

type quirkList struct {
	Active    []string `json:"active" doc:"settings such as no-patch, patch-members=50 or drop-after,p=0.05,seed=7,method=POST"`
	Available []quirk  `json:"available" readOnly:"true" doc:"all available quirks"`
}

func (s *Slice) listQuirks(_ context.Context, r *providerRequest) (quirkList, error) {
	active, available, err := s.o.Providers.Quirks(r.Provider)
	out := quirkList{Active: active}
	for _, q := range available {
		out.Available = append(out.Available, quirk(q))
	}
	return out, r.missing(err)
}

type setQuirksRequest struct {
	providerRequest
	Body struct {
		Active []string `json:"active" required:"true" doc:"all quirk settings; an empty list disables all quirks"`
	} `body:"required"`
}

func (s *Slice) setQuirks(ctx context.Context, r *setQuirksRequest) (quirkList, error) {
	err := s.o.Providers.SetQuirks(ctx, r.Provider, r.Body.Active)
	switch {
	case errors.Is(err, sandboxport.ErrNoProvider):
		return quirkList{}, r.missing(err)
	case err != nil:
		return quirkList{}, rest.Invalid("active", "%v", err)
	}
	return s.listQuirks(ctx, &r.providerRequest)
}
