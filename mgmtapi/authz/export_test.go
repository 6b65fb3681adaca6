package authz

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
)

// Decide is Authorize without a request: what a user may do is read, and decided on.
func (a *Authorizer) Decide(ctx context.Context, q docstore.Reader, user string, op rest.Info, value func(name string) string) (bool, error) {
	access, err := a.User(ctx, q, user)
	if err != nil {
		return false, err
	}
	d, err := a.decide(ctx, q, access, op, value, false)
	return d.Allowed, err
}
