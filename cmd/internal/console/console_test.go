package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/goldentest"
)

type fixed struct{}

func (fixed) Overview(context.Context) (Overview, error) {
	return Overview{Users: 25, Groups: 5, Endpoints: []Endpoint{{"Management API", "http://127.0.0.1:8080/api/v1"}},
		Apps: []App{
			{ID: "0oa1", Label: "Wiki <b>", Style: "PATCH", Lane: "quarantined", Reason: "401 from the target", InSync: 3, Wrong: 1}}}, nil
}

func (fixed) App(_ context.Context, app string) (AppPage, error) {
	if app != "0oa1" {
		return AppPage{}, ErrNotFound
	}
	return AppPage{App: App{ID: "0oa1", Label: "Wiki", Lane: "running", WaitingSince: time.UnixMilli(0), Halts: []string{"update: audit"}},
		Principals: []Principal{
			{Kind: "user", ID: "00u1", Name: "ada@x.example", Want: "active", Status: "failed", Attempts: 1, Error: `409 "taken"`,
				Updated: time.UnixMilli(0)}},
		Exchanges: []Exchange{
			{Of: &Principal{Kind: "user", ID: "00u1", Name: "ada@x.example"}, At: time.UnixMilli(0), Method: "POST", Path: "/Users", Status: 409,
				Duration: time.Millisecond, Request: `{"userName":"<script>"}`}}}, nil
}

func (fixed) History(context.Context, string, string, string) (HistoryPage, error) {
	return HistoryPage{Principal: Principal{Name: "ada@x.example", Status: "in sync", Want: "active"},
		Wanted: 3, Reached: 2, Reasons: []string{"assigned directly"},
		Values: []Value{{Path: "userName", Value: "<script>", Rule: "login", Source: "profile"}},
		Exchanges: []Exchange{
			{At: time.UnixMilli(0), Method: "GET", Path: "/Users?filter=x", Status: 200, Duration: time.Millisecond, Response: `{"a":"<script>"}`,
				Curl: "curl ..."}}}, nil
}

func TestPages(t *testing.T) {
	h, err := New(Options{Source: fixed{}})
	require.NoError(t, err)
	tests := []struct {
		name, path string
		status     int
	}{
		{"overview", "/", 200},
		{"app", "/apps/0oa1", 200},
		{"history", "/apps/0oa1/user/00u1", 200},
		{"activation link", "/welcome/3DX0SCRVXut4Hhys2YQu", 200},
		{"reset link", "/reset_password/3DX0SCRVXut4Hhys2YQu", 200},
		{"link after a forgotten password", "/signin/reset-password/3DX0SCRVXut4Hhys2YQu", 200},
		{"link with an invalid token", "/welcome/$(date)", 404},
		{"unknown app", "/apps/none", 404},
		{"unknown page", "/nowhere", 404},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := get(h, "127.0.0.1:8080", "127.0.0.1:5000", tt.path)
			require.Equal(t, tt.status, w.Code)
			require.NotContains(t, w.Body.String(), "<script>", "responses of targets are escaped")
			golden := filepath.Join("testdata", strings.ReplaceAll(tt.name, " ", "-")+".html")
			goldentest.Check(t, golden, w.Body.String())
		})
	}
}

func TestConsole_RejectsRemoteClients(t *testing.T) {
	h, err := New(Options{Source: fixed{}})
	require.NoError(t, err)
	tests := []struct {
		name, host, remote string
		status             int
	}{
		{"the same machine", "localhost:8080", "127.0.0.1:5000", 200},
		{"the same machine by IPv6", "[::1]:8080", "[::1]:5000", 200},
		{"another machine", "10.0.0.5:8080", "10.0.0.9:5000", 403},
		{"a rebound host name", "evil.example", "127.0.0.1:5000", 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.status, get(h, tt.host, tt.remote, "/").Code)
		})
	}
}

// A proxy on the same machine is a loopback client that forwards requests of other clients.
func TestConsole_RejectsForwardedRequests(t *testing.T) {
	h, err := New(Options{Source: fixed{}})
	require.NoError(t, err)
	style, err := assetName("assets/console.css")
	require.NoError(t, err)
	request := func(path string) *http.Request {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host, r.RemoteAddr = "127.0.0.1:8080", "127.0.0.1:5000"
		return r
	}
	serve := func(r *http.Request) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for _, path := range []string{"/", "/apps/0oa1", "/apps/0oa1/user/00u1", "/welcome/3DX0SCRVXut4Hhys2YQu", "/nowhere", style} {
		for _, name := range []string{
			"Forwarded", "forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "x-forwarded-port", "X-Forwarded-Anything",
			"X-Forwarded",
			"X-Real-IP", "Via", "X-Original-URL", "True-Client-IP",
		} {
			for _, value := range []string{"127.0.0.1", ""} {
				r := request(path)
				r.Header.Set(name, value)
				w := serve(r)
				require.Equal(t, http.StatusForbidden, w.Code, "%s with %s: %q", path, name, value)
				require.Contains(t, w.Body.String(), "("+http.CanonicalHeaderKey(name)+"): open it through 127.0.0.1, without the proxy")
				require.NotContains(t, w.Body.String(), "<")
			}
		}
		r := request(path)
		r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.0", 1, 0
		require.Equal(t, http.StatusForbidden, serve(r).Code, "%s over HTTP/1.0", path)

		r = request(path)
		r.Header.Set("User-Agent", "Mozilla/5.0")
		r.Header.Set("Referer", "http://127.0.0.1:8080/")
		r.Header.Set("X-Requested-With", "test")
		require.NotEqual(t, http.StatusForbidden, serve(r).Code, path)
	}
}

func TestConsole_CachesStyleSheet(t *testing.T) {
	h, err := New(Options{Source: fixed{}})
	require.NoError(t, err)
	name, err := assetName("assets/console.css")
	require.NoError(t, err)
	w := get(h, "127.0.0.1", "127.0.0.1:1", name)
	require.Equal(t, 200, w.Code)
	require.Contains(t, w.Header().Get("Cache-Control"), "immutable")
}

func get(h http.Handler, host, remote, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host, r.RemoteAddr = host, remote
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
