package connect_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/scim/wirelog"
)

// issuer is a token endpoint and a target that accepts the newest token only.
type issuer struct {
	*httptest.Server
	issued    atomic.Int32
	expiresIn int
	answer    http.HandlerFunc // sent instead of a token, if set
	revoked   atomic.Bool      // the target rejects the newest token too
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{expiresIn: 3600}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		if i.answer != nil {
			i.answer(w, r)
			return
		}
		id, secret, basic := r.BasicAuth()
		if !basic {
			id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
		}
		if id != "me" || secret != "cl1ent-s3cret" || r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "scim write" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"invalid_client"}`))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": i.name(i.issued.Add(1)), "token_type": "Bearer", "expires_in": i.expiresIn})
	})
	mux.HandleFunc("/scim/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/scim+json")
		if i.revoked.Load() || r.Header.Get("Authorization") != "Bearer "+i.name(i.issued.Load()) {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = w.Write([]byte(`{"id":"1","echo":"` + r.Header.Get("Authorization") + `"}`))
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) name(n int32) string { return "acc3ss-token-" + strings.Repeat("x", int(n)) }

func (i *issuer) config() connect.Config {
	return connect.Config{
		BaseURL: i.URL + "/scim", Network: &connect.Network{Transport: i.Client().Transport},
		Auth: engine.Auth{Scheme: engine.ClientCredentials, Secret: "cl1ent-s3cret",
			OAuth: engine.OAuth{TokenURL: i.URL + "/token", ClientID: "me", Scope: "scim write"}},
	}
}

func (i *issuer) client(t *testing.T, c connect.Config) *connect.Client {
	t.Helper()
	client, err := connect.New(c)
	require.NoError(t, err)
	return client
}

var users = plan.Request{Method: http.MethodGet, Path: "/Users"}

// TestToken_SharedByClients checks that clients with the same credentials request one access token.
func TestToken_SharedByClients(t *testing.T) {
	i := newIssuer(t)
	c := i.config()
	var all sync.WaitGroup
	for range 20 {
		client := i.client(t, c)
		all.Go(func() {
			if got := client.Do(t.Context(), users); got.Status != http.StatusOK {
				t.Errorf("%+v", got)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, i.issued.Load())

	c.Auth.OAuth.InBody = true
	require.Equal(t, http.StatusOK, i.client(t, c).Do(t.Context(), users).Status, "client_secret_post")
	require.EqualValues(t, 2, i.issued.Load())
}

func TestToken_ExpiringNotReused(t *testing.T) {
	i := newIssuer(t)
	i.expiresIn = 5
	client := i.client(t, i.config())
	for range 3 {
		require.Equal(t, http.StatusOK, client.Do(t.Context(), users).Status)
	}
	require.EqualValues(t, 3, i.issued.Load())
}

// TestToken_ReplacedOnceAfterRejection checks that the client replaces a rejected token once per request, and never a token issued for that
// request.
func TestToken_ReplacedOnceAfterRejection(t *testing.T) {
	i := newIssuer(t)
	client := i.client(t, i.config())
	require.Equal(t, http.StatusOK, client.Do(t.Context(), users).Status)
	i.issued.Add(1) // as if another client had fetched a newer token
	require.Equal(t, http.StatusOK, client.Do(t.Context(), users).Status)
	require.EqualValues(t, 3, i.issued.Load())

	i.revoked.Store(true)
	require.Equal(t, http.StatusUnauthorized, client.Do(t.Context(), users).Status)
	require.EqualValues(t, 4, i.issued.Load())
	require.Equal(t, http.StatusUnauthorized, client.Do(t.Context(), users).Status, "a token that is new is not replaced")
	require.EqualValues(t, 5, i.issued.Load())
}

// TestToken_ErrorReported checks the status and error of a request for which the token endpoint issues no access token.
func TestToken_ErrorReported(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		status int
		says   string
	}{
		"refused": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"invalid_scope","error_description":"cl1ent-s3cret"}`))
		}, 401, "401: no access token from BASE/token: 400 invalid_scope"},
		"down": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, 0,
			"no access token from BASE/token: the status is 502"},
		"busy": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, 0,
			"no access token from BASE/token: the status is 429"},
		"no token": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{}`))
		}, 0, "the response contains no access token"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/scim/Users", http.StatusTemporaryRedirect)
		}, 0, "the status is 307"},
		"cut off": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, "closed the connection without a response"},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t)
			i.answer = c.answer
			got := i.client(t, i.config()).Do(t.Context(), users)
			require.Equal(t, c.status, got.Status)
			says := strings.ReplaceAll(got.Err.Error(), i.URL, "BASE")
			require.Contains(t, says, c.says)
			require.NotContains(t, says, "cl1ent-s3cret")
		})
	}
}

// TestToken_NotRecorded checks that recorded exchanges contain neither the access token nor the client secret.
func TestToken_NotRecorded(t *testing.T) {
	i := newIssuer(t)
	var seen []wirelog.Exchange
	client := i.client(t, i.config()).Record(func(x wirelog.Exchange) { seen = append(seen, x) })
	got := client.Do(t.Context(), users)
	require.Contains(t, got.Body.Text("echo"), "acc3ss-token")
	require.NotContains(t, client.Redact(got.Body.Text("echo")), "acc3ss-token")
	require.Len(t, seen, 1, "the token request is not an exchange with the target")
	text, err := json.Marshal(seen)
	require.NoError(t, err)
	require.NotContains(t, string(text), "acc3ss-token")
	require.NotContains(t, string(text), "cl1ent-s3cret")
}
