package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// scimSettings are the stored settings of the SCIM server alone.
type scimSettings struct {
	// CursorKey encrypts cursors. It is not encrypted: a program that can read it can also read the resources, and a cursor grants no access.
	CursorKey []byte `json:"cursorKey"`
}

// scimCursorKey returns the key of the cursors, which is created at the first start on a database. Cursors are therefore valid on all
// replicas and after a restart.
func scimCursorKey(ctx context.Context, db *sqldb.DB) (key []byte, err error) {
	stored := docstore.NewCollection[scimSettings]("scim_settings")
	store, err := docstore.Open(ctx, db, time.Now, stored)
	if err != nil {
		return nil, err
	}
	err = store.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := stored.Get(ctx, tx, settingsID)
		if errors.Is(err, docstore.ErrNotFound) {
			doc, err = stored.Insert(ctx, tx, settingsID, scimSettings{CursorKey: []byte(rand.Text() + rand.Text())})
		}
		key = doc.Value.CursorKey
		return err
	})
	return key, err
}

// join makes the server one of the replicas on its database. On SQLite it does nothing and returns nil.
func (s *SCIMServer) join(ctx context.Context, db *sqldb.DB, address string, log *slog.Logger) (*replicas, error) {
	if db.Dialect() != sqldb.Postgres {
		return nil, nil
	}
	r := &replicas{db: db, kind: "scim", log: log, address: address}
	if err := r.join(ctx, func(context.Context, *sqldb.Tx) error { return nil }); err != nil {
		return nil, err
	}
	s.OnClose(r.start(ctx))
	return r, nil
}
