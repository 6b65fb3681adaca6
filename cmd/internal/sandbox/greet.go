package sandbox

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/serving"
	"github.com/scimwright/scimwright/scimserver/tenants"
)

// PrintWelcome prints the addresses of all services, the provisioned data and commands to try. It queries the sandbox for an unused login.
func (s *Sandbox) PrintWelcome(ctx context.Context, w io.Writer) {
	r := s.ready
	fmt.Fprintf(w, "scimwright sandbox is ready (%s)\n\n", s.took.Round(10*time.Millisecond))
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(table, "  "+strings.Join(cells, "\t")) }
	row("Management API", r.BaseURL+"/api/v1", "Authorization: SSWS "+r.APIToken)
	row("SCIM server", r.SCIMURL, "Authorization: Bearer "+r.SCIMToken)
	row("second SCIM server", r.BaseURL+tenants.Prefix(chatTarget), "the same token")
	for _, c := range s.options.Tenants {
		if c.Name != tenants.Default && c.Name != chatTarget {
			row("tenant "+c.Name, r.BaseURL+tenants.Prefix(c.Name), count(len(c.Tokens), "token"))
		}
	}
	row("Console", r.ConsoleURL)
	row("OpenAPI", r.BaseURL+"/openapi.json")
	if r.MetricsURL != "" {
		row("Metrics", r.MetricsURL)
	}
	_ = table.Flush()
	if s.options.ConsoleOpen {
		fmt.Fprint(w, "\nEvery process on this machine can use the console without a login.\n")
	} else {
		fmt.Fprintf(w, "\nThe address of the console logs in once, within an hour. Later, log in with the token of the management API,\n"+
			"or print a new address:\n  %s console link --url %s --api-token %s\n", serving.Program(), r.BaseURL, r.APIToken)
	}

	if len(s.summary) > 0 {
		fmt.Fprint(w, "\nProvisioned\n")
		table = tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
		for _, app := range s.summary {
			row(app.label, app.String(), app.style)
		}
		_ = table.Flush()
	}
	if len(s.settings.Apps) > 0 {
		app := s.settings.Apps[0]
		fmt.Fprintf(w, "\nTry it: create a user, assign it to %s, find it in the SCIM server\n", app.Label)
		for _, line := range s.commands(app.ID, s.freeLogin(ctx)) {
			fmt.Fprintln(w, "  "+line)
		}
		fmt.Fprintf(w, "\nEvery request to the target, with its response:\n  %s/apps/%s   (or GET %s/sandbox/v1/apps/%s/attempts)\n", r.BaseURL,
			app.ID, r.BaseURL, app.ID)
	}
	if s.options.temporary {
		fmt.Fprint(w, "\nThe data is temporary; use --data DIR to store it. Ctrl-C stops the sandbox.\n")
	} else {
		fmt.Fprint(w, "\nCtrl-C stops the sandbox; the data remains.\n")
	}
}

// LogStart logs the content of PrintWelcome without the tokens.
func (s *Sandbox) LogStart(ctx context.Context) {
	log := s.options.Logger
	log.InfoContext(ctx, "sandbox started", "url", s.ready.BaseURL, "scim_url", s.ready.SCIMURL, "pid", s.ready.PID, "took", s.took)
	for _, app := range s.summary {
		log.InfoContext(ctx, "seeded", "app", app.label, "active_users", app.active, "inactive_users", app.inactive, "groups", app.groups,
			"not_in_sync", app.incomplete)
	}
}

const (
	// maxLogins is the maximum number of logins to check. If all are used, the first one is printed.
	maxLogins = 50
	// loginTime is the maximum time to search for an unused login.
	loginTime = 5 * time.Second
)

// freeLogin returns an unused login for the user to create, so that the printed commands also work in a second run with the same data.
func (s *Sandbox) freeLogin(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	api := &APIClient{BaseURL: s.ready.BaseURL, Token: s.ready.APIToken, HTTP: &http.Client{Transport: transport}}
	login := func(n int) string {
		number := ""
		if n > 1 {
			number = strconv.Itoa(n)
		}
		return "robin.example" + number + "@northwind.example"
	}
	for n := 1; n <= maxLogins; n++ {
		var found []created
		search := url.Values{"search": {fmt.Sprintf("profile.login eq %q", login(n))}}
		if err := api.Do(ctx, http.MethodGet, "/api/v1/users?"+search.Encode(), nil, &found); err != nil {
			s.options.Logger.WarnContext(ctx, "no unused login found for the welcome text", "error", err)
			break
		}
		if len(found) == 0 {
			return login(n)
		}
	}
	return login(1)
}

// commands returns the three command lines to paste. The first prints the response of the API, so that an error response is visible.
func (s *Sandbox) commands(app, login string) []string {
	r := s.ready
	api := func(path, body string) string {
		return fmt.Sprintf(`curl -sS -H "Authorization: SSWS %s" -H "Content-Type: application/json" -d %s %s%s`, r.APIToken, body, r.BaseURL,
			path)
	}
	return []string{
		`NEW=$(` + api("/api/v1/users", `'{"profile":{"login":"`+login+`","email":"`+login+`","firstName":"Robin","lastName":"Example"}}'`) +
			`); echo "$NEW"; NEW=$(echo "$NEW" | grep -o '00u[0-9A-Za-z]*' | head -1)`,
		api("/api/v1/apps/"+app+"/users", `"{\"id\":\"$NEW\"}"`) + "; echo",
		fmt.Sprintf(`sleep 1; curl -sS -G -H "Authorization: Bearer %s" --data-urlencode 'filter=userName eq "%s"' %s/Users; echo`, r.SCIMToken,
			login, r.SCIMURL),
	}
}

// appSummary counts the provisioned users and groups of one application.
type appSummary struct {
	label, style                         string
	active, inactive, groups, incomplete int
}

// String returns a part of a sentence: "17 active users, 1 deactivated, 2 groups".
func (a appSummary) String() string {
	parts := []string{count(a.active, "active user")}
	if a.inactive > 0 {
		parts = append(parts, fmt.Sprintf("%d deactivated", a.inactive))
	}
	parts = append(parts, count(a.groups, "group"))
	if a.incomplete > 0 {
		parts = append(parts, fmt.Sprintf("%d not in sync", a.incomplete))
	}
	return strings.Join(parts, ", ")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
