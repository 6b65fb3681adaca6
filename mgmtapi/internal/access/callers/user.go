package callers

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Me identifies the calling user in paths.
const Me = "me"

// FindUser returns the user that a path identifies: by id, login, unambiguous short login, or Me. An unknown user is an error with
// rest.CodeNotFound.
func FindUser(ctx context.Context, d model.Deps, q docstore.Reader, ref string) (docstore.Doc[model.User], error) {
	name := ref
	if ref == Me {
		name = rest.Caller(ctx).UserID
	}
	doc, err := d.FindUser(ctx, q, name)
	return doc, rest.Missing(err, "User", ref)
}

// FoundUser returns a Find function for requests whose path identifies a user, see FindUser. The function `at` returns the identifier in a
// request, and the field of the request that receives the user.
func FoundUser[Req any](
	d model.Deps, at func(*Req) (ref string, to *docstore.Doc[model.User]),
) func(context.Context, *Req) error {
	get := func(ctx context.Context, q docstore.Reader, ref string) (docstore.Doc[model.User], error) {
		return FindUser(ctx, d, q, ref)
	}
	return lookup.Found(d.Store, get, "User", at)
}
