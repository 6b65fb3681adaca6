package tenants_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/scimstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver"
	"github.com/scimwright/scimwright/scimserver/observe"
	"github.com/scimwright/scimwright/scimserver/quirks"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// waitTimeout is the timeout of every wait in these tests.
const waitTimeout = 60 * time.Second

// stores creates the stores of tenants in one database.
type stores struct{ db *sqldb.DB }

func (s stores) Open(ctx context.Context, name string, types []*schema.ResourceType) (scimserver.Store, error) {
	layout := scimstore.NewLayout("t"+name, types...)
	docs, err := docstore.Open(ctx, s.db, nil, layout.Tables()...)
	return scimstore.New(docs, layout), err
}

func (s stores) Drop(ctx context.Context, name string, types []*schema.ResourceType) error {
	return docstore.Drop(ctx, s.db, scimstore.NewLayout("t"+name, types...).Tables()...)
}

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// host is a server with tenants on loopback.
type host struct {
	*tenants.Tenants
	url     string
	metrics *observe.Metrics
	log     *journal
	clock   func(time.Duration) // advances the clock
}

func newHost(t *testing.T, db *sqldb.DB) *host {
	t.Helper()
	var mu sync.Mutex
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := &host{metrics: observe.NewMetrics(), log: &journal{}, clock: func(d time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
	}}
	var err error
	h.Tenants, err = tenants.New(tenants.Options{
		Stores: stores{db}, PasswordCost: 4, Metrics: h.metrics, Logger: slog.New(slog.NewJSONHandler(h.log, nil)),
		Now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		},
	})
	require.NoError(t, err)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

func (h *host) add(t *testing.T, name string, texts ...string) *tenants.Tenant {
	t.Helper()
	c := tenants.Config{Name: name}
	for _, text := range texts {
		token, err := tenants.ParseToken(text)
		require.NoError(t, err)
		c.Tokens = append(c.Tokens, token)
	}
	made, err := h.Add(t.Context(), c)
	require.NoError(t, err)
	return made
}

// call sends a request and returns the status and the body.
func (h *host) call(t *testing.T, method, path, token, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, h.url+path, strings.NewReader(body))
	require.NoError(t, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(text)
}

func (h *host) counted(t *testing.T) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.metrics.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

func ann(userName string) string {
	return fmt.Sprintf(`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],"userName":%q}`, userName)
}

func TestTenant_ServedAtOwnPath(t *testing.T) {
	h := newHost(t, sqldbtest.SQLite(t))
	h.add(t, tenants.Default, "token-d")
	h.add(t, "acme", "token-a")
	for _, test := range []struct {
		path, token string
		status      int
	}{
		{"/scim/v2/Users", "token-d", 200},
		{"/scim/v2", "token-d", 200},
		{"/t/acme/scim/v2/Users", "token-a", 200},
		{"/t/acme/scim/v2", "token-a", 200},
		{"/t/acme/scim/v2/Users", "token-d", 401},
		{"/scim/v2/Users", "token-a", 401},
		{"/t/acme/scim/v2/Users", "", 401},
		{"/t/acme/scim/v2/Nothing", "token-a", 404},
		{"/t/nobody/scim/v2/Users", "token-a", 404},
		{"/t/nobody/scim/v2/Users", "", 404},
		{"/t/default/scim/v2/Users", "token-d", 404},
		{"/t/ACME/scim/v2/Users", "token-a", 404},
		{"/t/acme/scim/v2x/Users", "token-a", 404},
		{"/t/acme/scim/v9/Users", "token-a", 400},
		{"/t/acme/scim/v9/Users", "token-d", 401},
		{"/t/acme/scim/Users", "token-a", 200},
		{"/t/acme/scim", "token-a", 200},
		{"/t/acme/scimx", "token-a", 404},
		{"/t/acme", "token-a", 404},
		{"/t//scim/v2/Users", "token-a", 404},
		{"/scim/v20", "token-d", 400},
		{"/scim/v1/Users", "token-d", 400},
		{"/scim/vx", "token-d", 404},
		{"/scim", "token-d", 200},
		{"/scim", "", 401},
		{"/scimx/v2", "token-d", 404},
		{"/", "token-d", 404},
		{"//t/acme/scim/v2/Users", "token-a", 404},
		{"/t/acme/scim/v2/../../../../scim/v2/Users", "token-d", 401},
		{"/t/acme%2Fscim/v2/Users", "token-d", 401},
	} {
		status, body := h.call(t, http.MethodGet, test.path, test.token, "")
		require.Equal(t, test.status, status, "%s as %q: %s", test.path, test.token, body)
		if status >= 400 {
			require.Contains(t, body, `"urn:ietf:params:scim:api:messages:2.0:Error"`, test.path)
		}
		require.Equal(t, test.status == http.StatusBadRequest, strings.Contains(body, `"scimType":"invalidVers"`), body)
	}
}

func TestTenant_TokensChangedAtRuntime(t *testing.T) {
	h := newHost(t, sqldbtest.SQLite(t))
	acme := h.add(t, "acme", "writer", "reader;read-only", "brief;expires=2026-01-02T03:05:05Z")
	const users = "/t/acme/scim/v2/Users"
	status := func(method, token string) int {
		code, _ := h.call(t, method, users, token, ann(token))
		return code
	}
	require.Equal(t, http.StatusCreated, status(http.MethodPost, "brief"))
	require.Equal(t, http.StatusForbidden, status(http.MethodPost, "reader"))
	h.clock(time.Minute)
	require.Equal(t, http.StatusUnauthorized, status(http.MethodGet, "brief"))
	require.Equal(t, http.StatusOK, status(http.MethodGet, "reader"))

	_, body := h.call(t, http.MethodPost, users, "writer", ann("ann"))
	id := body[strings.Index(body, `"id":"`)+6:]
	id, _, _ = strings.Cut(id, `"`)
	mine := tenants.NewToken("mine")
	mine.Me = id
	require.NoError(t, acme.SetTokens(mine))
	require.Equal(t, []tenants.Token{mine}, acme.Config().Tokens)
	require.Equal(t, http.StatusUnauthorized, status(http.MethodGet, "writer"))
	code, body := h.call(t, http.MethodGet, "/t/acme/scim/v2/Me", "mine", "")
	require.Equal(t, http.StatusOK, code, body)
	require.Contains(t, body, `"userName":"ann"`)
	require.Contains(t, body, h.url+users+"/"+id)
	require.ErrorContains(t, acme.SetTokens(mine, mine), "twice")
	require.Len(t, acme.Config().Tokens, 1)
}

func TestTenant_RejectsBadConfig(t *testing.T) {
	h := newHost(t, sqldbtest.SQLite(t))
	h.add(t, "acme", "a")
	_, err := h.Add(t.Context(), tenants.Config{Name: "acme"})
	require.ErrorIs(t, err, tenants.ErrExists)
	_, err = h.Add(t.Context(), tenants.Config{Name: "../x"})
	require.ErrorContains(t, err, "../x")
	_, err = h.Add(t.Context(), tenants.Config{Name: "b", Tokens: []tenants.Token{tenants.NewToken("x"), tenants.NewToken("x")}})
	require.ErrorContains(t, err, "tenant b: token")
	_, err = h.Add(t.Context(), tenants.Config{Name: "b", Quirks: []quirks.Setting{{Name: "no-such"}}})
	require.ErrorContains(t, err, "no-such")
	require.ErrorIs(t, h.Remove(t.Context(), "nobody"), tenants.ErrNotFound)
	require.Len(t, h.All(), 1)
	_, err = tenants.New(tenants.Options{})
	require.Error(t, err)
}

// TestTenant_RemovalAbortsRequests checks that the removal of a tenant aborts its requests and deletes all its data.
func TestTenant_RemovalAbortsRequests(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		h := newHost(t, db)
		acme, other := h.add(t, "acme", "a"), h.add(t, "other", "o")
		const users = "/t/acme/scim/v2/Users"
		code, _ := h.call(t, http.MethodPost, users, "a", ann("ann"))
		require.Equal(t, http.StatusCreated, code)
		code, _ = h.call(t, http.MethodPost, "/t/other/scim/v2/Users", "o", ann("ann"))
		require.Equal(t, http.StatusCreated, code)

		hang, err := quirks.Parse("hang,p=1")
		require.NoError(t, err)
		require.NoError(t, acme.SetQuirks(hang))
		require.Equal(t, []quirks.Setting{hang}, acme.Config().Quirks)
		ended := make(chan error, 1)
		go func() {
			res, err := http.Post(h.url+users, "application/scim+json", strings.NewReader(ann("bob"))) // not a GET, which net/http would repeat
			if err == nil {
				res.Body.Close()
			}
			ended <- err
		}()
		require.Eventually(t, func() bool { return strings.Contains(h.counted(t), `scim_requests_in_flight{provider="acme"} 1`) }, waitTimeout,
			10*time.Millisecond)
		require.NoError(t, h.Remove(t.Context(), "acme"))
		require.Error(t, <-ended, "the hanging request was aborted")

		require.NotContains(t, h.counted(t), `"acme"`)
		code, _ = h.call(t, http.MethodGet, users, "a", "")
		require.Equal(t, http.StatusNotFound, code)
		require.Equal(t, []*tenants.Tenant{other}, h.All())
		h.add(t, "acme", "a")
		code, body := h.call(t, http.MethodGet, users, "a", "")
		require.Equal(t, http.StatusOK, code)
		require.Contains(t, body, `"totalResults":0`)
		_, body = h.call(t, http.MethodGet, "/t/other/scim/v2/Users", "o", "")
		require.Contains(t, body, `"totalResults":1`, "other tenants keep their data")
	})
}

// TestTenant_LogAndMetrics checks that log and metrics name existing tenants, but no unknown name from a path.
func TestTenant_LogAndMetrics(t *testing.T) {
	h := newHost(t, sqldbtest.SQLite(t))
	h.add(t, "acme", "token-a")
	h.call(t, http.MethodGet, "/t/acme/scim/v2/Users", "token-a", "")
	for i := range 20 {
		h.call(t, http.MethodGet, fmt.Sprintf("/t/guess%d/scim/v2/Users", i), "token-a", "")
	}
	require.Eventually(t, func() bool { // metrics and log are written after the response
		counted, log := h.counted(t), h.log.String()
		return strings.Contains(counted, `scim_requests_total{method="GET",provider="(unknown)",route="other",status="404"} 20`) &&
			strings.Contains(counted, `scim_requests_total{method="GET",provider="acme",route="/Users",status="200"} 1`) &&
			strings.Count(log, `"provider":"(unknown)"`) == 20 && strings.Contains(log, `"provider":"acme"`)
	}, waitTimeout, 10*time.Millisecond)
	require.NotContains(t, h.counted(t), "guess")
	require.NotContains(t, h.log.String(), "guess")
	require.NotContains(t, h.log.String(), "token-a")
	require.Contains(t, h.log.String(), `"token_id":"`+tenants.NewToken("token-a").ID()+`"`)
}
