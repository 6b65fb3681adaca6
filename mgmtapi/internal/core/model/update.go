package model

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/internal/docstore"
)

// maxCollisions is the maximum number of attempts of a change that conflicts with other changes.
const maxCollisions = 10

// Update runs fn in a transaction and returns nil once it is durably committed. fn runs again, in a new transaction, if another transaction
// changed a document between its read and its write (docstore.ErrConflict) or created the same relation. fn must therefore read through tx
// everything that its decisions depend on, and have no effects outside of tx.
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
