package client_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
)

func TestDo_FollowsNoRedirect(t *testing.T) {
	reached := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	for name, c := range map[string]*client.Client{"own": client.New(server.URL, "token"), "given": client.New(server.URL, "token")} {
		if name == "given" {
			c.HTTP = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
		}
		_, err := c.Apps(t.Context())
		require.ErrorContains(t, err, "status 307", name)
		require.False(t, reached, name)
	}
}

func TestDo_SendsTokenWithScheme(t *testing.T) {
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization")
		_, _ = w.Write([]byte("[]"))
	}))
	defer server.Close()
	for scheme, want := range map[string]string{"": "Bearer t", "SSWS": "SSWS t"} {
		c := client.New(server.URL+"/engine/v1/", "t")
		c.Scheme = scheme
		_, err := c.Apps(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, sent)
	}
	_, err := client.New(server.URL, "").Apps(t.Context())
	require.NoError(t, err)
	require.Empty(t, sent)
}

func TestError_HasCodeAndCauses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"errorCode":"E0000409","errorSummary":"moved","errorCauses":[{"errorSummary":"items: one"}]}`))
	}))
	defer server.Close()
	_, err := client.New(server.URL+"/engine/v1", "").ApplyPlan(t.Context(), "a/b", "p", 1)
	require.Equal(t, &client.Error{
		Method: "POST", Path: "/engine/v1/apps/a%2Fb/plans/p/apply", Status: 409, Code: "E0000409", Summary: "moved",
		Causes: []string{"items: one"},
	}, err)
	require.EqualError(t, err, "POST /engine/v1/apps/a%2Fb/plans/p/apply: 409 E0000409: moved; items: one")
	validation := &client.Error{Method: "POST", Path: "/tokens", Status: 400, Code: "E0000001", Summary: "Api validation failed: name",
		Causes: []string{"name: it is empty", "scopes: it is missing"}}
	require.EqualError(t, validation, "POST /tokens: 400 E0000001: Api validation failed: name: it is empty; scopes: it is missing")
}

// TestError_OfAnotherHandler checks the error for a response of the embedder's authorization, or of another path.
func TestError_OfAnotherHandler(t *testing.T) {
	const start = "GET /engine/apps: status "
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"authorization", 401, "operators only\nsecond line", "401, but the response is not from the API: operators only"},
		{"no body", 403, "", "403, but the response is not from the API"},
		{"a page", 502, "<html>", "502, but the response is not from the API"},
		{"a long line", 502, strings.Repeat("x", 201), "502, but the response is not from the API"},
		{"no text", 502, "\xff", "502, but the response is not from the API"},
		{"another path", 404, "404 page not found",
			"404, but the response is not from the API; check that the URL of the client ends with the prefix of the API"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			_, err := client.New(server.URL, "").Apps(t.Context())
			require.EqualError(t, err, start+c.want)
		})
	}
}

func TestNew_URLWithoutScheme(t *testing.T) {
	for _, url := range []string{"", "idp.example.com/engine/v1", "127.0.0.1:8080/engine/v1", "localhost:8080/engine/v1"} {
		_, err := client.New(url, "").Apps(t.Context())
		require.ErrorContains(t, err, "http:// or", url)
	}
}

// TestTypes_RoundTrip checks that a type decodes its own JSON without loss if it embeds an engine type and has members of the same names.
func TestTypes_RoundTrip(t *testing.T) {
	in := client.Trace{
		App: "crm", Kind: engine.User, ID: "u-1", Assigned: true, Idle: true, Trace: engine.Trace{Want: engine.Active, Requests: []engine.Sent{}},
	}
	data, err := json.Marshal(in)
	require.NoError(t, err)
	require.Regexp(t, `^\{"app":"crm","kind":"user","id":"u-1","assigned":true,"idle":true,"rehearsed":false,`, string(data))
	var out client.Trace
	require.NoError(t, json.Unmarshal(data, &out))
	require.Equal(t, in, out)
}
