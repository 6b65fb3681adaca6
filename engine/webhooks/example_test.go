package webhooks_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/webhooks"
	"github.com/scimwright/scimwright/scim"
)

// An identity provider provisions a user, and an endpoint receives the event.
func Example() {
	ctx := context.Background()
	secret := ""
	received := make(chan string)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err := webhooks.Verify(r.Header, body, time.Now(), secret); err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var m webhooks.Message
		_ = json.Unmarshal(body, &m)
		received <- fmt.Sprint(m.Type, " ", m.Data.App, " ", m.Data.Seq, " ", m.Data.ID)
	}))
	defer endpoint.Close()
	target := httptest.NewServer(enginetest.NewTarget())
	defer target.Close()
	path, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(path)
	db, _ := sql.Open("sqlite3", "file:"+filepath.Join(path, "idp.db")+"?_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate")
	defer db.Close()

	var hooks *webhooks.Service
	store, err := sqlstore.Open(ctx, db, sqlstore.Options{
		Dialect: sqlstore.SQLite, Recorded: func(app string) { hooks.Wake(app) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	key, _ := desired.NewKey([]byte("an example key with 32 bytes....")) // encrypts the secrets
	hooks, err = webhooks.Open(ctx, db, webhooks.Options{Dialect: sqlstore.SQLite, Source: store, Seal: key, AllowHTTP: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, secret, _ = hooks.Create(ctx, webhooks.Endpoint{App: "crm", URL: endpoint.URL}, webhooks.CreateOptions{})
	_ = hooks.Start(ctx)
	defer hooks.Stop(ctx)

	directory := &enginetest.Directory{}
	directory.SetTarget("crm", engine.Target{BaseURL: target.URL, CreateUsers: true})
	ann := &scim.Resource{}
	ann.Set("userName", "ann@example.com")
	directory.SetUser("crm", "u-1", engine.UserState{Want: engine.Active, UserName: "ann@example.com", Resource: ann})
	e, _ := provision.New(provision.Options{Store: store, Directory: directory})
	_ = e.Start(ctx)
	defer e.Stop(ctx)
	tx, _ := db.BeginTx(ctx, nil)
	_ = e.Mark(ctx, tx, engine.Mark{App: "crm", Kind: engine.User, ID: "u-1"})
	_ = tx.Commit()
	e.Wake("crm")

	fmt.Println(<-received)
	// Output:
	// user.created crm 1 u-1
}
