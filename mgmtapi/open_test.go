package mgmtapi_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi"
)

// adminToken is the API token of the administrator.
const adminToken = "00tokenOfTheAdministrator"

// optionsOn returns options with a database and no others.
func optionsOn(db *sqldb.DB) (o mgmtapi.Options) {
	o.Logger, o.Limits.Off = slog.New(slog.DiscardHandler), true
	o.DB, o.Readers = db.Writer(), db.Readers()
	o.Dialect = map[sqldb.Dialect]mgmtapi.Dialect{sqldb.SQLite: mgmtapi.SQLite, sqldb.Postgres: mgmtapi.Postgres}[db.Dialect()]
	return o
}

func opened(t *testing.T, o mgmtapi.Options) *mgmtapi.API {
	t.Helper()
	api, err := mgmtapi.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, api.Close()) })
	require.NoError(t, api.Setup(t.Context(), mgmtapi.Setup{Token: adminToken}))
	return api
}

// do sends a request to a handler. With an empty apiToken it sends no credentials.
func do(t *testing.T, h http.Handler, what, apiToken, body string) (int, string) {
	t.Helper()
	method, path, _ := strings.Cut(what, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if apiToken != "" {
		r.Header.Set("Authorization", "SSWS "+apiToken)
	}
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	answer, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return w.Code, string(answer)
}

// create sends a request that creates an object, and returns its id.
func create(t *testing.T, h http.Handler, what, body string) string {
	t.Helper()
	status, answer := do(t, h, what, adminToken, body)
	require.Less(t, status, 300, answer)
	var out struct {
		ID string `json:"id"`
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &out))
	return out.ID
}

const ada = `{"profile":{"login":"ada@example.com","email":"ada@example.com","firstName":"Ada","lastName":"Lovelace"}}`

func TestOpen(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		o := optionsOn(db)
		api := opened(t, o)
		id := create(t, api, "POST /api/v1/users", ada)

		again := opened(t, o) // a second API on the same database
		status, body := do(t, again, "GET /api/v1/users/"+id, adminToken, "")
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, body, "Lovelace")
		status, _ = do(t, again, "GET /sandbox/v1/work", adminToken, "")
		require.Equal(t, http.StatusNotFound, status, "only a sandbox serves /sandbox/v1")
		document, err := api.OpenAPI()
		require.NoError(t, err)
		without, err := mgmtapi.OpenAPI(t.Context(), mgmtapi.Options{})
		require.NoError(t, err)
		require.Equal(t, string(document), string(without), "OpenAPI needs no database")
		require.NotContains(t, string(document), "/sandbox/v1/work")

		require.NoError(t, again.Close())
		require.NoError(t, o.DB.PingContext(t.Context()), "Close leaves the database open")
	})
}

func TestOpen_RejectsOptions(t *testing.T) {
	one, err := sql.Open("sqlite3", "file:"+t.TempDir()+"/one.db?_foreign_keys=on")
	require.NoError(t, err)
	defer one.Close()
	one.SetMaxOpenConns(1)
	updater := (&counting{}).update
	reach := mgmtapi.HookNetwork{Reach: "all"}
	many, err := sql.Open("sqlite3", "file:"+t.TempDir()+"/many.db")
	require.NoError(t, err)
	defer many.Close()
	for _, c := range []struct {
		name   string
		o      mgmtapi.Options
		reason string
	}{
		{"no database", mgmtapi.Options{Dialect: mgmtapi.SQLite}, "Options.DB is required"},
		{"no dialect", mgmtapi.Options{DB: many}, `unknown dialect "": use mgmtapi.SQLite or mgmtapi.Postgres`},
		{"another database", mgmtapi.Options{DB: many, Dialect: mgmtapi.Postgres}, "the database is SQLite, the options say PostgreSQL"},
		{"one connection", mgmtapi.Options{DB: one, Dialect: mgmtapi.SQLite}, "has only one connection"},
		{"no foreign keys", mgmtapi.Options{DB: many, Dialect: mgmtapi.SQLite}, "do not enforce foreign keys"},
		{"a short key", mgmtapi.Options{DB: many, Dialect: mgmtapi.SQLite, Secrets: []byte("short")},
			"Options.Secrets: seal: the key has 5 bytes, want 32"},
		{"a base URL without a scheme", mgmtapi.Options{DB: many, Dialect: mgmtapi.SQLite, BaseURL: "id.example.com"},
			`mgmtapi: Options.BaseURL "id.example.com" is not a base URL: use one such as https://id.example.com`},
		{"a base URL with a query", mgmtapi.Options{DB: many, Dialect: mgmtapi.SQLite, BaseURL: "https://id.example.com?a=b"}, "Options.BaseURL"},
		{"an alias without a scheme", mgmtapi.Options{
			DB: many, Dialect: mgmtapi.SQLite, BaseURL: "https://id.example.com", Aliases: []string{"http://a.example", "localhost:80"},
		}, `Options.Aliases[1] "localhost:80"`},
		{"a custom domain without a scheme", mgmtapi.Options{
			DB: many, Dialect: mgmtapi.SQLite, BaseURL: "https://id.example.com", CustomDomain: "login.example.com",
		}, `Options.CustomDomain "login.example.com"`},
		{"an unknown reach", mgmtapi.Options{DB: many, Dialect: mgmtapi.SQLite, Hooks: reach}, `unknown Hooks.Reach "all"`},
		{"an updater for PostgreSQL", mgmtapi.Options{DB: many, Dialect: mgmtapi.Postgres, Updater: updater},
			"Options.Updater requires the dialect SQLite"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := mgmtapi.Open(t.Context(), c.o)
			require.ErrorContains(t, err, c.reason)
		})
	}
}

// counting is an Updater that counts transactions.
type counting struct {
	db *sqldb.DB
	n  atomic.Int32
}

func (c *counting) update(ctx context.Context, fn func(tx mgmtapi.Tx) error) error {
	c.n.Add(1)
	return c.db.Update(ctx, func(tx *sqldb.Tx) error { return fn(tx.Execer()) })
}

func TestOpen_Updater(t *testing.T) {
	o, c := optionsOn(sqldbtest.SQLite(t)), &counting{}
	c.db, _ = sqldb.New(sqldb.Options{Dialect: sqldb.SQLite, Writer: o.DB, Readers: o.Readers, Borrowed: true, GroupCommit: true})
	defer c.db.Close()
	o.Updater = c.update
	api := opened(t, o)
	before := c.n.Load()
	create(t, api, "POST /api/v1/users", ada)
	require.Greater(t, c.n.Load(), before, "the updater runs the write transactions")
	status, body := do(t, api, "POST /api/v1/users", adminToken, ada)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "login", "the API recognizes the violated unique index")
}

func TestAuthorize(t *testing.T) {
	api := opened(t, optionsOn(sqldbtest.SQLite(t)))
	var caller mgmtapi.Caller
	own := api.Authorize("host.manage", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := mgmtapi.CallerOf(r.Context())
		require.True(t, ok)
		caller = c
		w.WriteHeader(http.StatusTeapot)
	}))
	for _, c := range []struct {
		name, token string
		status      int
		code        string
	}{
		{"the administrator", adminToken, http.StatusTeapot, ""},
		{"no credentials", "", http.StatusForbidden, "E0000005"},
		{"an unknown token", "00unknown", http.StatusUnauthorized, "E0000011"},
	} {
		t.Run(c.name, func(t *testing.T) {
			caller = mgmtapi.Caller{}
			status, body := do(t, own, "GET /host", c.token, "")
			require.Equal(t, c.status, status)
			require.Contains(t, body, c.code)
			require.Equal(t, c.code == "", caller.Login == mgmtapi.DefaultLogin)
		})
	}
	_, ok := mgmtapi.CallerOf(t.Context())
	require.False(t, ok)
}

// yes is a ConnectionTester that accepts every connection and sends its endpoint to asked.
type yes struct{ asked chan mgmtapi.Endpoint }

func (y yes) TestConnection(_ context.Context, e mgmtapi.Endpoint) error {
	y.asked <- e
	return nil
}

// TestWanted verifies that the function that an embedder passes to Changes can write to a table of the embedder, in the transaction that
// removes the events, and that the embedder can report a result.
func TestWanted(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		o, y := optionsOn(db), yes{make(chan mgmtapi.Endpoint, 1)}
		o.Connections = y
		api, ctx := opened(t, o), t.Context()
		_, err := o.DB.ExecContext(ctx, "CREATE TABLE plan (id TEXT)")
		require.NoError(t, err)
		wanted, notified := api.Wanted(), make(chan struct{}, 100)
		wanted.Notify(func() { notified <- struct{}{} })

		user := create(t, api, "POST /api/v1/users", ada)
		app := create(t, api, "POST /api/v1/apps", `{"name":"scim2_test_app","label":"CRM"}`)
		connection := `{"baseUrl":"https://scim.example.com","profile":{"token":"secret"}}`
		create(t, api, "POST /api/v1/apps/"+app+"/connections/default?activate=true", connection)
		e := <-y.asked
		require.Equal(t, mgmtapi.Endpoint{
			App: app, BaseURL: "https://scim.example.com", Credentials: mgmtapi.Credentials{Header: mgmtapi.HeaderBearer, Secret: "secret"},
		}, e)
		create(t, api, "PUT /api/v1/apps/"+app+"/features/USER_PROVISIONING", `{"create":{"lifecycleCreate":{"status":"ENABLED"}}}`)
		create(t, api, "POST /api/v1/apps/"+app+"/users", `{"id":"`+user+`"}`)
		require.NotEmpty(t, notified)

		count := func() (n int) {
			require.NoError(t, o.DB.QueryRowContext(ctx, "SELECT COUNT(*) FROM plan").Scan(&n))
			return n
		}
		principal := mgmtapi.Principal{App: app, Kind: mgmtapi.User, ID: user}
		var taken []mgmtapi.Change
		write := func(end error) func(context.Context, mgmtapi.Tx, []mgmtapi.Change) error {
			return func(ctx context.Context, tx mgmtapi.Tx, changes []mgmtapi.Change) error {
				taken = changes
				if _, err := tx.ExecContext(ctx, "INSERT INTO plan (id) VALUES (?)", changes[0].App); err != nil {
					return err
				}
				return end
			}
		}
		waiting, err := wanted.Waiting(ctx)
		require.NoError(t, err)
		require.Positive(t, waiting)
		broken := errors.New("broken")
		_, err = wanted.Changes(ctx, 100, write(broken))
		require.ErrorIs(t, err, broken)
		require.Zero(t, count(), "if fn fails, its writes are rolled back")
		left, err := wanted.Waiting(ctx)
		require.NoError(t, err)
		require.Equal(t, waiting, left)
		n, err := wanted.Changes(ctx, 100, write(nil))
		require.NoError(t, err)
		require.Equal(t, waiting, n)
		require.Equal(t, 1, count())
		require.Contains(t, taken, mgmtapi.Change{Principal: principal})
		require.Contains(t, taken, mgmtapi.Change{Principal: mgmtapi.Principal{App: app}}, "the application itself")
		n, err = wanted.Changes(ctx, 100, write(nil))
		require.NoError(t, err)
		require.Zero(t, n)

		target, err := wanted.Target(ctx, app)
		require.NoError(t, err)
		require.True(t, target.CreateUsers)
		require.Equal(t, "secret", target.Secret)
		require.NotContains(t, target.String(), "secret")
		_, err = wanted.Target(ctx, "none")
		require.ErrorIs(t, err, mgmtapi.ErrNoTarget)
		state, err := wanted.User(ctx, app, user)
		require.NoError(t, err)
		require.Equal(t, mgmtapi.Active, state.Want)
		require.Equal(t, "ada@example.com", state.UserName)
		account := func() mgmtapi.Account {
			all, err := wanted.Accounts(ctx, []mgmtapi.Principal{principal, {App: app, Kind: mgmtapi.Group, ID: "none"}})
			require.NoError(t, err)
			require.Len(t, all, 1)
			return all[principal]
		}
		require.Equal(t, mgmtapi.Account{Principal: principal, Waiting: true}, account())
		for _, c := range []struct {
			result mgmtapi.Result
			want   mgmtapi.Account
		}{
			{mgmtapi.Result{Outcome: mgmtapi.Failed, Error: "no"}, mgmtapi.Account{Principal: principal, Failed: true}},
			{
				mgmtapi.Result{Outcome: mgmtapi.Done, RemoteID: "r1", Operation: mgmtapi.Created},
				mgmtapi.Account{Principal: principal, RemoteID: "r1"},
			},
		} {
			c.result.Principal, c.result.Want = principal, mgmtapi.Active
			require.NoError(t, wanted.Report(ctx, c.result))
			require.Equal(t, c.want, account())
		}
		names, err := wanted.Names(ctx, mgmtapi.User, []string{user, "none"})
		require.NoError(t, err)
		require.Equal(t, map[string]string{user: "ada@example.com"}, names)
		_, err = wanted.App(ctx, "none")
		require.ErrorIs(t, err, mgmtapi.ErrNotFound)
		shown, err := wanted.App(ctx, app)
		require.NoError(t, err)
		require.Equal(t, mgmtapi.App{
			ID: app, Label: "CRM", Name: shown.Name, Status: mgmtapi.AppActive, Connected: true, BaseURL: "https://scim.example.com",
			Style: shown.Style, Fallback: mgmtapi.FallbackNone,
		}, shown)
	})
}

// TestReset_Rollback checks that an error of the callback rolls back the whole reset.
func TestReset_Rollback(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		api := opened(t, optionsOn(db))
		id := create(t, api, "POST /api/v1/users", ada)
		broken := errors.New("broken")
		setup := mgmtapi.Setup{Token: adminToken}
		err := api.Reset(t.Context(), setup, func(context.Context, mgmtapi.Tx, []string) error { return broken })
		require.ErrorIs(t, err, broken)
		status, _ := do(t, api, "GET /api/v1/users/"+id, adminToken, "")
		require.Equal(t, http.StatusOK, status)
		require.NoError(t, api.Reset(t.Context(), setup, nil))
		status, _ = do(t, api, "GET /api/v1/users/"+id, adminToken, "")
		require.Equal(t, http.StatusNotFound, status)
	})
}
