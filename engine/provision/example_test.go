package provision_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"

	_ "github.com/mattn/go-sqlite3"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/scim"
)

// An identity provider embeds the engine: it opens its database, returns the desired state of users (here from memory), and marks a user in
// the transaction that changes it.
func Example() {
	ctx := context.Background()
	server := httptest.NewServer(enginetest.NewTarget()) // the application
	defer server.Close()
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
	directory.SetTarget("crm", engine.Target{BaseURL: server.URL, CreateUsers: true, UpdateUsers: true, DeactivateUsers: true})
	e, _ := provision.New(provision.Options{Store: store, Directory: directory})
	_ = e.Start(ctx)
	defer e.Stop(ctx)

	ann := &scim.Resource{}
	ann.Set("userName", "ann@example.com")
	ann.Set("externalId", "u-1")
	directory.SetUser("crm", "u-1", engine.UserState{Want: engine.Active, UserName: "ann@example.com", Resource: ann})

	tx, _ := db.BeginTx(ctx, nil) // the transaction that assigns the user
	_ = e.Mark(ctx, tx, engine.Mark{App: "crm", Kind: engine.User, ID: "u-1"})
	_ = tx.Commit()
	e.Wake("crm")

	_ = e.Wait(ctx, "crm")
	state, _ := e.State(ctx, "crm", engine.User, "u-1")
	fmt.Println(state.Status, state.LastOperation, state.RemoteID)
	// Output: clean create u1
}
