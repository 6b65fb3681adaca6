package conform

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/conformance"
	"github.com/scimwright/scimwright/conformance/checks"
	"github.com/scimwright/scimwright/conformance/clientgrade"
	"github.com/scimwright/scimwright/conformance/observed"
	"github.com/scimwright/scimwright/conformance/profiles"
	"github.com/scimwright/scimwright/conformance/report"
	"github.com/scimwright/scimwright/conformance/requirements"
	"github.com/scimwright/scimwright/internal/counted"
)

type planCommand struct {
	address
	connection
	selection
	limits
	printed
}

// Run discovers the features of the target and prints the plan.
func (c *planCommand) Run(in *invocation) error {
	url, err := c.base()
	if err != nil {
		return err
	}
	selected, chosen, err := c.checks()
	if err != nil {
		return err
	}
	target, err := c.target(url)
	if err != nil {
		return err
	}
	opts, err := c.options()
	if err != nil {
		return err
	}
	opts.Checks, opts.Profiles, opts.Timeout, opts.RequestTimeout = selected, chosen, c.Timeout, c.RequestTimeout
	opts.Order = checks.Order()
	plan, err := conformance.NewPlan(in.ctx, target, opts)
	if err != nil {
		return err
	}
	if c.AsJSON {
		err = planJSON(in, plan)
		if err == nil && plan.Reason != "" {
			err = exitCode(ExitUntested)
		}
		return err
	}
	if plan.Reason != "" {
		fmt.Fprintf(in.stdout, "Cannot test %s: %s.\n", plan.Target, plan.Reason)
		return exitCode(ExitUntested)
	}
	w := tabwriter.NewWriter(in.stdout, 0, 0, 2, ' ', 0)
	run := 0
	for _, p := range plan.Checks {
		if p.Skip == "" {
			run++
			fmt.Fprintf(w, "run\t%s\t%s\n", p.Check.ID, p.Check.Title)
		} else {
			fmt.Fprintf(w, "skip\t%s\t%s\n", p.Check.ID, p.Skip)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	creates := "creates nothing"
	if plan.Writes {
		creates = "creates test objects and removes them again"
	}
	_, err = fmt.Fprintf(in.stdout, "\n%d of %d checks apply to %s. A run sends about %s and %s.\n%s", run, len(plan.Checks), plan.Target,
		counted.Of(plan.Requests, "request"), creates, forecast(plan, c.Rate, c.Timeout))
	return err
}

type listCommand struct {
	selection
	printed
}

// Run prints the selected checks.
func (c *listCommand) Run(in *invocation) error {
	selected, chosen, err := c.checks()
	if err != nil {
		return err
	}
	for _, p := range chosen {
		selected = append(selected, p.Checks()...)
	}
	if c.AsJSON {
		return listJSON(in, selected, shortJSON)
	}
	w := tabwriter.NewWriter(in.stdout, 0, 0, 2, ' ', 0)
	for _, check := range selected {
		fmt.Fprintf(w, "%s\t%s\t%s\n", check.ID, check.Level, check.Title)
	}
	return w.Flush()
}

type explainCommand struct {
	ID string `arg:"" help:"Id of a check, an area, a level, a section, or a clause such as RFC7644-3.5.2-28." complete:"@checks"`
	printed
}

// Run explains a check, an area or a clause.
func (c *explainCommand) Run(in *invocation) error {
	if r, ok := requirements.Lookup(strings.ToUpper(c.ID)); ok {
		if c.AsJSON {
			return clauseJSON(in, r)
		}
		return explainClause(in, r)
	}
	all := slices.Concat(checks.All(), observed.ClientChecks(), clientgrade.Expectations())
	for _, p := range profiles.All() {
		all = append(all, p.Checks()...)
	}
	selected, err := conformance.Selection{Only: []string{c.ID}}.Apply(all)
	if err != nil {
		return usage("no clause has this id (\"%s list\" lists the checks): %v", in.program, err)
	}
	if c.AsJSON {
		return listJSON(in, selected, fullJSON)
	}
	for i, check := range selected {
		if i > 0 {
			fmt.Fprintln(in.stdout)
		}
		fmt.Fprintf(in.stdout, "%s (%s)\n%s.\n\nWhy it matters\n  %s\n", check.ID, check.Level, check.Title, check.Why)
		if clients := report.Clients(check); len(clients) > 0 {
			fmt.Fprintf(in.stdout, "\nClients that depend on it\n  %s\n", strings.Join(clients, ", "))
		}
		fmt.Fprintf(in.stdout, "\nHow to fix it\n  %s\n\nClauses\n", check.Fix)
		for _, id := range check.Requirements {
			if r, ok := requirements.Lookup(id); ok {
				fmt.Fprintf(in.stdout, "  %s, %s, %s\n    %s\n", r.ID, r.Section, r.Strength(), r.Text)
			}
		}
		if len(check.Requirements) == 0 {
			fmt.Fprintln(in.stdout, "  none: no RFC requires it, but clients do")
		}
		if check.Requests == 0 { // a check without requests evaluates the exchanges of other checks
			continue
		}
		if len(check.Needs) > 0 {
			fmt.Fprintf(in.stdout, "\nConditions of the check\n")
		}
		for _, n := range check.Needs {
			fmt.Fprintf(in.stdout, "  %s: %s\n", n, needs[n])
		}
		fmt.Fprintf(in.stdout, "\nSends about %s.\n", counted.Of(check.Requests, "request"))
	}
	return nil
}

// needs describes the conditions of checks.
var needs = map[conformance.Need]string{
	conformance.NeedWrite:       "the run may create, change and delete its own objects",
	conformance.NeedCredentials: "a token or an Authorization header is configured",
	conformance.NeedToken:       "the configured credentials are a bearer token",
	conformance.NeedRemote:      "the target is on another machine",
	conformance.NeedUser:        "the target serves users",
	conformance.NeedGroup:       "the target serves groups",
	conformance.NeedEnterprise:  "users have the enterprise extension",
	conformance.NeedFilter:      "the target does not declare filters as not supported",
	conformance.NeedPatch:       "the target does not declare PATCH as not supported",
	conformance.NeedSort:        "the target declares sorting as supported",
	conformance.NeedIndex:       "the target does not declare pagination by startIndex as not supported",
	conformance.NeedCursor:      "the target declares pagination by cursor as supported (RFC 9865)",
	conformance.NeedBulk:        "the target declares bulk requests as supported",
	conformance.NeedETag:        "the target declares versions (entity tags) as supported",
}

func explainClause(in *invocation, r requirements.Requirement) error {
	fmt.Fprintf(in.stdout, "%s, %s, %s, applies to: %s\n%s\n\nHow to test it\n  %s\n", r.ID, r.Section, r.Level, r.Role, r.Text, r.Probe)
	if r.Doubt != "" {
		fmt.Fprintf(in.stdout, "\nLimits of a verdict\n  %s\n", r.Doubt)
	}
	fmt.Fprintf(in.stdout, "\nChecks\n")
	none := true
	for _, check := range checks.All() {
		for _, id := range check.Requirements {
			if id == r.ID {
				none = false
				fmt.Fprintf(in.stdout, "  %s: %s\n", check.ID, check.Title)
			}
		}
	}
	if none {
		fmt.Fprintln(in.stdout, "  none")
	}
	return nil
}

type cleanupCommand struct {
	Journal string `arg:"" help:"Journal of the run." type:"path"`
	connection
	printed
}

// Run removes the objects that are still listed in the journal.
func (c *cleanupCommand) Run(in *invocation) error {
	target, err := c.target("")
	if err != nil {
		return err
	}
	result, err := conformance.Cleanup(in.ctx, c.Journal, target, conformance.Options{Timeout: c.Timeout, RequestTimeout: c.RequestTimeout})
	if err != nil {
		return err
	}
	if c.AsJSON {
		if err := cleanupJSON(in, result); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(in.stdout, "%s: removed %d, absent already %d, remaining %d.\n", result.Target, result.Removed, result.Absent,
			len(result.Leftovers))
		for _, l := range result.Leftovers {
			fmt.Fprintf(in.stdout, "  %s (%s): %s\n", l.Path, l.Name, l.Reason)
		}
	}
	if len(result.Leftovers) > 0 {
		return exitCode(ExitUntested)
	}
	return nil
}

type versionCommand struct{ printed }

// Run prints the module version and the revision, if the build recorded them.
func (c *versionCommand) Run(in *invocation) error {
	if c.AsJSON {
		return frame.WriteJSON(in.stdout, frame.Info(in.program))
	}
	_, err := fmt.Fprintln(in.stdout, frame.Build(in.program))
	return err
}

type schemaCommand struct{}

// Run prints the JSON Schema of the JSON report.
func (schemaCommand) Run(in *invocation) error {
	_, err := in.stdout.Write(report.Schema())
	return err
}
