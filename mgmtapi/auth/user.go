package auth

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/model"
)

// Me is how callers name themselves in paths.
const Me = "me"

// FindUser returns the user that a path names: by id, login, unambiguous short login, or Me. A missing user is answered
// with rest.CodeNotFound.
func FindUser(ctx context.Context, d model.Deps, q docstore.Reader, ref string) (docstore.Doc[model.User], error) {
	name := ref
	if ref == Me {
		name = rest.Caller(ctx).UserID
	}
	doc, err := d.FindUser(ctx, q, name)
	return doc, rest.Missing(err, "User", ref)
}
