package desired_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"

	_ "github.com/mattn/go-sqlite3"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/scim"
)

// A program without a directory of its own stores the desired state of a user, which the engine provisions. A late message of an earlier
// version has no effect.
func Example() {
	ctx := context.Background()
	target := httptest.NewServer(enginetest.NewTarget()) // the application
	defer target.Close()
	path, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(path)
	db, _ := sql.Open("sqlite3", "file:"+filepath.Join(path, "idp.db")+"?_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate")
	defer db.Close()

	key, _ := desired.NewKey([]byte("an example key with 32 bytes....")) // encrypts credentials and passwords
	directory, err := desired.Open(ctx, db, desired.Options{Dialect: sqlstore.SQLite, Seal: key})
	if err != nil {
		fmt.Println(err)
		return
	}
	store, err := sqlstore.Open(ctx, db, sqlstore.Options{Dialect: sqlstore.SQLite})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, _ := provision.New(provision.Options{Store: store, Directory: directory})
	directory.Attach(e)
	_ = e.Start(ctx)
	defer e.Stop(ctx)

	_, _ = directory.PutApp(ctx, desired.App{ID: "crm", Version: 1, Target: engine.Target{
		BaseURL: target.URL, Auth: engine.Auth{Secret: "token"}, CreateUsers: true, UpdateUsers: true, DeactivateUsers: true,
	}})
	ann := &scim.Resource{}
	ann.Set("userName", "ann@example.com")
	ann.Set("externalId", "u-1")
	result, _ := directory.PutUser(ctx, "crm", desired.User{ID: "u-1", Version: 2, Want: engine.Active, Resource: ann})
	fmt.Println(result)
	_, err = directory.PutUser(ctx, "crm", desired.User{ID: "u-1", Version: 1, Want: engine.Inactive})
	fmt.Println(err)

	_ = e.Wait(ctx, "crm")
	state, _ := e.State(ctx, "crm", engine.User, "u-1")
	fmt.Println(state.Status, state.LastOperation, state.RemoteID)
	// Output:
	// applied
	// desired: the version is older than the stored version 2
	// clean create u1
}
