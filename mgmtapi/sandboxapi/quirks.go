package sandboxapi

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/mgmtapi/rest"
)

// ErrNoProvider is what Providers returns for a service provider that the sandbox does not have.
var ErrNoProvider = errors.New("sandboxapi: no such service provider")

// Providers are the SCIM servers of the sandbox, whose behaviour can be made to deviate, as the composition root gives them.
type Providers interface {
	// Quirks returns the active quirks of a service provider and the ones there are. It fails with ErrNoProvider.
	Quirks(provider string) (active []string, available []Quirk, err error)
	// SetQuirks replaces all quirks of a service provider at once. It fails with ErrNoProvider; any other error says which
	// setting cannot be read, and nothing is changed then.
	SetQuirks(provider string, active []string) error
}

// Quirk is a deviation that can be switched on.
type Quirk struct {
	Usage    string `json:"usage" readOnly:"true" doc:"how a setting is written"`
	Category string `json:"category" readOnly:"true" doc:"profile, fault or chaos"`
	Does     string `json:"does" readOnly:"true" doc:"how the server deviates"`
	Seen     string `json:"seen,omitempty" readOnly:"true" doc:"who is known to behave so"`
}

func (s *Slice) quirkRoutes() []rest.Route {
	return []rest.Route{
		rest.Op[providerRequest, quirkList]{ID: "listQuirks", Route: "GET /sandbox/v1/scim/{provider}/quirks", Tag: tag,
			Summary: "Show how a SCIM server of the sandbox deviates, and how it could", Scopes: []string{manage}, Do: s.listQuirks},
		rest.Op[setQuirksRequest, quirkList]{ID: "replaceQuirks", Route: "PUT /sandbox/v1/scim/{provider}/quirks", Tag: tag,
			Summary: "Have a SCIM server of the sandbox deviate", Scopes: []string{manage}, Do: s.setQuirks},
	}
}

type providerRequest struct {
	Provider string `path:"provider" doc:"name of the SCIM server, such as default"`
}

type quirkList struct {
	Active    []string `json:"active" doc:"settings such as no-patch, patch-members=50 or drop-after,p=0.05,seed=7,method=POST"`
	Available []Quirk  `json:"available" readOnly:"true" doc:"all quirks there are"`
}

func (s *Slice) listQuirks(_ context.Context, r *providerRequest) (quirkList, error) {
	active, available, err := s.o.Providers.Quirks(r.Provider)
	if errors.Is(err, ErrNoProvider) {
		return quirkList{}, rest.NotFound("ServiceProvider", r.Provider)
	}
	return quirkList{Active: active, Available: available}, err
}

type setQuirksRequest struct {
	providerRequest
	Body struct {
		Active []string `json:"active" required:"true" doc:"all settings; an empty list makes the server correct"`
	} `body:"required"`
}

func (s *Slice) setQuirks(ctx context.Context, r *setQuirksRequest) (quirkList, error) {
	err := s.o.Providers.SetQuirks(r.Provider, r.Body.Active)
	switch {
	case errors.Is(err, ErrNoProvider):
		return quirkList{}, rest.NotFound("ServiceProvider", r.Provider)
	case err != nil:
		return quirkList{}, rest.Invalid("active", "%v", err)
	}
	return s.listQuirks(ctx, &r.providerRequest)
}
