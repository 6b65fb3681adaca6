// Command postgres runs the identity provider on PostgreSQL: its tables are in the schema public, those of the engine in a separate schema.
// DATABASE_URL names an empty database, such as postgres://user:password@localhost/idp.
package main

import (
	"context"
	"database/sql"
	"log"
	"os"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"example.com/identityprovider/idp"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
)

func main() {
	ctx := context.Background()
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	err = idp.Demo(ctx, os.Stdout, db, func() (store.Store, error) {
		return sqlstore.Open(ctx, db, sqlstore.Options{Dialect: sqlstore.Postgres, Schema: "scimwright"})
	})
	if err != nil {
		log.Fatal(err)
	}
}
