package rest

import (
	"context"
	"strings"
)

// Unsupported is an operation that the public API has and this one has not: it asks for the credentials and the scopes, looks for
// the entity and answers with CodeUnsupported (an OAuth endpoint with its status), whatever the body. It is no part of the OpenAPI
// document.
type Unsupported[Req any] struct {
	ID     string
	Route  string // method, space, path template
	Scopes []string
	// OAuth says that it is an OAuth endpoint, which asks for no credentials and fails as these do.
	OAuth bool
	// Find answers that there is no such entity, as that of Op. Optional.
	Find func(ctx context.Context, req *Req) error
	// Error returns the error of a request whose parameters are bound. Defaults to CodeUnsupported, before they are.
	Error func(req *Req) error
}

// Info describes the operation.
func (u Unsupported[Req]) Info() Info {
	info := u.op().Info()
	info.Unsupported = true
	return info
}

func (u Unsupported[Req]) op() Op[Req, NoContent] {
	refuse := func() error {
		method, path, _ := strings.Cut(u.Route, " ")
		return Failf(CodeUnsupported, "Unsupported operation. %s %s is not served here.", method, path)
	}
	return Op[Req, NoContent]{
		ID: u.ID, Route: u.Route, Tag: "Unsupported", Summary: "Not supported", Scopes: u.Scopes, Public: u.OAuth, OAuth: u.OAuth,
		Find: func(ctx context.Context, req *Req) error { // before the body, whose media type does not matter
			if u.Find != nil {
				if err := u.Find(ctx, req); err != nil {
					return err
				}
			}
			if u.Error != nil {
				return nil
			}
			return refuse()
		},
		Do: func(_ context.Context, req *Req) (NoContent, error) { return NoContent{}, u.Error(req) },
	}
}

func (u Unsupported[Req]) compile(words Words) (*operation, error) {
	compiled, err := u.op().compile(words)
	if err != nil {
		return nil, err
	}
	compiled.info.Unsupported = true
	return compiled, nil
}
