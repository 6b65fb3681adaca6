package sandboxapi

import (
	"context"
	"errors"
	"strings"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sandboxport"
)

func (s *Slice) providerRoutes() []rest.Route {
	scopes := []string{manage}
	return []rest.Route{
		rest.Op[rest.NoContent, []provider]{ID: "listProviders", Route: "GET /sandbox/v1/scim", Tag: tag,
			Summary: "List the SCIM servers of the sandbox", Scopes: scopes, Do: s.listProviders},
		rest.Op[createProviderRequest, createdProvider]{ID: "createProvider", Route: "POST /sandbox/v1/scim", Tag: tag, Status: 201,
			Summary: "Create a SCIM server; its token is shown only in this response", Scopes: scopes, Do: s.createProvider},
		rest.Op[providerRequest, provider]{ID: "getProvider", Route: "GET /sandbox/v1/scim/{provider}", Tag: tag,
			Summary: "Show a SCIM server of the sandbox", Scopes: scopes, Do: s.getProvider},
		rest.Op[providerRequest, rest.NoContent]{ID: "deleteProvider", Route: "DELETE /sandbox/v1/scim/{provider}", Tag: tag,
			Summary: "Delete a SCIM server that was created by this API, with its resources", Scopes: scopes, Do: s.deleteProvider},
		rest.Op[providerRequest, rest.NoContent]{ID: "resetProvider", Route: "POST /sandbox/v1/scim/{provider}/reset", Tag: tag,
			Summary: "Remove all resources of a SCIM server; its tokens and quirks remain", Scopes: scopes, Do: s.resetProvider},
		rest.Op[createProviderTokenRequest, createdProviderToken]{ID: "createProviderToken", Route: "POST /sandbox/v1/scim/{provider}/tokens",
			Tag: tag, Status: 201,
			Summary: "Create a token of a SCIM server; its value is shown only in this response", Scopes: scopes, Do: s.createProviderToken},
		rest.Op[providerTokenRequest, rest.NoContent]{ID: "deleteProviderToken", Route: "DELETE /sandbox/v1/scim/{provider}/tokens/{token}",
			Tag:     tag,
			Summary: "Delete a token that was created by this API", Scopes: scopes, Do: s.deleteProviderToken},
	}
}

type provider struct {
	Name    string          `json:"name" readOnly:"true"`
	URL     string          `json:"url" readOnly:"true" doc:"SCIM base URL"`
	Created bool            `json:"created" readOnly:"true" doc:"true if the server was created by this API and can be deleted by it"`
	Lenient []string        `json:"lenient" readOnly:"true" doc:"nonstandard requests that it accepts"`
	Quirks  []string        `json:"quirks" readOnly:"true" doc:"active quirks"`
	Tokens  []providerToken `json:"tokens" readOnly:"true"`
}

type providerToken struct {
	ID       string     `json:"id" readOnly:"true" doc:"id of the token; token_id in the access log"`
	ReadOnly bool       `json:"readOnly" readOnly:"true"`
	Expires  *rest.Time `json:"expires,omitempty" readOnly:"true" doc:"time of expiry; absent if the token does not expire"`
	Me       string     `json:"me,omitempty" readOnly:"true" doc:"id of the user that /Me returns"`
}

type createdProvider struct {
	provider
	Token string `json:"token" readOnly:"true" doc:"bearer token; it cannot be read again"`
}

type createdProviderToken struct {
	providerToken
	Token string `json:"token" readOnly:"true" doc:"bearer token; it cannot be read again"`
}

func renderProvider(ctx context.Context, p sandboxport.Provider) provider {
	out := provider{
		Name: p.Name, URL: rest.URL(ctx, strings.Split(strings.Trim(p.Path, "/"), "/")...), Created: p.Created,
		Lenient: orEmpty(p.Lenient), Quirks: orEmpty(p.Quirks), Tokens: []providerToken{},
	}
	for _, t := range p.Tokens {
		out.Tokens = append(out.Tokens, renderToken(t))
	}
	return out
}

func renderToken(t sandboxport.ProviderToken) providerToken {
	return providerToken{ID: t.ID, ReadOnly: t.ReadOnly, Expires: rest.TimePtr(t.Expires), Me: t.Me}
}

func orEmpty(list []string) []string { return append([]string{}, list...) }

func (s *Slice) listProviders(ctx context.Context, _ *rest.NoContent) ([]provider, error) {
	out := []provider{}
	for _, p := range s.o.Providers.List() {
		out = append(out, renderProvider(ctx, p))
	}
	return out, nil
}

type createProviderRequest struct {
	Body struct {
		Name string `json:"name" required:"true" doc:"lower-case words and digits, joined by hyphens; the server is at /t/NAME/scim/v2"`

		Quirks  []string  `json:"quirks" doc:"initial quirks"`
		Lenient *[]string `json:"lenient" doc:"nonstandard requests to accept; none if empty; all if absent"`
	} `body:"required"`
}

func (s *Slice) createProvider(ctx context.Context, r *createProviderRequest) (createdProvider, error) {
	wanted := sandboxport.NewProvider{Name: r.Body.Name, Quirks: r.Body.Quirks}
	if r.Body.Lenient != nil {
		wanted.Lenient = orEmpty(*r.Body.Lenient)
	}
	made, token, err := s.o.Providers.Create(ctx, wanted)
	if err != nil {
		return createdProvider{}, err
	}
	return createdProvider{provider: renderProvider(ctx, made), Token: token}, nil
}

type providerRequest struct {
	Provider string `path:"provider" doc:"name of the SCIM server, such as default"`
}

// missing converts ErrNoProvider to a not-found error.
func (r providerRequest) missing(err error) error {
	if errors.Is(err, sandboxport.ErrNoProvider) {
		return rest.NotFound("ServiceProvider", r.Provider)
	}
	return err
}

func (s *Slice) getProvider(ctx context.Context, r *providerRequest) (provider, error) {
	p, err := s.o.Providers.Get(r.Provider)
	if err != nil {
		return provider{}, r.missing(err)
	}
	return renderProvider(ctx, p), nil
}

func (s *Slice) deleteProvider(ctx context.Context, r *providerRequest) (rest.NoContent, error) {
	return rest.NoContent{}, r.missing(s.o.Providers.Remove(ctx, r.Provider))
}

func (s *Slice) resetProvider(ctx context.Context, r *providerRequest) (rest.NoContent, error) {
	return rest.NoContent{}, r.missing(s.o.Providers.Reset(ctx, r.Provider))
}

type createProviderTokenRequest struct {
	providerRequest
	Body *struct {
		ReadOnly bool       `json:"readOnly" doc:"reject changes"`
		Expires  *rest.Time `json:"expires" doc:"time of expiry; never if absent"`
		Me       string     `json:"me" max:"512" doc:"id of the owner of the token, the user that /Me returns"`
	} `body:"optional"`
}

func (s *Slice) createProviderToken(ctx context.Context, r *createProviderTokenRequest) (createdProviderToken, error) {
	var wanted sandboxport.NewToken
	if r.Body != nil {
		wanted = sandboxport.NewToken{ReadOnly: r.Body.ReadOnly, Me: r.Body.Me}
		if r.Body.Expires != nil {
			wanted.Expires = r.Body.Expires.Time
		}
	}
	made, value, err := s.o.Providers.CreateToken(ctx, r.Provider, wanted)
	if err != nil {
		return createdProviderToken{}, r.missing(err)
	}
	return createdProviderToken{providerToken: renderToken(made), Token: value}, nil
}

type providerTokenRequest struct {
	providerRequest
	Token string `path:"token" doc:"id of the token"`
}

func (s *Slice) deleteProviderToken(ctx context.Context, r *providerTokenRequest) (rest.NoContent, error) {
	return rest.NoContent{}, r.missing(s.o.Providers.RemoveToken(ctx, r.Provider, r.Token))
}
