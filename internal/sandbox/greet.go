package sandbox

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Greet prints where everything answers, what was provisioned, and what to try next.
func (s *Sandbox) Greet(w io.Writer) {
	r := s.ready
	fmt.Fprintf(w, "scimwright sandbox is ready (%s)\n\n", s.took.Round(10*time.Millisecond))
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(table, "  "+strings.Join(cells, "\t")) }
	row("Management API", r.BaseURL+"/api/v1", "Authorization: SSWS "+r.APIToken)
	row("SCIM server", r.SCIMURL, "Authorization: Bearer "+r.SCIMToken)
	row("second SCIM server", r.BaseURL+prefixOf(chatTarget), "the same token")
	row("Console", r.BaseURL+"/")
	row("OpenAPI", r.BaseURL+"/openapi.json")
	_ = table.Flush()

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
		for _, line := range s.lines(app.ID) {
			fmt.Fprintln(w, "  "+line)
		}
		fmt.Fprintf(w, "\nEvery request that was sent, with its answer:\n  %s/apps/%s   (or GET %s/sandbox/v1/apps/%s/attempts)\n", r.BaseURL, app.ID, r.BaseURL, app.ID)
	}
	if s.options.temporary {
		fmt.Fprint(w, "\nThe data is temporary; --data DIR keeps it. Ctrl-C ends the sandbox.\n")
	} else {
		fmt.Fprint(w, "\nCtrl-C ends the sandbox; the data stays.\n")
	}
}

// lines are the three command lines to paste.
func (s *Sandbox) lines(app string) []string {
	const login = "robin.example@northwind.example"
	r := s.ready
	api := func(path, body string) string {
		return fmt.Sprintf(`curl -sS -H "Authorization: SSWS %s" -H "Content-Type: application/json" -d %s %s%s`, r.APIToken, body, r.BaseURL, path)
	}
	return []string{
		`NEW=$(` + api("/api/v1/users", `'{"profile":{"login":"`+login+`","email":"`+login+`","firstName":"Robin","lastName":"Example"}}'`) +
			` | grep -o '00u[0-9A-Za-z]*' | head -1); echo "created user $NEW"`,
		api("/api/v1/apps/"+app+"/users", `"{\"id\":\"$NEW\"}"`) + "; echo",
		fmt.Sprintf(`sleep 1; curl -sS -G -H "Authorization: Bearer %s" --data-urlencode 'filter=userName eq "%s"' %s/Users; echo`, r.SCIMToken, login, r.SCIMURL),
	}
}

// appSummary counts what one application's target was brought to.
type appSummary struct {
	label, style                         string
	active, inactive, groups, incomplete int
}

// String reads as part of a sentence: "17 active users, 1 deactivated, 2 groups".
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
