package callers

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/lookup"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Me refers to the calling user in paths.
const Me = "me"

// FindUser returns the user in a path: by id, login, unambiguous short login, or Me. An unknown user is an error with rest.CodeNotFound.
func FindUser(ctx context.Context, d model.Deps, q docstore.Reader, ref string) (docstore.Doc[model.User], error) {
	name := ref
	if ref == Me {
		name = rest.Caller(ctx).UserID
	}
	doc, err := d.FindUser(ctx, q, name)
	return doc, rest.Missing(err, "User", ref)
}

// FoundUser returns a Find function for requests about the user in their path, see FindUser. at returns the name in a request and the field
// that receives the user.
func FoundUser[Req any](
	d model.Deps, at func(*Req) (ref string, to *docstore.Doc[model.User]),
) func(context.Context, *Req) error {
	get := func(ctx context.Context, q docstore.Reader, ref string) (docstore.Doc[model.User], error) {
		return FindUser(ctx, d, q, ref)
	}
	return lookup.Found(d.Store, get, "User", at)
}
