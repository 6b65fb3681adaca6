package sandbox_test

import (
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// listingTarget is a SCIM server without users that accepts one value of the Authorization header, and repeats others in its error.
func listingTarget(t *testing.T, authorization string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/scim+json")
		if given := r.Header.Get("Authorization"); given != authorization {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"status":"401","detail":%q}`, "unknown: "+given)
			return
		}
		fmt.Fprint(w, `{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":0,"Resources":[]}`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// keptSecret matches the encrypted secret of a form.
var keptSecret = regexp.MustCompile(`name="kept" value="([^"]*)"`)

// all returns the form with all requests permitted.
func all(pairs ...string) url.Values {
	form := url.Values{"create": {"true"}, "update": {"true"}, "deactivate": {"true"}, "do": {"save"}}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

// The page that connects an app: with a SCIM server of the sandbox, with other servers and each form of credentials, and its errors.
func TestConsole_ConnectsApp(t *testing.T) {
	t.Parallel()
	eachDatabase(t, testConnectsApp)
}

func testConnectsApp(t *testing.T, o sandbox.Options) {
	o.Empty, o.NoRateLimits = true, true
	s, api := startOne(t, o)
	b := consoleLogin(t, api)
	apps := func() (all []struct{ ID, Label, Status string }) {
		t.Helper()
		do(t, api, http.MethodGet, "/api/v1/apps?limit=200", "", &all)
		return all
	}
	tokens := func(server string) int {
		t.Helper()
		var found struct{ Tokens []struct{ ID string } }
		do(t, api, http.MethodGet, "/sandbox/v1/scim/"+server, "", &found)
		return len(found.Tokens)
	}
	const secret, evil = "secret-of-the-target", `"><img src=x onerror=alert(1)>`

	t.Run("empty pages lead to it", func(t *testing.T) {
		for _, path := range []string{"/", "/requests"} {
			require.Contains(t, b.get(path), `href="/connect"`, path)
		}
		require.Contains(t, b.get("/connect"), `aria-label="Use chat"`)
	})

	t.Run("a SCIM server of the sandbox", func(t *testing.T) {
		before := tokens("chat")
		page := b.get("/connect?server=chat")
		require.Contains(t, page, "a new token of this server")
		require.NotContains(t, page, `name="secret"`)
		page = b.form("/connect", all("server", "chat", "do", "test", "label", "Chat"))
		require.Contains(t, page, "The connection works")
		require.Equal(t, before, tokens("chat"), "a test leaves no token")
		require.Empty(t, apps(), "a test stores nothing")
		page = b.form("/connect", all("server", "chat", "label", evil))
		require.Contains(t, page, "The app is connected.")
		require.Contains(t, page, "Assign users")
		require.NotContains(t, page, "<img")
		require.Contains(t, page, "curl -sS -X PUT")
		require.Equal(t, before+1, tokens("chat"))
		app := apps()[0].ID
		runCommands(t, api, curlOf(t, page))
		require.Equal(t, before+2, tokens("chat"))
		require.Len(t, apps(), 2)
		for _, same := range apps() {
			var connection struct{ Status, BaseURL string }
			do(t, api, http.MethodGet, "/api/v1/apps/"+same.ID+"/connections/default", "", &connection)
			require.Equal(t, "ENABLED", connection.Status)
			require.Equal(t, s.Ready().BaseURL+"/t/chat/scim/v2", connection.BaseURL)
			require.Equal(t, evil, same.Label)
		}
		user := newUser(t, api, "ada@northwind.example")
		do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", `{"id":"`+user+`"}`, nil)
		do(t, api, http.MethodPost, "/sandbox/v1/jobs/drain", "", nil)
		found, err := find(t.Context(), s.Ready().BaseURL+"/t/chat/scim/v2", s.Ready().SCIMToken, "ada@northwind.example")
		require.NoError(t, err)
		require.Equal(t, 1, found.TotalResults)
		for _, path := range []string{"/", "/connect?app=" + app, "/apps/" + app + "/target", "/do/deleteApplication?app=" + app} {
			require.NotContains(t, b.get(path), "<img", path)
		}
	})

	t.Run("another server", func(t *testing.T) {
		base := listingTarget(t, "Bearer "+secret)
		before := len(apps())
		page := b.form("/connect", all("label", "Other", "baseUrl", base, "scheme", "BEARER", "secret", "wrong-token-text", "do", "test"))
		require.Contains(t, page, "The connection does not work")
		require.NotContains(t, page, "wrong-token-text", "a server may repeat the token in its error")
		page = b.form("/connect", all("label", "Other", "baseUrl", base, "scheme", "BEARER", "secret", "wrong-token-text"))
		require.Contains(t, page, "Nothing was stored.")
		require.NotContains(t, page, "wrong-token-text")
		require.Len(t, apps(), before, "an app whose connection fails is removed")

		page = b.form("/connect", all("label", "Other", "baseUrl", base, "scheme", "BEARER", "secret", secret, "do", "test"))
		require.Contains(t, page, "The connection works")
		require.NotContains(t, page, secret)
		kept := keptSecret.FindStringSubmatch(page)
		require.NotEmpty(t, kept[1])
		other := consoleLogin(t, api)
		page = other.form("/connect", all("label", "Other", "baseUrl", base, "scheme", "BEARER", "kept", html.UnescapeString(kept[1])))
		require.Contains(t, page, "Enter the secret.", "another session cannot use it")
		page = b.form("/connect", all("label", "Other", "baseUrl", base, "scheme", "BEARER", "kept", html.UnescapeString(kept[1])))
		require.Contains(t, page, "The app is connected.")
		require.NotContains(t, page, secret)
		connected := len(apps())
		runCommands(t, api, curlOf(t, page), "SECRET="+secret)
		require.Len(t, apps(), connected+1)
	})

	t.Run("credentials", func(t *testing.T) {
		basic := listingTarget(t, "Basic "+base64.StdEncoding.EncodeToString([]byte("ann:"+secret)))
		page := b.form("/connect", all("label", "Basic", "baseUrl", basic, "scheme", "BASIC", "user", "ann", "secret", secret))
		require.Contains(t, page, "The app is connected.")
		raw := listingTarget(t, secret)
		page = b.form("/connect", all("label", "Raw", "baseUrl", raw, "scheme", "RAW", "secret", secret))
		require.Contains(t, page, "The app is connected.")
		issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if id, given, _ := r.BasicAuth(); id != "client" || given != secret {
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprint(w, `{"error":"invalid_client"}`)
				return
			}
			fmt.Fprint(w, `{"access_token":"access","token_type":"Bearer","expires_in":3600}`)
		}))
		t.Cleanup(issuer.Close)
		oauth := listingTarget(t, "Bearer access")
		page = b.form("/connect", all("label", "OAuth", "baseUrl", oauth, "scheme", "CLIENT_CREDENTIALS", "clientId", "client",
			"tokenUrl", issuer.URL, "secret", secret))
		require.Contains(t, page, "The app is connected.")
		for _, a := range apps() {
			page := b.get("/connect?app=" + a.ID)
			require.NotContains(t, page, secret, a.Label)
		}
	})

	t.Run("incomplete", func(t *testing.T) {
		page := b.form("/connect", all("scheme", "CLIENT_CREDENTIALS"))
		missing := []string{"Enter a name", "Enter the base URL", "Enter the id of the client", "Enter the URL of the token", "Enter the secret"}
		for _, text := range missing {
			require.Contains(t, page, text)
		}
		page = b.form("/connect", all("label", evil, "baseUrl", "ftp://"+evil, "scheme", "BEARER", "secret", secret, "user", evil))
		require.NotContains(t, page, "<img")
		require.Contains(t, page, "Nothing was stored.")
		require.Contains(t, b.form("/connect", all("label", "X", "scheme", evil)), "Select one of the forms")
		require.NotContains(t, b.get("/connect?server="+url.QueryEscape(evil)), "<img")
		require.Contains(t, b.get("/connect?app=none"), "does not exist")
	})

	t.Run("change and delete", func(t *testing.T) {
		base := listingTarget(t, "Bearer "+secret)
		b.form("/connect", all("label", "Changed", "baseUrl", base, "scheme", "BEARER", "secret", secret))
		found := apps()
		app := found[0].ID
		for _, a := range found {
			if a.Label == "Changed" {
				app = a.ID
			}
		}
		target := "/apps/" + app + "/target"
		require.Contains(t, b.get(target), "Deactivate the connection")
		page := b.form("/connect", url.Values{"app": {app}, "baseUrl": {base + "/v2"}, "scheme": {"BEARER"}, "do": {"save"}})
		require.Contains(t, page, "The connection is changed.", "without a secret, the stored one remains")
		require.Contains(t, page, base+"/v2")
		page = b.form("/connect", url.Values{"app": {app}, "baseUrl": {base}, "scheme": {"BEARER"}, "do": {"test"}})
		require.Contains(t, page, "requires the secret")
		page = b.fill("updateFeature", url.Values{"app": {app}, "back": {target}}, "deactivate", "")
		require.Contains(t, page, "The permitted requests are stored.")
		require.NotContains(t, b.get("/do/updateFeature?app="+app), `name="deactivate" value="true" checked`)
		require.Contains(t, b.fill("deactivateDefaultConnection", url.Values{"app": {app}, "back": {target}}), "The connection is inactive.")
		require.Contains(t, b.get(target), "Activate the connection")
		require.Contains(t, b.form("/do/activateDefaultConnection", url.Values{"app": {app}, "back": {target}}), "The connection is active.")
		require.NotContains(t, b.get(target), "Delete the app")
		require.Contains(t, b.fill("deactivateApplication", url.Values{"app": {app}, "back": {target}}), "The app is inactive.")
		require.Contains(t, b.fill("deleteApplication", url.Values{"app": {app}}), "Type Changed to confirm")
		require.Contains(t, b.fill("deleteApplication", url.Values{"app": {app}}, "typed", "Changed"), "The app is deleted.")
		require.Len(t, apps(), len(found)-1)
	})

	t.Run("attacks", func(t *testing.T) {
		before := len(apps())
		viewer := consoleLogin(t, newReader(t, api))
		require.NotContains(t, viewer.get("/"), `href="/connect"`)
		require.Contains(t, viewer.get("/connect"), "requires the permission to change apps")
		for _, action := range []string{"save", "test"} {
			require.Contains(t, viewer.form("/connect", all("server", "chat", "label", "X", "do", action)), "You may not do this")
		}
		for _, action := range []string{"deactivateApplication", "deactivateDefaultConnection", "updateFeature"} {
			page := viewer.form("/do/"+action, url.Values{"app": {apps()[0].ID}, "back": {"/"}})
			require.True(t, strings.Contains(page, "permission") || strings.Contains(page, "not allowed"), page)
		}
		require.Contains(t, b.post("/connect", all("server", "chat", "label", "X", "csrf", "wrong")), "belongs to another login")
		form := strings.NewReader(all("server", "chat").Encode())
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, api.BaseURL+"/connect", form)
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", "https://evil.example")
		res, page := b.do(req)
		require.Equal(t, http.StatusForbidden, res.StatusCode)
		require.Contains(t, page, "another site")
		require.Len(t, apps(), before)
		require.Equal(t, "ACTIVE", apps()[0].Status)
	})
}
