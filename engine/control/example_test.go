package control_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	_ "github.com/mattn/go-sqlite3"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/scim"
)

// An identity provider mounts the API on its own mux, behind its own authorization. A console calls it.
func Example() {
	ctx := context.Background()
	target := httptest.NewServer(enginetest.NewTarget())
	defer target.Close()
	path, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(path)
	db, _ := sql.Open("sqlite3", "file:"+filepath.Join(path, "idp.db")+"?_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate")
	defer db.Close()
	store, err := sqlstore.Open(ctx, db, sqlstore.Options{Dialect: sqlstore.SQLite})
	if err != nil {
		fmt.Println(err)
		return
	}
	directory := &enginetest.Directory{}
	directory.SetTarget("crm", engine.Target{BaseURL: target.URL, CreateUsers: true, UpdateUsers: true})
	e, _ := provision.New(provision.Options{Store: store, Directory: directory})
	_ = e.Start(ctx)
	defer e.Stop(ctx)

	// The middleware of the identity provider. Here it checks a fixed token.
	operators := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer secret" {
				http.Error(w, "operators only", http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	api, err := control.New(control.Options{Engine: e, Directory: directory, Update: control.InTx(db), Authorize: operators})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/engine/v1/", api)
	idp := httptest.NewServer(mux)
	defer idp.Close()

	ann := &scim.Resource{}
	ann.Set("userName", "ann@example.com")
	directory.SetUser("crm", "u-1", engine.UserState{Want: engine.Active, UserName: "ann@example.com", Resource: ann})
	tx, _ := db.BeginTx(ctx, nil)
	_ = e.Mark(ctx, tx, engine.Mark{App: "crm", Kind: engine.User, ID: "u-1"})
	_ = tx.Commit()
	e.Wake("crm")

	c := client.New(idp.URL+"/engine/v1", "secret")
	app, err := c.Wait(ctx, "crm", client.WaitOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(app.Lane.State, app.Counts)
	proof, _ := c.Verify(ctx, "crm", engine.Principal{Kind: engine.User, ID: "u-1"})
	fmt.Println(proof.Assigned, proof.Converged)
	_, err = client.New(idp.URL+"/engine/v1", "guess").Apps(ctx)
	fmt.Println(err)
	// Output:
	// running map[clean:1]
	// true true
	// GET /engine/v1/engine/apps: status 403, but the response is not from the API: operators only
}
