package sandbox_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/console/manage"
	"github.com/scimwright/scimwright/cmd/internal/sandbox"
)

// organization is a sandbox with the seed organization and a browser of its administrator.
type organization struct {
	*consoleBrowser

	user, group, app string // ids of a user, a group and an app; the user is in the group, and has the app by it
	viewer           *consoleBrowser
}

func newOrganization(t *testing.T, o sandbox.Options) *organization {
	t.Helper()
	o.NoRateLimits = true
	_, api := startOne(t, o)
	org := &organization{consoleBrowser: consoleLogin(t, api)}
	var found []struct{ ID string }
	do(t, api, http.MethodGet, "/api/v1/groups?search="+url.QueryEscape(`profile.name eq "Sales"`), "", &found)
	org.group = found[0].ID
	do(t, api, http.MethodGet, "/api/v1/groups/"+org.group+"/users", "", &found)
	org.user = found[0].ID
	do(t, api, http.MethodGet, "/api/v1/groups/"+org.group+"/apps", "", &found)
	org.app = found[0].ID
	viewer := newUser(t, api, "viewer@northwind.example")
	do(t, api, http.MethodPost, "/api/v1/users/"+viewer+"/roles", `{"type":"READ_ONLY_ADMIN"}`, nil)
	var made struct{ Token string }
	do(t, api, http.MethodPost, "/sandbox/v1/api-tokens", `{"name":"viewer","userId":"`+viewer+`"}`, &made)
	org.viewer = consoleLogin(t, &sandbox.APIClient{BaseURL: api.BaseURL, Token: made.Token})
	return org
}

// in returns the organization for a subtest.
func (o *organization) in(t *testing.T) *organization {
	own, viewer := *o.consoleBrowser, *o.viewer
	own.t, viewer.t = t, t
	return &organization{&own, o.user, o.group, o.app, &viewer}
}

// at sends the request for a page and returns its status.
func (b *consoleBrowser) at(path string) (int, string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.api.BaseURL+path, nil)
	require.NoError(b.t, err)
	res, page := b.do(req)
	return res.StatusCode, page
}

var (
	formInput    = regexp.MustCompile(`<input ([^>]*)>`)
	formSelect   = regexp.MustCompile(`(?s)<select id="[^"]*" name="([^"]*)".*?</select>`)
	formOption   = regexp.MustCompile(`<option value="([^"]*)" selected>`)
	formTextarea = regexp.MustCompile(`(?s)<textarea id="[^"]*" name="([^"]*)"[^>]*>\n?(.*?)</textarea>`)
	formHTML     = regexp.MustCompile(`(?s)<form method="post" action="[^"]*/do/[^"]*" class="stack">.*?</form>`)
)

func attributeOf(tag, name string) string {
	found := regexp.MustCompile(` ?\b` + name + `="([^"]*)"`).FindStringSubmatch(tag)
	if found == nil {
		return ""
	}
	return html.UnescapeString(found[1])
}

// open returns the values of the fields of a form, as a browser would send them.
func (b *consoleBrowser) open(action string, args url.Values) url.Values {
	b.t.Helper()
	status, page := b.at("/do/" + action + "?" + args.Encode())
	require.Equal(b.t, http.StatusOK, status, page)
	return b.fields(page)
}

func (b *consoleBrowser) fields(page string) url.Values {
	b.t.Helper()
	form := formHTML.FindString(page)
	require.NotEmpty(b.t, form, page)
	values := url.Values{}
	for _, tag := range formInput.FindAllStringSubmatch(form, -1) {
		kind, name := attributeOf(tag[1], "type"), attributeOf(tag[1], "name")
		if kind != "checkbox" || strings.Contains(tag[1], " checked") {
			values.Add(name, attributeOf(tag[1], "value"))
		}
	}
	for _, tag := range formSelect.FindAllStringSubmatch(form, -1) {
		selected := formOption.FindStringSubmatch(tag[0])
		if selected == nil {
			selected = regexp.MustCompile(`<option value="([^"]*)">`).FindStringSubmatch(tag[0])
		}
		values.Set(tag[1], html.UnescapeString(selected[1]))
	}
	for _, tag := range formTextarea.FindAllStringSubmatch(form, -1) {
		values.Set(tag[1], strings.ReplaceAll(html.UnescapeString(tag[2]), "\n", "\r\n"))
	}
	return values
}

// sendForm sends the form of an action without opening it, with the token of the session, and returns the page that follows.
func (b *consoleBrowser) sendForm(action string, form url.Values) string {
	b.t.Helper()
	found := consoleCSRF.FindStringSubmatch(b.get("/users"))
	require.Len(b.t, found, 2)
	form.Set("csrf", found[1])
	return b.post("/do/"+action, form)
}

// fill opens a form, changes fields, and sends it.
func (b *consoleBrowser) fill(action string, args url.Values, change ...string) string {
	b.t.Helper()
	values := b.open(action, args)
	for i := 0; i+1 < len(change); i += 2 {
		if change[i+1] == "" {
			values.Del(change[i])
		}
		values.Set(change[i], change[i+1])
	}
	return b.post("/do/"+action, values)
}

func (o *organization) paths() map[string]string {
	u, g, a := "/users/"+o.user, "/groups/"+o.group, "/apps/"+o.app+"/assignments"
	return map[string]string{
		"/users": "New user", u: "Profile", u + "/apps": "Assign an app to", u + "/groups": "to a group", "/groups": "Sales", g: "Members",
		g + "/users": "Add members to Sales", g + "/apps": "Assign an app to Sales", a: "Assigned groups", a + "/users": "Assign users to",
		a + "/groups": "Assign groups to", "/log": "Older events", "/log?about=" + o.user: "Events whose actor or target is",
		"/tokens": "OAuth clients", "/clock": "Time of the sandbox", "/settings": "Types of factors",
		"/users?q=ada": "ada.lindqvist", "/users?status=DEPROVISIONED": "deprovisioned", "/groups?q=sal": "Sales",
		"/users?search=" + url.QueryEscape(`profile.department eq "Sales"`): "northwind.example",
		"/log?result=FAILURE&since=2020-01-01T00:00":                        "Correct the filter",
	}
}

func TestManage(t *testing.T) {
	t.Parallel()
	eachDatabase(t, testManage)
}

func testManage(t *testing.T, options sandbox.Options) {
	o := newOrganization(t, options)
	t.Run("pages", func(t *testing.T) {
		o := o.in(t)
		for path, content := range o.paths() {
			status, page := o.at(path)
			require.Equal(t, http.StatusOK, status, "%s: %s", path, page)
			require.Contains(t, page, content, path)
		}
	})
	t.Run("events", func(t *testing.T) {
		o := o.in(t)
		link := regexp.MustCompile(`/log/[^"]+`).FindString(o.get("/log?about=" + o.user))
		require.Contains(t, o.get(html.UnescapeString(link)), "&#34;eventType&#34;")
		require.Contains(t, o.get("/log/none"), "does not exist")
	})
	t.Run("viewer", func(t *testing.T) { viewerSees(t, o.in(t)) })
	t.Run("form tokens", func(t *testing.T) { formTokens(t, o.in(t)) })
	t.Run("stored text", func(t *testing.T) { storedText(t, o.in(t)) })
	t.Run("operations", func(t *testing.T) {
		var document struct{ Paths map[string]map[string]any }
		do(t, o.api, http.MethodGet, "/openapi.json", "", &document)
		variable := regexp.MustCompile(`\{\w+\}`)
		served := map[string]bool{}
		for path, methods := range document.Paths {
			for method := range methods {
				served[strings.ToUpper(method)+" "+variable.ReplaceAllString(path, "{}")] = true
			}
		}
		for id, row := range manage.New(manage.Options{}).Actions() {
			require.True(t, served[row.Method+" "+variable.ReplaceAllString(row.Path, "{}")], "%s calls %s %s", id, row.Method, row.Path)
		}
	})
	t.Run("actions", func(t *testing.T) { manageActions(t, o.in(t)) })
	t.Run("paging", func(t *testing.T) {
		o := o.in(t)
		for i := range 55 {
			newUser(t, o.api, "page"+strings.Repeat("x", i)+"@pages.example")
		}
		first := o.get("/users?q=page")
		next := regexp.MustCompile(`href="(\?[^"]*after=[^"]*)"`).FindStringSubmatch(first)
		require.NotNil(t, next)
		require.Equal(t, 50, strings.Count(first, "@pages.example</a>"))
		require.Equal(t, 5, strings.Count(o.get("/users"+html.UnescapeString(next[1])), "@pages.example</a>"))
	})
	t.Run("reset", func(t *testing.T) {
		o := o.in(t)
		require.Contains(t, o.fill("resetSandbox", url.Values{"back": {"/"}}, "typed", "rest"), "Type reset to confirm.")
		require.Contains(t, o.fill("resetSandbox", url.Values{"back": {"/users"}}, "typed", "reset", "seed", ""), "The sandbox is reset.")
		require.Equal(t, 1, strings.Count(o.get("/users"), "<tr><td"))
	})
}

// viewerSees requires that a READ_ONLY_ADMIN sees the pages without buttons, and that the API rejects its forms.
func viewerSees(t *testing.T, o *organization) {
	for path := range o.paths() {
		status, page := o.viewer.at(path)
		if path == "/clock" || path == "/settings" {
			require.Equal(t, http.StatusForbidden, status, path)
			continue
		}
		require.Equal(t, http.StatusOK, status, path)
		require.NotContains(t, page, "/do/", path)
		require.NotContains(t, page, `href="/settings"`, path)
	}
	for action, form := range map[string]url.Values{
		"suspendUser": {"user": {o.user}}, "deactivateUser": {"user": {o.user}}, "deleteGroup": {"group": {o.group}, "typed": {"5"}},
		"createUser": {"profile.login": {"new@northwind.example"}, "profile.email": {"new@northwind.example"}, "profile.firstName": {"N"},
			"profile.lastName": {"N"}},
		"createGroup":     {"profile.name": {"New"}},
		"removeGroupUser": {"group": {o.group}, "user": {o.user}}, "assignUserToApplication": {"app": {o.app}, "id": {o.user}},
		"createAPIToken": {"name": {"x"}, "userId": {"me"}}, "holdWork": {}, "advanceClock": {"amount": {"1"}, "unit": {"days"}},
		"resetSandbox": {"typed": {"reset"}},
	} {
		form.Set("back", "/users")
		page := o.viewer.sendForm(action, form)
		require.Regexp(t, "You may not do this|You do not have permission", page, action)
	}
	var u struct{ Status string }
	do(t, o.api, http.MethodGet, "/api/v1/users/"+o.user, "", &u)
	require.Equal(t, "ACTIVE", u.Status)
	var members []struct{ ID string }
	do(t, o.api, http.MethodGet, "/api/v1/groups/"+o.group+"/users", "", &members)
	require.NotEmpty(t, members)
}

// formTokens requires that no action runs without the token of the session, or from another site.
func formTokens(t *testing.T, o *organization) {
	for action := range manage.New(manage.Options{}).Actions() {
		form := url.Values{
			"user": {o.user}, "group": {o.group}, "app": {o.app}, "id": {o.user}, "typed": {"reset"}, "factor": {"token:hotp"}, "token": {"x"},
			"client": {"x"}, "csrf": {"guessed"},
		}
		require.Contains(t, o.post("/do/"+action, form), "belongs to another login", action)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, o.api.BaseURL+"/do/"+action, strings.NewReader(form.Encode()))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", "https://evil.example")
		res, page := o.do(req)
		require.Equal(t, http.StatusForbidden, res.StatusCode, action)
		require.Contains(t, page, "sent by another site", action)
	}
}

// storedText requires that no stored text becomes markup.
func storedText(t *testing.T, o *organization) {
	const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`
	quoted := strings.ReplaceAll(evil, `"`, `\"`)
	var made struct {
		ID    string
		Token string
	}
	do(t, o.api, http.MethodPost, "/api/v1/groups", `{"profile":{"name":"`+quoted+`","description":"`+quoted+`"}}`, &made)
	group := made.ID
	do(t, o.api, http.MethodPost, "/api/v1/users", `{"profile":{"login":"evil@northwind.example","email":"evil@northwind.example",`+
		`"firstName":"`+quoted[:40]+`","lastName":"`+quoted[:40]+`","department":"`+quoted+`"},"groupIds":["`+group+`"]}`, &made)
	user := made.ID
	do(t, o.api, http.MethodPost, "/api/v1/apps", `{"name":"scim2_test_app","label":"`+quoted+`","settings":{"app":{}}}`, &made)
	app := made.ID
	do(t, o.api, http.MethodPost, "/api/v1/apps/"+app+"/users", `{"id":"`+user+`"}`, nil)
	do(t, o.api, http.MethodPut, "/api/v1/apps/"+app+"/groups/"+group, `{}`, nil)
	do(t, o.api, http.MethodPost, "/sandbox/v1/api-tokens", `{"name":"`+quoted+`","userId":"me"}`, &made)
	token := made.ID
	do(t, o.api, http.MethodPost, "/oauth2/v1/clients", `{"client_name":"`+quoted+`","grant_types":["client_credentials"],`+
		`"response_types":["token"],"application_type":"service"}`, nil)
	q := url.QueryEscape(evil)
	for _, path := range []string{
		"/users?status=STAGED&q=" + q, "/users?search=" + q, "/users?status=" + q, "/users/" + user, "/users/" + user + "/apps?q=" + q,
		"/users/" + user + "/groups", "/groups", "/groups?q=" + q, "/groups/" + group, "/groups/" + group + "/users",
		"/groups/" + group + "/apps",
		"/apps/" + app + "/assignments?q=" + q, "/apps/" + app + "/assignments", "/apps/" + app + "/assignments/users",
		"/apps/" + app + "/assignments/groups", "/log?filter=" + q, "/log?about=" + user, "/log?about=" + q + "&since=" + q, "/tokens",
		"/tokens?q=" + q,
		"/users/" + q, "/groups/" + q, "/log/" + q,
		"/do/updateUser?user=" + user, "/do/createUser?profile.login=" + q, "/do/deactivateUser?user=" + user, "/do/replaceGroup?group=" + group,
		"/do/deleteGroup?group=" + group, "/do/removeGroupUser?group=" + group + "&user=" + user, "/do/revokeApiToken?token=" + token,
		"/do/updateApplicationUser?app=" + app + "&user=" + user, "/do/assignGroupToApplication?app=" + app + "&group=" + group,
		"/do/deactivateOrgFactor?factor=" + q, "/do/advanceClock?amount=" + q,
	} {
		status, page := o.at(path)
		require.Less(t, status, http.StatusInternalServerError, "%s: %s", path, page)
		for _, markup := range []string{"<script>", "<img"} {
			require.NotContains(t, page, markup, path)
		}
	}
	page := o.fill("createGroup", nil, "profile.name", evil)
	require.Contains(t, page, "already exists")
	require.NotContains(t, page, "<img")
	require.NotContains(t, o.sendForm("unsuspendUser", url.Values{"user": {evil}}), "<img")
}
