package model

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/internal/docstore"
)

// maxCollisions is how often a change that met another one is tried again.
const maxCollisions = 10

// Update runs fn in a transaction and returns nil when it is durably committed. fn runs again, in a new transaction, when
// someone else changed a document between its reading and its writing (docstore.ErrConflict) or created the same
// relation; so it reads what it decides on through tx and has no effects outside of it.
func (d Deps) Update(ctx context.Context, fn func(tx *docstore.Tx) error) error {
	for attempt := 1; ; attempt++ {
		err := d.Store.Update(ctx, fn)
		if attempt == maxCollisions || !collision(err) {
			return err
		}
	}
}

func collision(err error) bool {
	unique, ok := errors.AsType[*docstore.UniqueError](err)
	return errors.Is(err, docstore.ErrConflict) || ok && unique.Index == docstore.ID
}
