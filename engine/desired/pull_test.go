package desired_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// whsec are secrets of an endpoint.
const (
	whsec      = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	otherWhsec = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)

// newEndpoint starts an endpoint with the user u-1, who is in the group g-1, of the app crm. Other paths return 404.
func newEndpoint(t testing.TB) (url string) {
	t.Helper()
	responses := map[string]string{
		"/user":       `{"app":"crm","id":"u-1","state":"active","resource":{"userName":"ann","nickName":"annie"}}`,
		"/group":      `{"app":"crm","id":"g-1","state":"active","displayName":"Sales"}`,
		"/members":    `{"app":"crm","id":"g-1","members":["u-1"],"more":false,"total":1}`,
		"/is-member":  `{"app":"crm","id":"g-1","members":{"u-1":true,"u-2":false}}`,
		"/principals": `{"app":"crm","kind":"user","ids":["u-1"],"more":false}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := responses[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// pulled returns an app that has its users at an endpoint.
func pulled(id string, version int64, url string, secrets ...string) desired.App {
	a := app(id, version)
	a.Pull = desired.Pull{URL: url, Secrets: append([]string{whsec}, secrets...)}
	return a
}

// newPullWorld returns a world whose store allows endpoints without TLS.
func newPullWorld(t testing.TB, db *sqldb.DB) *world {
	t.Helper()
	w := newWorld(t, db)
	w.Store = open(t, db, func(o *desired.Options) {
		o.AllowHTTP, o.Shown = true, func(app string) string { return strings.TrimPrefix(app, "acme:") }
	})
	w.Attach(w.engine)
	t.Cleanup(w.Close)
	return w
}

func TestPull_EndpointQueried(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newPullWorld(t, db)
		a := pulled("acme:crm", 1, newEndpoint(t))
		a.Target.UserNameAttribute = "nickName"
		_, err := w.PutApp(t.Context(), a)
		require.NoError(t, err)
		ctx := t.Context()
		u, err := w.User(ctx, "acme:crm", "u-1")
		require.NoError(t, err)
		require.Equal(t, engine.Active, u.Want)
		require.Equal(t, "annie", u.UserName, "the attribute of the target")
		g, err := w.Group(ctx, "acme:crm", "g-1")
		require.NoError(t, err)
		require.Equal(t, "Sales", g.DisplayName)
		ids, err := w.Members(ctx, "acme:crm", "g-1", "", 10)
		require.NoError(t, err)
		require.Equal(t, []string{"u-1"}, ids)
		in, err := w.IsMember(ctx, "acme:crm", "g-1", []string{"u-1", "u-2"})
		require.NoError(t, err)
		require.Equal(t, map[string]bool{"u-1": true, "u-2": false}, in)
		ids, err = w.Principals(ctx, "acme:crm", engine.User, "", 10)
		require.NoError(t, err)
		require.Equal(t, []string{"u-1"}, ids)
		why, err := w.Explain(ctx, "acme:crm", engine.User, "u-1")
		require.NoError(t, err)
		require.Equal(t, []string{"the endpoint of the identity provider returns the state active"}, why.Reasons)
		require.Len(t, why.Values, 2)

		_, err = w.User(ctx, "acme:crm", "u-2") // the response is about u-1
		require.ErrorContains(t, err, "pull: /user of crm u-2: the response is about another object")
		why, err = w.Explain(ctx, "acme:crm", engine.Group, "g-2")
		require.NoError(t, err)
		require.Equal(t, []string{
			"the endpoint of the identity provider has returned no state: the response is about another object",
		}, why.Reasons)
		_, err = w.Match(ctx, "acme:crm", engine.User, []engine.RemoteObject{{UserName: "ann"}})
		require.ErrorIs(t, err, engine.ErrNoMatcher)
	})
}

// TestPull_NothingStored checks that users of an app with an endpoint can be neither written nor read in the store.
func TestPull_NothingStored(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newPullWorld(t, db)
		_, err := w.PutApp(t.Context(), pulled("crm", 2, newEndpoint(t)))
		require.NoError(t, err)
		w.engine.taken()
		ctx := t.Context()
		for name, do := range map[string]func() error{
			"PutUser": func() error { _, err := w.PutUser(ctx, "crm", user("u-1", 1, "ann")); return err },
			"PutMembers": func() error {
				_, err := w.PutMembers(ctx, "crm", desired.Members{Group: "g-1", Version: 1})
				return err
			},
			"Batch": func() error {
				_, err := w.Batch(ctx, "crm", strings.NewReader(`{"op":"deleteUser","id":"u-1","version":1}`), desired.BatchOptions{})
				return err
			},
			"BeginSnapshot": func() error { _, err := w.BeginSnapshot(ctx, "crm", engine.User); return err },
			"StoredUser":    func() error { _, err := w.StoredUser(ctx, "crm", "u-1"); return err },
			"StoredUsers":   func() error { _, err := w.StoredUsers(ctx, "crm", "", 1); return err },
			"StoredMembers": func() error { _, err := w.StoredMembers(ctx, "crm", "g-1", "", 1); return err },
		} {
			require.ErrorIs(t, do(), desired.ErrPulled, name)
		}
		require.Empty(t, w.engine.taken())
	})
}

// TestPull_AppChanges checks the marks after changes of the endpoint, and that an app cannot lose its endpoint, because all its users
// would then be absent.
func TestPull_AppChanges(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newPullWorld(t, db)
		url := newEndpoint(t)
		w.put(desired.Applied, user("u-9", 1, "old"))
		w.put(desired.Applied, desired.Members{Group: "g-9", Version: 1, Users: []string{"u-9"}})
		put := func(a desired.App) error {
			w.engine.all = nil
			_, err := w.PutApp(t.Context(), a)
			return err
		}
		require.NoError(t, put(pulled("crm", 2, url)))
		require.Equal(t, []engine.MarkAll{{App: "crm", Retry: true, AllMembers: true}}, w.engine.all)
		for _, table := range []string{"principal", "member", "members"} {
			var n int
			require.NoError(t, db.Reader().QueryRow(t.Context(), `SELECT count(*) FROM scimwright_desired_`+table).Scan(&n))
			require.Zero(t, n, table)
		}
		require.NoError(t, put(pulled("crm", 2, url)))
		require.Empty(t, w.engine.all, "a repetition")
		require.Equal(t, &desired.ContentError{Version: 2}, put(pulled("crm", 2, url, otherWhsec)))
		require.NoError(t, put(pulled("crm", 3, url, otherWhsec)))
		require.Equal(t, []engine.MarkAll{{App: "crm", Retry: true}}, w.engine.all, "another secret ends the delay after failures")
		require.NoError(t, put(pulled("crm", 4, url+"/v2", otherWhsec)))
		require.Len(t, w.engine.all, 1)
		_, err := w.User(t.Context(), "crm", "u-1")
		require.ErrorContains(t, err, "the endpoint responded 404", "the new URL is used")

		require.ErrorIs(t, put(app("crm", 5)), desired.ErrPullEnd)
		require.Empty(t, w.engine.all)
		shown, err := w.App(t.Context(), "crm")
		require.NoError(t, err)
		require.Equal(t, desired.Pull{URL: url + "/v2"}, shown.Pull)
		require.True(t, shown.HasCredentials)
		_, err = w.DeleteApp(t.Context(), "crm", 6)
		require.NoError(t, err)
		require.NoError(t, put(app("crm", 7)))
		w.put(desired.Applied, user("u-1", 1, "ann"))
	})
}

func TestPull_BadInput(t *testing.T) {
	db := sqldbtest.SQLite(t)
	w := newWorld(t, db)
	ctx := t.Context()
	for name, c := range map[string]struct {
		pull   desired.Pull
		member string
	}{
		"http":         {desired.Pull{URL: "http://idp.example.com", Secrets: []string{whsec}}, "pull.url"},
		"no host":      {desired.Pull{URL: "https:///x", Secrets: []string{whsec}}, "pull.url"},
		"user":         {desired.Pull{URL: "https://a:b@idp.example.com", Secrets: []string{whsec}}, "pull.url"},
		"query":        {desired.Pull{URL: "https://idp.example.com?x=1", Secrets: []string{whsec}}, "pull.url"},
		"only secrets": {desired.Pull{Secrets: []string{whsec}}, "pull.url"},
		"long":         {desired.Pull{URL: "https://idp.example.com/" + strings.Repeat("x", 3000), Secrets: []string{whsec}}, "pull.url"},
		"no secret":    {desired.Pull{URL: "https://idp.example.com"}, "pull.secrets"},
		"short":        {desired.Pull{URL: "https://idp.example.com", Secrets: []string{"whsec_AAAA"}}, "pull.secrets"},
		"no prefix":    {desired.Pull{URL: "https://idp.example.com", Secrets: []string{"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}, "pull.secrets"},
		"five":         {desired.Pull{URL: "https://idp.example.com", Secrets: []string{whsec, whsec, whsec, whsec, whsec}}, "pull.secrets"},
	} {
		a := app("bad", 1)
		a.Pull = c.pull
		_, err := w.PutApp(ctx, a)
		problem := &desired.InputError{}
		require.ErrorAs(t, err, &problem, name)
		require.Equal(t, c.member, problem.Member, "%s: %v", name, err)
		require.NotContains(t, err.Error(), "MfKQ9r8", name)
	}
	a := mapped(1, "example.com")
	a.ID, a.Pull = "bad", desired.Pull{URL: "https://idp.example.com", Secrets: []string{whsec}}
	_, err := w.PutApp(ctx, a)
	require.ErrorContains(t, err, "mapping: an app with pull has no mapping")
	a.Mapping = desired.Mapping{}
	_, err = w.PutApp(desired.WithoutSecrets(ctx), a)
	require.ErrorIs(t, err, desired.ErrSecrets)
	_, err = w.PutApp(context.WithoutCancel(ctx), a)
	require.NoError(t, err)
	var doc, secrets string
	require.NoError(t, db.Reader().QueryRow(ctx, `SELECT doc, secrets FROM scimwright_desired_app WHERE app_id = 'bad'`).Scan(&doc, &secrets))
	require.True(t, json.Valid([]byte(doc)))
	require.NotContains(t, doc+secrets, "whsec")
}
