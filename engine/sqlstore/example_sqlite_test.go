package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
)

// shop is a program on SQLite that provisions its users. Its table plan does not conflict with the engine's.
type shop struct {
	db     *sql.DB
	engine *provision.Engine
}

const shopTables = `
CREATE TABLE IF NOT EXISTS plan (id TEXT PRIMARY KEY, price INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS subscription (person TEXT PRIMARY KEY, plan TEXT NOT NULL)`

// openShop opens the database and the engine in it. The parameters are those of mattn/go-sqlite3: readers do not wait for the writer, a
// writer waits for another one, and a transaction takes the lock of the writer when it starts.
func openShop(ctx context.Context, path string, directory engine.Directory) (*shop, error) {
	db, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, shopTables); err != nil {
		return nil, err
	}
	store, err := sqlstore.Open(ctx, db, sqlstore.Options{Dialect: sqlstore.SQLite})
	if err != nil {
		return nil, err
	}
	e, err := provision.New(provision.Options{Store: store, Directory: directory})
	return &shop{db: db, engine: e}, err
}

// subscribe stores a subscription. The transaction commits the mark and the subscription together.
func (s *shop) subscribe(ctx context.Context, person, plan string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after the commit there is nothing to roll back
	if _, err := tx.ExecContext(ctx, `INSERT INTO subscription (person, plan) VALUES (?, ?)`, person, plan); err != nil {
		return err
	}
	if err := s.engine.Mark(ctx, tx, engine.Mark{App: "crm", Kind: engine.User, ID: person}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	s.engine.Wake("crm")
	return nil
}

func ExampleOpen_sqlite() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := openShop(ctx, filepath.Join(dir, "shop.db"), &enginetest.Directory{}) // a program has its own Directory
	if err != nil {
		log.Fatal(err)
	}
	defer s.db.Close()
	if err := s.subscribe(ctx, "ann", "gold"); err != nil {
		log.Fatal(err)
	}
	pending, err := s.engine.Apps().Pending(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pending, "user to provision; provision.Engine.Start begins")
	// Output: 1 user to provision; provision.Engine.Start begins
}
