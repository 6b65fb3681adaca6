package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"

	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/sqlstore"
)

// openNotes opens the database of an application on SQLite and serves its users and groups. The parameters are those of mattn/go-sqlite3.
func openNotes(ctx context.Context, path string) (*sql.DB, http.Handler, error) {
	db, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate&_foreign_keys=on")
	if err != nil {
		return nil, nil, err
	}
	if _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS users (id TEXT PRIMARY KEY, note TEXT NOT NULL)`); err != nil {
		return nil, nil, err
	}
	store, err := sqlstore.Open(ctx, db, sqlstore.Options{Dialect: sqlstore.SQLite})
	if err != nil {
		return nil, nil, err
	}
	handler, err := scimserver.New(scimserver.Options{Store: store, Tokens: scimserver.StaticTokens("s3cret"), Prefix: "/scim/v2"})
	return db, handler, err
}

func ExampleOpen_sqlite() {
	dir, err := os.MkdirTemp("", "notes")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, handler, err := openNotes(context.Background(), filepath.Join(dir, "notes.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	server := httptest.NewServer(handler)
	defer server.Close()
	body := `{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":"ann"}`
	req, err := http.NewRequest(http.MethodPost, server.URL+"/scim/v2/Users", strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/scim+json")
	req.Header.Set("Authorization", "Bearer s3cret")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer res.Body.Close()
	fmt.Println(res.Status)
	// Output: 201 Created
}
