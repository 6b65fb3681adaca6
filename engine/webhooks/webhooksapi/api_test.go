package webhooksapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/desired"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/webhooks"
	"github.com/scimwright/scimwright/engine/webhooks/webhooksapi"
	"github.com/scimwright/scimwright/internal/goldentest"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { os.Exit(sqldbtest.Main(m)) }

// host is a program with a service and its API.
type host struct {
	t       *testing.T
	url     string
	service *webhooks.Service
}

func serve(t *testing.T, db *sqldb.DB, adjust func(*webhooksapi.Options)) *host {
	t.Helper()
	dialect := sqlstore.Dialect(db.Dialect().String())
	store, err := sqlstore.Open(t.Context(), db.Writer(), sqlstore.Options{Dialect: dialect})
	require.NoError(t, err)
	seal, err := desired.NewKey(bytes.Repeat([]byte("k"), 32))
	require.NoError(t, err)
	h := &host{t: t}
	h.service, err = webhooks.Open(t.Context(), db.Writer(), webhooks.Options{
		Dialect: dialect, Source: store, Seal: seal, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	o := webhooksapi.Options{Service: h.service, Authorize: func(next http.Handler) http.Handler { return next }}
	adjust(&o)
	api, err := webhooksapi.New(o)
	require.NoError(t, err)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// do sends a request, requires the status, and decodes the response.
func (h *host) do(status int, method, path, body string, into any) string {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, strings.NewReader(body))
	require.NoError(h.t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(h.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(h.t, err)
	require.Equal(h.t, status, res.StatusCode, "%s %s: %s", method, path, text)
	if into != nil {
		require.NoError(h.t, json.Unmarshal(text, into))
	}
	return string(text)
}

func TestOpenAPI_CheckedIn(t *testing.T) {
	text, err := webhooksapi.OpenAPI(webhooksapi.Options{})
	require.NoError(t, err)
	goldentest.Check(t, filepath.Join("..", "..", "..", "docs", "api", "webhooks.json"), string(text))
	doc, err := openapi3.NewLoader().LoadFromData(text)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
}

func TestOperations_Permissions(t *testing.T) {
	secrets := 0
	for _, op := range webhooksapi.Operations("/p") {
		require.True(t, strings.HasPrefix(op.Path, "/p/webhooks"), op.ID)
		want := []string{engine.AccessWrite}
		switch {
		case op.Method == http.MethodGet:
			want = []string{engine.AccessRead}
		case op.ID == "createWebhook" || op.ID == "rotateWebhook":
			want = append(want, webhooksapi.AccessSecrets)
			secrets++
		}
		require.Equal(t, want, op.Access, op.ID)
	}
	require.Equal(t, 2, secrets)
}

// TestAPI_WithoutTenants uses the API of a host with neither tenants nor permissions: an endpoint without an app receives the events
// of all.
func TestAPI_WithoutTenants(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		h := serve(t, db, func(o *webhooksapi.Options) {
			o.Prefix = "/hooks"
			o.Next = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
		})
		var made webhooksapi.CreatedWebhook
		h.do(http.StatusCreated, http.MethodPost, "/hooks/webhooks", `{"url":"https://example.com/"}`, &made)
		stored, err := h.service.Get(t.Context(), made.ID)
		require.NoError(t, err)
		require.Empty(t, stored.App+stored.Prefix)
		h.do(http.StatusCreated, http.MethodPost, "/hooks/webhooks", `{"url":"https://example.com/","app":"crm"}`, &made)
		require.Equal(t, "crm", made.App)
		seen := map[string]bool{}
		for path := "/hooks/webhooks?limit=1"; len(seen) < 2; {
			var page []webhooksapi.Webhook
			h.do(http.StatusOK, http.MethodGet, path, "", &page)
			require.Len(t, page, 1)
			seen[page[0].ID], path = true, "/hooks/webhooks?limit=1&after="+page[0].ID
		}
		h.do(http.StatusTeapot, http.MethodGet, "/hooks/apps", "", nil)
	})
}

// TestAPI_NotPermitted requires that a rejected operation changes nothing, and that its error names the permissions.
func TestAPI_NotPermitted(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		h := serve(t, db, func(o *webhooksapi.Options) {
			o.Permit = func(_ context.Context, op webhooksapi.Operation) error {
				if len(op.Access) > 1 {
					return engine.ErrNotPermitted
				}
				return nil
			}
		})
		text := h.do(http.StatusForbidden, http.MethodPost, "/engine/v1/webhooks", `{"url":"https://example.com/"}`, nil)
		require.Contains(t, text, "write and secrets")
		require.JSONEq(t, `[]`, h.do(http.StatusOK, http.MethodGet, "/engine/v1/webhooks", "", nil))
	})
}

func TestNew_OptionsChecked(t *testing.T) {
	_, err := webhooksapi.New(webhooksapi.Options{})
	require.ErrorContains(t, err, "Service")
	_, err = webhooksapi.New(webhooksapi.Options{Service: &webhooks.Service{}})
	require.ErrorContains(t, err, "Authorize")
}
