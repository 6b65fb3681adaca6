package sandbox_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// form sends a form of a page that is not an action.
func (b *consoleBrowser) form(path string, form url.Values) string {
	b.t.Helper()
	found := consoleCSRF.FindStringSubmatch(b.get("/requests"))
	require.Len(b.t, found, 2)
	form.Set("csrf", found[1])
	return b.post(path, form)
}

// from sends the form of an action that a page has, and returns the page that follows.
func (b *consoleBrowser) from(page, action string, form url.Values) string {
	b.t.Helper()
	form.Set("back", page)
	return b.form("/do/"+action, form)
}

// newReader returns the client of a READ_ONLY_ADMIN.
func newReader(t *testing.T, api *sandbox.APIClient) *sandbox.APIClient {
	t.Helper()
	id := newUser(t, api, "reader@northwind.example")
	do(t, api, http.MethodPost, "/api/v1/users/"+id+"/roles", `{"type":"READ_ONLY_ADMIN"}`, nil)
	var made struct{ Token string }
	do(t, api, http.MethodPost, "/sandbox/v1/api-tokens", `{"name":"reader","userId":"`+id+`"}`, &made)
	return &sandbox.APIClient{BaseURL: api.BaseURL, Token: made.Token}
}

// The pages of the SCIM servers, the outbox, the hooks and the suite, and their forms.
func TestConsole_ServersAndSuite(t *testing.T) {
	t.Parallel()
	eachDatabase(t, testServersAndSuite)
}

func testServersAndSuite(t *testing.T, o sandbox.Options) {
	o.Empty, o.NoRateLimits = true, true
	s, api := startOne(t, o)
	b := consoleLogin(t, api)
	const evil = `"><img src=x onerror=alert(1)>`
	evilUser, err := createSCIM(t.Context(), api.BaseURL+"/scim/v2/Users", s.Ready().SCIMToken,
		`{"schemas":["urn:ietf:params:scim:schemas:core:2.0:User"],`+
			`"userName":"ada\"><img src=x onerror=alert(1)>","displayName":"\"><img src=x onerror=alert(1)>","externalId":"\"><img src=x>"}`)
	require.NoError(t, err)
	safe := func(name, page string) string {
		t.Helper()
		require.NotContains(t, page, "<img", name)
		require.NotContains(t, page, "<script>", name)
		return page
	}

	t.Run("servers", func(t *testing.T) {
		page := safe("list", b.get("/servers"))
		require.Contains(t, page, ">default</a>")
		require.Contains(t, page, ">chat</a>")
		made := b.from("/servers", "createProvider", url.Values{"name": {"trial"}, "quirks": {"no-patch\npatch-members=5"}})
		require.Contains(t, made, "The token is shown only now.")
		token := regexp.MustCompile(`00[A-Z0-9]{40}`).FindString(made)
		require.NotEmpty(t, token)
		page = b.get("/servers/trial")
		require.NotContains(t, page, token)
		require.Contains(t, page, "<code>no-patch</code>")
		require.Contains(t, page, "0 resources")
		require.Contains(t, b.from("/servers", "createProvider", url.Values{"name": {"Not Valid"}}), "cannot be the name")
		second := b.from("/servers", "createProviderToken", url.Values{"provider": {"trial"}, "readOnly": {"true"}})
		require.Contains(t, second, "The token is created")
		page = b.get("/servers/trial")
		require.Contains(t, page, "read only")
		id := regexp.MustCompile(`deleteProviderToken\?provider=trial&amp;token=([0-9a-f]{12})`).FindStringSubmatch(page)
		require.Len(t, id, 2)
		revoked := b.from("/servers", "deleteProviderToken", url.Values{"provider": {"trial"}, "token": {id[1]}})
		require.Contains(t, revoked, "The token is revoked.")
		require.Contains(t, b.from("/servers", "deleteProvider", url.Values{"provider": {"trial"}}), "Type trial to confirm")
		deleted := b.from("/servers", "deleteProvider", url.Values{"provider": {"trial"}, "typed": {"trial"}})
		require.Contains(t, deleted, "The SCIM server is deleted.")
		require.NotContains(t, b.get("/servers"), ">trial</a>")
	})

	t.Run("quirks", func(t *testing.T) {
		path := "/servers/default/quirks"
		require.Contains(t, b.get(path), "0 of ")
		page := b.form(path, url.Values{"quirk": {"no-patch"}, "on": {"true"}})
		require.Contains(t, page, "The quirk no-patch is on.")
		require.Contains(t, page, "curl -sS -X PUT")
		page = b.form(path, url.Values{"quirk": {"patch-members"}, "setting": {"patch-members=3"}, "on": {"true"}})
		require.Contains(t, page, "<code>patch-members=3</code>")
		var list struct{ Active []string }
		do(t, api, http.MethodGet, "/sandbox/v1/scim/default/quirks", "", &list)
		require.ElementsMatch(t, []string{"no-patch", "patch-members=3"}, list.Active)
		require.Contains(t, safe("evil", b.form(path, url.Values{"quirk": {evil}, "setting": {evil}, "on": {"true"}})), "nknown quirk")
		b.form(path, url.Values{"quirk": {"no-patch"}})
		b.form(path, url.Values{"quirk": {"patch-members"}})
		do(t, api, http.MethodGet, "/sandbox/v1/scim/default/quirks", "", &list)
		require.Empty(t, list.Active)
	})

	t.Run("resources", func(t *testing.T) {
		page := safe("list", b.get("/servers/default/resources/Users"))
		require.Contains(t, page, "1 to 1 of 1")
		require.Contains(t, safe("search", b.get("/servers/default/resources/Users?q=ada")), "1 to 1 of 1")
		require.Contains(t, b.get("/servers/default/resources/Users?q=eve"), "No resource matches.")
		require.Contains(t, b.get("/servers/default/resources/Users?q=userName+pr"), "1 to 1 of 1")
		require.Contains(t, b.get("/servers/default/resources/Users?q=active+eq+false"), "No resource matches.")
		require.Contains(t, b.get("/servers/default/resources/Users?q="+url.QueryEscape(`userName eq "eve"`)), "No resource matches.")
		require.Contains(t, safe("bad filter", b.get("/servers/default/resources/Users?q="+url.QueryEscape(`userName eq (<img>"`))),
			"The SCIM server returned 400")
		require.Contains(t, safe("one", b.get("/servers/default/resources/Users/"+evilUser)), "&#34;userName&#34;")
		require.Contains(t, b.get("/servers/default/resources/Users/none"), "The SCIM server returned 404")
		require.Contains(t, b.get("/servers/default/resources/Bulk"), "no such resource type")
		require.Contains(t, b.get("/servers/none/resources/Users"), "does not exist")
		require.Contains(t, b.from("/servers", "resetProvider", url.Values{"provider": {"chat"}}), "Type chat to confirm")
		reset := b.from("/servers", "resetProvider", url.Values{"provider": {"default"}, "typed": {"default"}})
		require.Contains(t, reset, "The resources are deleted.")
		require.Contains(t, b.get("/servers/default/resources/Users"), "The server has no resource of this type.")
		found, err := find(t.Context(), api.BaseURL+"/scim/v2", s.Ready().SCIMToken, "ada")
		require.NoError(t, err)
		require.Zero(t, found.TotalResults)
	})

	t.Run("outbox", func(t *testing.T) {
		require.Contains(t, b.get("/outbox"), "The outbox is empty.")
		do(t, api, http.MethodPost, "/api/v1/users?activate=true&sendEmail=true", `{"profile":{"login":"cleo@northwind.example",`+
			`"email":"cleo@northwind.example","firstName":"<img src=x>","lastName":"C"}}`, nil)
		page := safe("outbox", b.get("/outbox"))
		require.Contains(t, page, "cleo@northwind.example")
		require.Contains(t, page, "Open the link")
		require.Contains(t, b.get("/outbox?q=nobody"), "No message matches.")
		require.Contains(t, b.from("/outbox", "deleteMessages", url.Values{}), "The outbox is empty.")
	})

	t.Run("hooks", func(t *testing.T) {
		require.Contains(t, b.get("/hooks"), "There is no hook yet.")
		page := b.from("/servers", "createInlineHook", url.Values{
			"name": {evil}, "type": {"com.svc.telephony.provider"}, "channel.config.uri": {"https://127.0.0.1:1/hook"},
			"channel.config.authScheme.key": {"Authorization"}, "channel.config.authScheme.value": {"hook-secret"},
		})
		id := regexp.MustCompile(`/hooks/([0-9A-Za-z]+)/execute`).FindStringSubmatch(safe("created", page))
		require.Len(t, id, 2)
		require.NotContains(t, page, "hook-secret")
		page = safe("tested", b.form("/hooks/"+id[1]+"/execute", url.Values{"envelope": {`{"a":1}`}}))
		require.Contains(t, page, "The call has failed")
		require.Contains(t, page, "&#34;a&#34;: 1")
		require.Contains(t, page, "inline_hook.executed", "the log of calls")
		page = safe("calls", b.get("/hooks/"+id[1]))
		require.Contains(t, page, "&#34;a&#34;: 1", "the envelope of the call")
		require.Contains(t, page, "no response")
		require.Contains(t, b.form("/hooks/"+id[1]+"/execute", url.Values{"envelope": {`{`}}), "The envelope is not JSON.")
		require.Contains(t, b.from("/servers", "deactivateInlineHook", url.Values{"hook": {id[1]}}), "The hook is inactive.")
		require.Contains(t, b.get("/hooks/"+id[1]), "Activate the hook to test it.")
		require.Contains(t, b.from("/servers", "activateInlineHook", url.Values{"hook": {id[1]}}), "The hook is active.")
		b.from("/servers", "deactivateInlineHook", url.Values{"hook": {id[1]}})
		require.Contains(t, b.from("/servers", "deleteInlineHook", url.Values{"hook": {id[1]}}), "The hook is deleted.")
	})

	t.Run("suite", func(t *testing.T) {
		require.Contains(t, b.get("/conformance"), "There is no run yet.")
		asked := b.form("/conformance", url.Values{"url": {"https://scim.example.com"}, "token": {"never-shown"}})
		require.Contains(t, asked, "on another machine")
		page := safe("bad URL", b.form("/conformance", url.Values{"url": {evil}, "token": {"never-shown"}}))
		require.Contains(t, page, "is not a")
		require.NotContains(t, page, "never-shown")
		first := suiteRun(t, b, url.Values{"server": {"default"}, "profile": {"okta"}})
		page = b.get("/conformance/runs/" + first)
		require.Contains(t, page, "</span> works</span>")
		require.Contains(t, page, "scim-conformance run ")
		b.form("/servers/default/quirks", url.Values{"quirk": {"no-patch"}, "on": {"true"}})
		second := suiteRun(t, b, url.Values{"server": {"default"}, "profile": {"okta"}})
		b.form("/servers/default/quirks", url.Values{"quirk": {"no-patch"}})
		page = b.get("/conformance/runs/" + second)
		require.Contains(t, page, "</span> breaks</span>")
		finding := regexp.MustCompile(`/conformance/runs/` + second + `/checks/[a-z.-]+`).FindString(page)
		require.NotEmpty(t, finding)
		page = b.get(finding)
		require.Contains(t, page, "501 Not Implemented")
		require.Contains(t, page, "<h4>Request</h4>")
		page = b.get("/conformance/compare?before=" + first + "&after=" + second)
		require.Contains(t, page, "okta.catalog-deactivate")
		require.Contains(t, b.get("/conformance/runs/"+second+"/report.json"), `"tool": "scim-conformance"`)
		require.Contains(t, b.get("/conformance/runs/none"), "This run does not exist")
		require.Contains(t, b.get("/conformance/runs/"+second+"/checks/none"), "This run has no such check")
		var provider struct{ Tokens []struct{ ID string } }
		do(t, api, http.MethodGet, "/sandbox/v1/scim/default", "", &provider)
		require.Len(t, provider.Tokens, 1, "the tokens of the runs are removed")
		third := suiteRun(t, b, url.Values{"url": {"http://169.254.169.254/latest"}, "consent": {"true"}, "profile": {"rfc"}})
		require.Contains(t, safe("forbidden address", b.get("/conformance/runs/"+third)), "connections to it are not allowed")
	})

	t.Run("mapping", func(t *testing.T) {
		app := newApp(t, api, newTarget(t, scimHandler(t)).URL, scimToken)
		user := newUser(t, api, "dora@northwind.example")
		page := b.get("/apps/" + app + "/mapping?user=" + user)
		require.Contains(t, page, "not assigned to this app")
		do(t, api, http.MethodPost, "/api/v1/apps/"+app+"/users", `{"id":"`+user+`"}`, nil)
		page = b.get("/apps/" + app + "/mapping")
		require.Contains(t, page, ">dora@northwind.example</h3>", "an assigned user is the default")
		require.Contains(t, page, "<code>user.lastName</code>")
		require.Contains(t, safe("search", b.get("/apps/"+app+"/mapping?q=dora")), "?user="+user)
		require.Contains(t, b.get("/apps/"+app+"/mapping?q=nobody"), "No user matches.")
		path := "/apps/" + app + "/mapping"
		page = b.form(path, url.Values{"user": {user}, "rule:email": {"String.toUpperCase(user.email)"}})
		require.Contains(t, page, "1 value of this user would change.")
		require.Contains(t, page, "DORA@NORTHWIND.EXAMPLE")
		require.Contains(t, safe("bad rule", b.form(path, url.Values{"user": {user}, "rule:email": {`<img src=x>(`}})), "Correct the rule")
		require.NotContains(t, b.get(path+"?user="+user), "toUpperCase", "a draft is not stored")
	})

	t.Run("viewer", func(t *testing.T) {
		v := consoleLogin(t, newReader(t, api))
		page := v.get("/conformance")
		require.NotContains(t, page, `action="/conformance"`)
		require.NotContains(t, page, `href="/servers"`)
		var apps []struct{ ID string }
		do(t, api, http.MethodGet, "/api/v1/apps?limit=1", "", &apps)
		rules := v.get("/apps/" + apps[0].ID + "/mapping")
		require.Contains(t, rules, "<code>user.lastName</code>")
		require.NotContains(t, rules, "rule:lastName")
		require.Contains(t, v.form("/conformance", url.Values{"url": {api.BaseURL + "/scim/v2"}}), "You may not do this")
		require.Contains(t, v.form("/servers/default/quirks", url.Values{"quirk": {"no-patch"}, "on": {"true"}}), "You may not do this")
		for _, path := range []string{"/servers", "/servers/default", "/servers/default/resources/Users", "/outbox"} {
			require.Contains(t, v.get(path), "You may not do this", path)
		}
		for _, action := range []string{"resetProvider", "deleteProvider", "createProviderToken"} {
			page := v.from("/servers", action, url.Values{"provider": {"default"}, "typed": {"default"}})
			require.NotContains(t, page, "shown only now", action)
			require.NotContains(t, page, "are deleted", action)
		}
		runs := regexp.MustCompile(`/conformance/runs/[a-z0-9]+`).FindString(page)
		require.NotEmpty(t, runs, "a viewer reads the reports")
		require.Contains(t, v.form(runs+"/cancel", url.Values{}), "You may not do this")
	})

	t.Run("foreign forms", func(t *testing.T) {
		for _, path := range []string{
			"/conformance", "/conformance/runs/x/cancel", "/servers/default/quirks", "/hooks/x/execute",
		} {
			require.Contains(t, b.post(path, url.Values{"csrf": {"wrong"}}), "The form belongs to another login.", path)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, api.BaseURL+path, strings.NewReader(""))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("Origin", "https://evil.example")
			res, err := (&http.Client{Jar: b.jar}).Do(req)
			require.NoError(t, err)
			_ = res.Body.Close()
			require.Equal(t, http.StatusForbidden, res.StatusCode, path)
		}
	})
}

// suiteRun starts a run, waits for its end and returns its id.
func suiteRun(t *testing.T, b *consoleBrowser, form url.Values) string {
	t.Helper()
	page := b.form("/conformance", form)
	id := regexp.MustCompile(`/conformance/runs/([a-z0-9]+)`).FindStringSubmatch(page)
	require.Len(t, id, 2, page)
	eventually(t, "the run has ended", func() bool {
		return !strings.Contains(b.get("/conformance/runs/"+id[1]), `id="progress"`)
	})
	return id[1]
}

// createSCIM creates a resource and returns its id.
func createSCIM(ctx context.Context, endpoint, token, body string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/scim+json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var made struct{ ID string }
	err = json.NewDecoder(res.Body).Decode(&made)
	return made.ID, err
}
