package desiredapi_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/mattn/go-sqlite3"

	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/desired/desiredapi"
	"github.com/scimwright/scimwright/engine/enginetest"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
)

// A program serves the desired state to an identity provider in another language, which creates an app and uploads two users.
func Example() {
	ctx := context.Background()
	target := httptest.NewServer(enginetest.NewTarget()) // the application
	defer target.Close()
	path, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(path)
	db, _ := sql.Open("sqlite3", "file:"+filepath.Join(path, "idp.db")+"?_journal_mode=WAL&_busy_timeout=5000&_txlock=immediate")
	defer db.Close()
	directory, err := desired.Open(ctx, db, desired.Options{Dialect: sqlstore.SQLite})
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

	api, err := desiredapi.New(desiredapi.Options{Store: directory, Authorize: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer secret" {
				http.Error(w, "the identity provider only", http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
		})
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(api)
	defer server.Close()

	send := func(method, path, media, body string) {
		req, _ := http.NewRequestWithContext(ctx, method, server.URL+"/engine/v1"+path, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer secret")
		req.Header.Set("Content-Type", media)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		fmt.Print(res.StatusCode, " ", string(text))
	}
	send("PUT", "/apps/crm", "application/json", `{"version":1,"target":{"baseUrl":"`+target.URL+`","createUsers":true,"updateUsers":true}}`)
	send("POST", "/apps/crm/batch", "application/x-ndjson", `
{"op":"putUser","id":"u-1","version":1,"want":"active","resource":{"userName":"ann"}}
{"op":"putUser","id":"u-2","version":1,"want":"active","resource":{"userName":"bob"}}
`)
	_ = e.Wait(ctx, "crm")
	counts, _ := e.Apps().Counts(ctx, "crm")
	fmt.Println(counts)
	// Output:
	// 200 {"id":"crm","version":1,"changed":true}
	// 200 {"lines":2,"applied":2,"unchanged":0,"stale":0,"failed":0,"staleLines":[],"failedLines":[]}
	// map[clean:2]
}
