package mgmtapi_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	_ "github.com/mattn/go-sqlite3"    // driver "sqlite3"

	"github.com/scimwright/scimwright/mgmtapi"
)

// The API on SQLite. The driver is imported as
//
//	import _ "github.com/mattn/go-sqlite3"
func ExampleOpen_sqlite() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "mgmtapi-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "id.db")
	db, err := sql.Open("sqlite3", "file:"+file+"?_journal_mode=WAL&_busy_timeout=5000&_foreign_keys=on")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	api, err := mgmtapi.Open(ctx, mgmtapi.Options{DB: db, Dialect: mgmtapi.SQLite})
	if err != nil {
		log.Fatal(err)
	}
	defer api.Close()
	token := "00" + rand.Text()
	if err := api.Setup(ctx, mgmtapi.Setup{Token: token}); err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(api)
	defer server.Close()

	send := func(method, path, body string) *http.Response {
		r, err := http.NewRequestWithContext(ctx, method, server.URL+path, strings.NewReader(body))
		if err != nil {
			log.Fatal(err)
		}
		r.Header.Set("Authorization", "SSWS "+token)
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			log.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	user := `{"profile":{"login":"ada@example.com","email":"ada@example.com","firstName":"Ada","lastName":"Lovelace"}}`
	fmt.Println("create:", send("POST", "/api/v1/users", user).Status)
	fmt.Println("read:", send("GET", "/api/v1/users/ada@example.com", "").Status)
	// Output:
	// create: 200 OK
	// read: 200 OK
}

// The API on PostgreSQL, with its background work, and with changes stored in a table of the embedder. The driver is imported as
//
//	import _ "github.com/jackc/pgx/v5/stdlib"
func ExampleOpen_postgres() {
	ctx := context.Background()
	db, err := sql.Open("pgx", "postgres://localhost/identity")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	// store this key outside of the database: the secrets in the database can only be decrypted with the key
	key := make([]byte, mgmtapi.SecretSize)
	if _, err := rand.Read(key); err != nil {
		log.Fatal(err)
	}

	api, err := mgmtapi.Open(ctx, mgmtapi.Options{
		DB: db, Dialect: mgmtapi.Postgres, Secrets: key, BaseURL: "https://id.example.com",
	})
	if err != nil {
		log.Fatal(err)
	}
	defer api.Close()
	if err := api.Setup(ctx, mgmtapi.Setup{Token: "00" + rand.Text()}); err != nil {
		log.Fatal(err)
	}
	go api.Run(ctx) // Run returns when ctx ends

	_, err = api.Wanted().Changes(ctx, 100, func(ctx context.Context, tx mgmtapi.Tx, changes []mgmtapi.Change) error {
		for _, c := range changes {
			if _, err := tx.ExecContext(ctx, "INSERT INTO to_do (app, kind, id) VALUES ($1, $2, $3)", c.App, c.Kind, c.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}

	mux := http.NewServeMux()
	mux.Handle("/", api)
	mux.Handle("/admin/", api.Authorize("id.admin", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, _ := mgmtapi.CallerOf(r.Context())
		fmt.Fprintln(w, "hello", caller.Login)
	})))
	log.Fatal(http.ListenAndServe("localhost:8080", mux)) //nolint:gosec // an example
}
