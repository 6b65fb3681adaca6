// Command postgres runs the identity provider on PostgreSQL: its tables are in the schema public, those of the engine in a separate schema,
// and those of the engine's jobs, which River runs, in a third one. DATABASE_URL names an empty database, such as
// postgres://user:password@localhost/idp.
package main

import (
	"context"
	"database/sql"
	"log"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"example.com/identityprovider/idp"
	"github.com/scimwright/scimwright/engine/jobs"
	"github.com/scimwright/scimwright/engine/jobs/riverjobs"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer db.Close()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL")) // River needs a pool of its own
	if err != nil {
		return err
	}
	defer pool.Close()
	return idp.Demo(ctx, os.Stdout, db, func() (store.Store, jobs.Scheduler, error) {
		st, err := sqlstore.Open(ctx, db, sqlstore.Options{Dialect: sqlstore.Postgres, Schema: "scimwright"})
		if err != nil {
			return nil, nil, err
		}
		scheduler, err := riverjobs.Open(ctx, pool, riverjobs.Options{})
		return st, scheduler, err
	})
}
