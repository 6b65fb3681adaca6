// Command sqlite runs the identity provider on SQLite, in a temporary file. The names of the engine's tables start with scimwright_.
package main

import (
	"context"
	"database/sql"
	"log"
	"os"
	"path/filepath"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"

	"example.com/identityprovider/idp"
	"github.com/scimwright/scimwright/engine/jobs"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "idp")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// One writer at a time: transactions take the write lock when they start, and wait for it up to 5s.
	file := filepath.Join(dir, "idp.db")
	db, err := sql.Open("sqlite3", "file:"+file+"?_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate")
	if err != nil {
		return err
	}
	defer db.Close()
	return idp.Demo(ctx, os.Stdout, db, func() (store.Store, jobs.Scheduler, error) {
		st, err := sqlstore.Open(ctx, db, sqlstore.Options{Dialect: sqlstore.SQLite})
		return st, nil, err // the engine runs its jobs with its own scheduler
	})
}
