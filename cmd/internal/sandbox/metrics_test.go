package sandbox_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

const metricsToken = "metr1cs-token"

// scrape requests a page with an Authorization header, without one if empty.
func scrape(t *testing.T, url, authorization string) (status int, text string, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body), res.Header
}

// metricsOf returns the metrics of a server that requires metricsToken.
func metricsOf(t *testing.T, base string) string {
	t.Helper()
	status, text, _ := scrape(t, base+"/metrics", "Bearer "+metricsToken)
	require.Equal(t, http.StatusOK, status, text)
	return text
}

// The metrics contain names of tenants and applications: no client reads them without credentials, unless they have a separate listener.
func TestMetrics_RequireCredentials(t *testing.T) {
	t.Parallel()
	acme := tenants.Config{Name: "acme", Tokens: []tenants.Token{tenants.NewToken("acme-token")}}
	type running struct {
		base, own string
		tokens    []string // tokens of the other services, which do not give access to the metrics
	}
	servers := map[string]func(t *testing.T, o serving.MetricsOptions) running{
		"sandbox": func(t *testing.T, o serving.MetricsOptions) running {
			s, _ := startSandbox(t, sandbox.Options{Empty: true, Tenants: []tenants.Config{acme}, Metrics: o})
			return running{s.Ready().BaseURL, s.Ready().MetricsURL, []string{"SSWS " + s.Ready().APIToken, "Bearer " + s.Ready().SCIMToken}}
		},
		"serve scim": func(t *testing.T, o serving.MetricsOptions) running {
			s, err := sandbox.ServeSCIM(t.Context(), sandbox.SCIMOptions{Listen: "127.0.0.1:0", Tenants: []tenants.Config{acme}, Metrics: o})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
			return running{strings.TrimSuffix(s.URL(), "/scim/v2"), s.MetricsURL(), []string{"Bearer " + s.Token()}}
		},
	}
	for kind, start := range servers {
		t.Run(kind, func(t *testing.T) {
			refused := func(t *testing.T, url string, want int, tokens ...string) {
				for _, authorization := range append([]string{
					"", "Bearer", "Bearer ", "Bearer acme-token", "Bearer wrong", "Basic " + metricsToken, metricsToken, "Bearer " + metricsToken + "x",
				}, tokens...) {
					status, text, header := scrape(t, url, authorization)
					require.Equal(t, want, status, "%q: %s", authorization, text)
					require.NotContains(t, text, "acme")
					require.NotContains(t, text, "scim_requests")
					require.Equal(t, want == http.StatusUnauthorized, header.Get("WWW-Authenticate") != "")
				}
			}
			served := func(t *testing.T, base, url, authorization string) {
				_, err := find(t.Context(), base+"/t/acme/scim/v2", "acme-token", "ann")
				require.NoError(t, err)
				eventually(t, "the request is counted", func() bool {
					status, text, _ := scrape(t, url, authorization)
					return status == http.StatusOK && strings.Contains(text, `provider="acme"`)
				})
			}
			t.Run("default", func(t *testing.T) {
				r := start(t, serving.MetricsOptions{})
				require.Empty(t, r.own)
				refused(t, r.base+"/metrics", http.StatusNotFound, append(r.tokens, "Bearer "+metricsToken)...)
			})
			t.Run("token", func(t *testing.T) {
				r := start(t, serving.MetricsOptions{Token: metricsToken})
				refused(t, r.base+"/metrics", http.StatusUnauthorized, r.tokens...)
				served(t, r.base, r.base+"/metrics", "bearer  "+metricsToken)
			})
			t.Run("digest of a token", func(t *testing.T) {
				r := start(t, serving.MetricsOptions{Token: tenants.NewToken(metricsToken).String()})
				refused(t, r.base+"/metrics", http.StatusUnauthorized, r.tokens...)
				served(t, r.base, r.base+"/metrics", "Bearer "+metricsToken)
			})
			t.Run("listener", func(t *testing.T) {
				r := start(t, serving.MetricsOptions{Listen: "127.0.0.1:0"})
				refused(t, r.base+"/metrics", http.StatusNotFound, append(r.tokens, "Bearer "+metricsToken)...)
				served(t, r.base, r.own, "")
				status, _, _ := scrape(t, strings.TrimSuffix(r.own, "/metrics")+"/api/v1/users", r.tokens[0])
				require.Equal(t, http.StatusNotFound, status, "the listener serves metrics only")
			})
			t.Run("listener with a token", func(t *testing.T) {
				r := start(t, serving.MetricsOptions{Listen: "127.0.0.1:0", Token: metricsToken})
				refused(t, r.base+"/metrics", http.StatusNotFound, append(r.tokens, "Bearer "+metricsToken)...)
				refused(t, r.own, http.StatusUnauthorized, r.tokens...)
				served(t, r.base, r.own, "Bearer "+metricsToken)
			})
		})
	}
}

func TestMetrics_Listener(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for name, o := range map[string]serving.MetricsOptions{
		"set another address with --metrics-listen": {Listen: taken.Addr().String()}, "visible ASCII": {Token: "a b"},
	} {
		_, err := sandbox.Start(t.Context(), sandbox.Options{Listen: "127.0.0.1:0", Empty: true, Metrics: o})
		require.ErrorContains(t, err, name)
		_, err = sandbox.ServeSCIM(t.Context(), sandbox.SCIMOptions{Listen: "127.0.0.1:0", Metrics: o})
		require.ErrorContains(t, err, name)
	}
	var log bytes.Buffer
	s, err := sandbox.ServeSCIM(t.Context(), sandbox.SCIMOptions{
		Listen: "127.0.0.1:0", Metrics: serving.MetricsOptions{Listen: "127.0.0.1:0"}, Logger: slog.New(slog.NewJSONHandler(&log, nil)),
	})
	require.NoError(t, err)
	var greeting bytes.Buffer
	s.PrintWelcome(&greeting)
	require.Contains(t, greeting.String(), s.MetricsURL())
	require.NoError(t, s.Close(t.Context()))
	require.NotContains(t, log.String(), "without a token", "no warning, because it listens on a loopback address")
	_, err = http.Get(s.MetricsURL())
	require.Error(t, err, "the listener is closed with the server")
}
