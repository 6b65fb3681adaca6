package connect_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/wirelog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// do sends one request to a handler.
func do(t *testing.T, c connect.Config, r plan.Request, h http.HandlerFunc) (plan.Response, wirelog.Exchange) {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	c.BaseURL, c.Network = server.URL+"/scim/", &connect.Network{Transport: server.Client().Transport}
	client, err := connect.New(c)
	require.NoError(t, err)
	var got wirelog.Exchange
	out := client.Record(func(e wirelog.Exchange) { got = e }).Do(t.Context(), r)
	if out.Err != nil {
		out.Err = fmt.Errorf("%s", strings.ReplaceAll(out.Err.Error(), server.URL, "BASE"))
	}
	return out, got
}

// TestDo_SendsRequest checks the path, headers and body of a request, and that any content type with a JSON body is accepted.
func TestDo_SendsRequest(t *testing.T) {
	for _, c := range []struct {
		auth engine.Auth
		want string
	}{
		{engine.Auth{}, ""},
		{engine.Auth{Secret: "tok"}, "Bearer tok"},
		{engine.Auth{Scheme: engine.Raw, Secret: "SSWS tok"}, "SSWS tok"},
		{engine.Auth{Scheme: engine.Basic, Secret: "me:pw"}, "Basic bWU6cHc="},
	} {
		r := plan.Request{Method: "PUT", Path: "/Users/a%2Fb?x=1", IfMatch: `"1"`, Body: scim.NewObject(scim.Member{Name: "a", Value: true})}
		out, _ := do(t, connect.Config{Auth: c.auth}, r, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			require.Equal(t, "/scim/Users/a%2Fb?x=1", r.RequestURI)
			require.Equal(t, `{"a":true}`, string(body))
			require.Equal(t, []string{c.want, "Svc SCIM Client 1.0.0", "application/scim+json", "application/scim+json; charset=utf-8", `"1"`},
				[]string{r.Header.Get("Authorization"), r.UserAgent(), r.Header.Get("Accept"), r.Header.Get("Content-Type"), r.Header.Get("If-Match")})
			w.Header().Set("ETag", `"2"`)
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "\ufeff{\"id\":\"1\"}\n")
		})
		require.NoError(t, out.Err)
		require.Equal(t, `"2"`, out.ETag)
		require.Equal(t, "1", out.Body.Text("id"), "any type with a JSON body is accepted")
	}
}

func TestDo_ReportsBrokenResponse(t *testing.T) {
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		want   string
	}{
		"HTML": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<html>\n <b>down</b>")
		}, `GET BASE/scim/Users: 200: the response is text/html, not SCIM`},
		"no object": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `[1]`)
		}, "the response is not a JSON object"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "50")
			_, _ = io.WriteString(w, `{"id":`)
		}, "GET BASE/scim/Users: 200: the response was truncated after 6 bytes"},
		"closed": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"the target closed the connection without a response"},
		"hang": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			<-r.Context().Done()
		}, "no complete response within 100ms"},
		"too long": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.CopyN(w, zeros{}, connect.MaxBody+1)
		}, "the response is longer than 16777216 bytes"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			require.NotEqual(t, "/else", r.URL.Path, "redirects are not followed")
			http.Redirect(w, r, "/else", http.StatusFound)
		}, `302: the target redirects; redirects are not followed`},
	} {
		t.Run(name, func(t *testing.T) {
			timeout := 10 * time.Second
			if name == "hang" {
				timeout = 100 * time.Millisecond
			}
			out, recorded := do(t, connect.Config{Timeout: timeout, Auth: engine.Auth{Secret: "s3cr3t"}},
				plan.Request{Method: "GET", Path: "/Users"}, c.handle)
			require.ErrorContains(t, out.Err, c.want)
			require.Equal(t, out.Status, recorded.Status)
			require.Equal(t, "Bearer [redacted]", recorded.RequestHeader.Get("Authorization"))
		})
	}
}

func TestDo_PageOfError(t *testing.T) {
	for name, c := range map[string]struct{ media, body, want string }{
		"HTML":                   {"text/html; charset=utf-8", "<html>no such page</html>", "text/html"},
		"JSON that is no object": {"application/json", `"no"`, "application/json"},
		"text of no type":        {"", "no such page", "a body of undeclared type"},
		"a SCIM error":           {"application/scim+json", `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"404"}`, ""},
		"JSON with another type": {"text/plain", `{"detail":"no"}`, ""},
		"nothing":                {"application/scim+json", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			out, _ := do(t, connect.Config{}, plan.Request{Method: "GET", Path: "/Users"}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{c.media}
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, c.body)
			})
			require.NoError(t, out.Err)
			require.Equal(t, http.StatusNotFound, out.Status)
			require.Equal(t, c.want, out.Page)
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestTest_UnreachableHost(t *testing.T) {
	client, err := connect.New(connect.Config{BaseURL: "http://127.0.0.1:1"})
	require.NoError(t, err)
	require.ErrorContains(t, client.Test(context.Background()), "connection refused")
}

// TestNew_ErrorsHideSecret checks that New rejects invalid base URLs and credentials, and that no error and no printed Auth contains the
// secret.
func TestNew_ErrorsHideSecret(t *testing.T) {
	for base, want := range map[string]string{
		"": "it is empty", "ftp://h": "must begin with", "http://": "names no host", "http://h/?a=b": "must not have a query",
		"http://h/#f": "must not have a query", "http://me:hunter2@h": "contains credentials", "http://h\x00hunter2": "not a URL",
	} {
		_, err := connect.New(connect.Config{BaseURL: base})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
	for _, auth := range []engine.Auth{{Secret: "hunter2\r\nX: y"}, {Scheme: engine.Basic, Secret: "hunter2"},
		{Scheme: "OAUTH", Secret: "hunter2"}} {
		_, err := connect.New(connect.Config{BaseURL: "http://h", Auth: auth})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter2")
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", auth, auth, auth), "hunter2")
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	require.Equal(t, now.Add(7*time.Second), connect.RetryAfter(" 7 ", now))
	require.Equal(t, now.Add(time.Minute), connect.RetryAfter("Tue, 01 Jan 2030 00:01:00 GMT", now))
	for _, bad := range []string{"", "-1", "soon", "1.5"} {
		require.Zero(t, connect.RetryAfter(bad, now), bad)
	}
}
