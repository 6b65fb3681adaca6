package rest

import (
	"context"
	"strings"
)

// Unsupported is an operation of the vendor's API (docs/howto/client-libraries.md) that the management API does not implement. It requires
// the credentials and the scopes, searches for the entity and returns CodeUnsupported (on an OAuth endpoint in OAuth form), whatever the
// body. It is not part of the OpenAPI document.
type Unsupported[Req any] struct {
	ID     string
	Route  string // method, space, path template
	Scopes []string
	// OAuth means that the operation is an OAuth endpoint, which requires no credentials and returns OAuth errors.
	OAuth bool
	// Find returns the "not found" error, as Op.Find does. Optional.
	Find func(ctx context.Context, req *Req) error
	// Error returns the error for the request, after its parameters were bound. Default: the error is CodeUnsupported, returned before the
	// parameters are bound.
	Error func(req *Req) error
}

// row stores the operation in r.
func (u Unsupported[Req]) row(r *row) {
	u.op().row(r)
	r.info.Unsupported = true
}

func (u Unsupported[Req]) op() Op[Req, NoContent] {
	refuse := func() error {
		method, path, _ := strings.Cut(u.Route, " ")
		return Failf(CodeUnsupported, "Unsupported operation. This API does not serve %s %s.", method, path)
	}
	return Op[Req, NoContent]{
		ID: u.ID, Route: u.Route, Tag: "Unsupported", Summary: "Not supported", Scopes: u.Scopes, Public: u.OAuth, OAuth: u.OAuth,
		// Find runs before the body is read, so the response does not depend on the media type of the body.
		Find: func(ctx context.Context, req *Req) error {
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
