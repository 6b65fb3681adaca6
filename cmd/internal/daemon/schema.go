package daemon

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// steps are the steps of the schema. New ones are only appended.
var steps = []string{`
CREATE TABLE {daemon_token} (
	id        KEY PRIMARY KEY,
	tenant    KEY NOT NULL,
	name      TEXT NOT NULL,
	digest    KEY NOT NULL,                -- SHA-256 of the token, in hexadecimal
	scopes    TEXT NOT NULL,               -- separated by spaces
	created   BIGINT NOT NULL,             -- times are milliseconds since 1970
	expires   BIGINT NOT NULL,             -- 0: never
	last_used BIGINT NOT NULL              -- 0: never; accurate to a minute
);
CREATE UNIQUE INDEX {.daemon_token_digest} ON {daemon_token} (digest);
CREATE INDEX {.daemon_token_tenant} ON {daemon_token} (tenant, id);

CREATE TABLE {daemon_audit} (
	seq       BIGINT PRIMARY KEY,
	at        BIGINT NOT NULL,
	tenant    KEY NOT NULL,
	caller    KEY NOT NULL,                -- id of the token
	name      TEXT NOT NULL,               -- of the token
	operation KEY NOT NULL,
	object    TEXT NOT NULL,               -- path below the prefix of the API
	request   KEY NOT NULL,                -- id of the request
	status    BIGINT NOT NULL              -- of the response, 0 until it is known
);
CREATE INDEX {.daemon_audit_tenant} ON {daemon_audit} (tenant, seq);
CREATE INDEX {.daemon_audit_at} ON {daemon_audit} (at);`, `
CREATE TABLE {daemon_key} (                -- the keys that may have encrypted secrets
	id      KEY PRIMARY KEY,               -- random
	sealed  TEXT NOT NULL,                 -- a text that the key has encrypted
	created BIGINT NOT NULL
);`,
}

// database is the database of a daemon: the tables of the daemon and, with the same prefix, those of the engine.
type database struct {
	*sqldb.DB
	named *sqldb.DB // with the prefix of the tables
}

func openTables(ctx context.Context, db *sqldb.DB) (*database, error) {
	pool := db.Writer()
	if db.Dialect() == sqldb.SQLite {
		pool = db.Readers()
	}
	named, err := sqldb.Embed(ctx, pool, db.Dialect().String(), "", "")
	if err != nil {
		return nil, fmt.Errorf("open the tables of the daemon: %w", err)
	}
	d := &database{DB: db, named: named}
	err = d.update(ctx, func(tx *sqldb.Tx) error {
		return tx.Upgrade(ctx, sqldb.Steps{Name: "daemon", Texts: steps, First: "daemon_token"})
	})
	if err != nil {
		return nil, fmt.Errorf("open the tables of the daemon: %w", err)
	}
	return d, nil
}

// transact runs fn in a transaction for a component of the engine. On SQLite, it may be committed together with other transactions.
func (d *database) transact(ctx context.Context, fn func(tx engine.Execer) error) error {
	return d.Update(ctx, func(tx *sqldb.Tx) error { return fn(tx.Execer()) })
}

// update runs fn in a transaction whose statements name tables in braces.
func (d *database) update(ctx context.Context, fn func(tx *sqldb.Tx) error) error {
	return d.transact(ctx, func(tx engine.Execer) error {
		t := d.named.Wrap(tx)
		if err := fn(t); err != nil {
			return err
		}
		return t.Err()
	})
}

// reader runs queries that name tables in braces.
func (d *database) reader() sqldb.Queryer { return d.named.Reader() }

// dialect returns the dialect for packages of the engine.
func (d *database) dialect() sqlstore.Dialect { return sqlstore.Dialect(d.Dialect().String()) }
