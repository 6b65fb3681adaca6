package sqlstore_test

import (
	"context"
	"database/sql"
	"log"
	"net/http"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/sqlstore"
)

// openService opens the database of an application on PostgreSQL and serves its users and groups. Open creates the schema for the tables.
func openService(ctx context.Context, url string) (*sql.DB, http.Handler, error) {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return nil, nil, err
	}
	store, err := sqlstore.Open(ctx, db, sqlstore.Options{Dialect: sqlstore.Postgres, Schema: "scim"})
	if err != nil {
		return nil, nil, err
	}
	handler, err := scimserver.New(scimserver.Options{Store: store, Tokens: scimserver.StaticTokens("s3cret"), Prefix: "/scim/v2"})
	return db, handler, err
}

func ExampleOpen_postgres() {
	db, handler, err := openService(context.Background(), "postgres://app:secret@db.example.com/app")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	http.Handle("/scim/v2/", handler)
	log.Fatal(http.ListenAndServe("localhost:8080", nil))
}
