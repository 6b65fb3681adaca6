package sqlstore_test

import (
	"context"
	"database/sql"
	"log"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
)

// provider is an identity provider on PostgreSQL. It has a table plan. The engine's table of that name is scimwright.plan.
type provider struct {
	db     *sql.DB
	engine *provision.Engine
}

const providerTables = `
CREATE TABLE IF NOT EXISTS plan (id TEXT PRIMARY KEY, price INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS assignment (app TEXT NOT NULL, person TEXT NOT NULL, PRIMARY KEY (app, person))`

// openProvider opens the database and the engine in it. The engine's tables are in a schema, which Open creates.
func openProvider(ctx context.Context, url string, directory engine.Directory) (*provider, error) {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, providerTables); err != nil {
		return nil, err
	}
	store, err := sqlstore.Open(ctx, db, sqlstore.Options{Dialect: sqlstore.Postgres, Schema: "scimwright"})
	if err != nil {
		return nil, err
	}
	e, err := provision.New(provision.Options{Store: store, Directory: directory})
	return &provider{db: db, engine: e}, err
}

// assign gives a person access to an application. The transaction commits the mark and the assignment together.
func (p *provider) assign(ctx context.Context, app, person string) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after the commit there is nothing to roll back
	if _, err := tx.ExecContext(ctx, `INSERT INTO assignment (app, person) VALUES ($1, $2)`, app, person); err != nil {
		return err
	}
	if err := p.engine.Mark(ctx, tx, engine.Mark{App: app, Kind: engine.User, ID: person}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	p.engine.Wake(app)
	return nil
}

func ExampleOpen_postgres() {
	ctx := context.Background()
	p, err := openProvider(ctx, "postgres://idp:secret@db.example.com/idp", &enginetest.Directory{}) // a program has its own Directory
	if err != nil {
		log.Fatal(err)
	}
	defer p.db.Close()
	if err := p.engine.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer p.engine.Stop(context.Background()) // with a new context: Stop waits without a time limit for running sequences
	if err := p.assign(ctx, "crm", "ann"); err != nil {
		log.Fatal(err)
	}
}
