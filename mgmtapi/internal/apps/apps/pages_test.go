package apps_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/catalog"
)

// everyApp returns the body of an application for each mode of each catalog entry, by a name.
func everyApp(t *testing.T) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for entry := range catalog.All() {
		for _, mode := range entry.Modes {
			body := map[string]any{"label": "Ärger & <b>Söhne</b>", "signOnMode": mode}
			if entry.Custom() && mode == catalog.SAML {
				require.NoError(t, json.Unmarshal([]byte(customSAML), &body))
				out["custom "+string(mode)] = body
				continue
			}
			settings := map[string]any{"app": filled(entry.App)}
			if entry.Custom() {
				settings = map[string]any{"signOn": filled(entry.SignOn)}
			} else {
				body["name"] = entry.Name
			}
			if mode == catalog.OpenIDConnect {
				settings = map[string]any{
					"oauthClient": map[string]any{"application_type": "service", "grant_types": []string{"client_credentials"},
						"response_types": []string{"token"}}}
				body["credentials"] = map[string]any{"oauthClient": map[string]any{"token_endpoint_auth_method": "client_secret_basic"}}
			}
			body["settings"] = settings
			out[entry.Name+" "+string(mode)] = body
		}
	}
	return out
}

func filled(settings []catalog.Setting) map[string]any {
	out := map[string]any{}
	for _, s := range settings {
		if s.Required {
			out[s.Name] = "https://app.example/x"
		}
	}
	return out
}

// hrefs returns all links in a value that can be read with GET.
func hrefs(value any) []string {
	var out []string
	switch v := value.(type) {
	case map[string]any:
		href, _ := v["href"].(string)
		hints, _ := v["hints"].(map[string]any)
		allow, _ := hints["allow"].([]any)
		if href != "" && (len(allow) == 0 || allow[0] == "GET") {
			out = append(out, href)
		}
		for _, inner := range v {
			out = append(out, hrefs(inner)...)
		}
	case []any:
		for _, inner := range v {
			out = append(out, hrefs(inner)...)
		}
	}
	return out
}

// Proves B-users-56, C-apps-19.
func TestLinks_OfEveryApplication(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	user := e.Do(t, "POST /api/v1/users", `{"profile":{"login":"ann@example.com","email":"ann@example.com","firstName":"A","lastName":"B"}}`,
		nil).Value("id")
	for name, body := range everyApp(t) {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(body)
			require.NoError(t, err)
			id := e.Do(t, "POST /api/v1/apps", string(text), nil).Value("id")
			require.NotEmpty(t, id)
			e.Run(t, apitest.Step{Do: "POST /api/v1/apps/" + id + "/users", Body: `{"id":"` + user + `","credentials":{"userName":"ann"}}`})
			for _, status := range []string{"activate", "deactivate", "activate"} {
				e.Run(t, apitest.Step{Do: "POST /api/v1/apps/" + id + "/lifecycle/" + status})
				app := e.Do(t, "GET /api/v1/apps/"+id, "", nil)
				links := app.JSON.(map[string]any)["_links"].(map[string]any)
				for _, rel := range []string{"logo", "appLinks", "help"} {
					require.NotEmpty(t, hrefs(links[rel]), rel)
					for _, href := range hrefs(links[rel]) {
						page(t, href, app.Value("_links."+rel+".type"))
					}
				}
				require.Equal(t, "image/svg+xml", app.Value("_links.logo.0.type"))
				page(t, app.Value("_links.logo.0.href"), "image/svg+xml")
				for _, href := range hrefs(links) {
					a := e.Do(t, "GET "+href, "", map[string]string{"Accept": "*/*"})
					require.Equal(t, 200, a.Status, "%s: %s", href, a.Body)
				}
			}
			home := e.Do(t, "GET /api/v1/users/"+user+"/appLinks", "", nil)
			require.Equal(t, id, home.Value("0.appInstanceId"))
			page(t, home.Value("0.linkUrl"), "text/html")
			page(t, home.Value("0.logoUrl"), "image/svg+xml")
			require.NoError(t, err)
			require.Equal(t, 200, e.Do(t, "DELETE /api/v1/apps/"+id+"/users/"+user, "", nil).Status)
		})
	}
}

// page reads a page like a browser: without credentials.
func page(t *testing.T, url, media string) string {
	t.Helper()
	require.NotEmpty(t, url)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r.Header.Set("Accept", "text/html,application/xhtml+xml,image/avif,image/webp,*/*;q=0.8")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 200, res.StatusCode, "%s: %s", url, body)
	require.Contains(t, res.Header.Get("Content-Type"), media, url)
	require.Contains(t, res.Header.Get("Content-Security-Policy"), "default-src 'none'", url)
	require.Equal(t, "nosniff", res.Header.Get("X-Content-Type-Options"), url)
	require.Less(t, len(body), 2000, url)
	require.NotContains(t, string(body), "<b>", "a label is escaped")
	if media == "image/svg+xml" {
		decoder := xml.NewDecoder(bytes.NewReader(body))
		for {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, "%s", body)
		}
	}
	return string(body)
}

func TestLogo_FollowsLabel(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	app := func(label string) string {
		text, err := json.Marshal(label)
		require.NoError(t, err)
		return e.Do(t, "POST /api/v1/apps", `{"name":"bookmark","label":`+string(text)+`,"settings":{"app":{"url":"https://a.example"}}}`,
			nil).Value("_links.logo.0.href")
	}
	wiki := page(t, app("Our wiki"), "image/svg+xml")
	require.Equal(t, wiki, page(t, app("Our wiki"), "image/svg+xml"), "the same label gives the same logo")
	require.NotEqual(t, wiki, page(t, app("Other Wiki"), "image/svg+xml"))
	for label, initials := range map[string]string{"Our wiki": "OW", "ärger": "Ä", "<script>": "S", "&&&": "#", "日本 語": "日語", "1 & 2": "12"} {
		require.Contains(t, page(t, app(label), "image/svg+xml"), ">"+initials+"</text>", label)
	}
	page(t, e.Server.URL+"/assets/logos/zendesk", "image/svg+xml")
}

func TestPages_UnknownOrInactiveApp(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	app := e.Do(t, "POST /api/v1/apps", `{"name":"bookmark","label":"Wiki","settings":{"app":{"url":"https://a.example"}}}`, nil)
	help, link := app.Value("_links.help.href"), app.Value("_links.appLinks.0.href")
	for _, url := range []string{
		e.Server.URL + "/assets/logos/nothing", strings.Replace(help, "/bookmark/", "/zendesk/", 1),
		strings.Replace(link, "/bookmark/", "/zendesk/", 1),
		strings.Replace(help, app.Value("id"), "0oa1", 1), link[:len(link)-1] + "-",
	} {
		e.Run(t, apitest.Step{Do: "GET " + url, Status: 404, Code: "E0000007", Header: map[string]string{"Authorization": "", "Accept": "*/*"}})
	}
	require.Contains(t, page(t, link, "text/html"), "<h1>Wiki</h1>")
	e.Run(t, apitest.Step{Do: "POST /api/v1/apps/" + app.Value("id") + "/lifecycle/deactivate"})
	require.Contains(t, page(t, link, "text/html"), "not active")
}
