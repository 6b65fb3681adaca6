package model

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/internal/docstore"
)

// FindUser returns the user with an id, a login, or a short login (the part before its @) that only one user has. It returns
// docstore.ErrNotFound if no user matches.
func (d Deps) FindUser(ctx context.Context, q docstore.Reader, ref string) (docstore.Doc[User], error) {
	doc, err := d.Users.Get(ctx, q, ref)
	if !errors.Is(err, docstore.ErrNotFound) {
		return doc, err
	}
	for _, index := range []string{UserByLogin, UserByShort} {
		page, err := d.Users.Query(ctx, q, docstore.Query[User]{Where: docstore.Eq(index, LoginKey(ref)), Limit: 2})
		if err != nil {
			return docstore.Doc[User]{}, err
		}
		if len(page.Docs) == 1 {
			return page.Docs[0], nil
		}
	}
	return docstore.Doc[User]{}, err
}
