package engine

import (
	"context"
	"errors"
	"strconv"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
)

// laneCommands control the provisioning of a target.
type laneCommands struct {
	Halt    haltCommand    `cmd:"" help:"Stop operations, such as deactivations, for one app or all apps."`
	Resume  resumeCommand  `cmd:"" help:"Allow operations again that halt has stopped."`
	Approve approveCommand `cmd:"" help:"Approve the deactivations and deletions that the deletion guard blocks."`
	Release releaseCommand `cmd:"" help:"Resume an app that sends nothing after a 429, repeated failures or rejected credentials."`
	Test    testCommand    `cmd:"" help:"Read the first users of a target with the stored credentials."`
	Probe   probeCommand   `cmd:"" help:"Determine the features of a target, with temporary objects."`
	Unlearn unlearnCommand `cmd:"" help:"Delete the result of the probe and the detected deviations (traits) of a target."`
}

// halted is the set of arguments that select the operations, and one app or all apps.
type halted struct {
	App     string   `arg:"" optional:"" help:"Id or label of the app."`
	AllApps bool     `help:"Apply to all apps."`
	Op      []string `help:"Operation: ${enum}. Default: all." placeholder:"OPERATION" enum:"${operations}" default:""`
}

// verb is the method Halt or Resume of the client.
type verb func(c *client.Client, ctx context.Context, app string, h client.Halting) ([]engine.Halt, error)

func (h halted) run(in *Invocation, g *Commands, do verb, reason string) error {
	if (h.App == "") != h.AllApps {
		return frame.Usage("name an app, or give --all-apps")
	}
	s, err := g.open(in)
	if err != nil {
		return err
	}
	var of app // all apps
	if h.App != "" {
		if of, err = s.app(h.App); err != nil {
			return err
		}
	}
	halting := client.Halting{Reason: reason}
	for _, op := range h.Op {
		halting.Operations = append(halting.Operations, engine.Operation(op))
	}
	halts, err := do(s.engine, s.ctx, of.id, halting)
	if err != nil {
		return err
	}
	return s.show(func(p *page) {
		if len(halts) == 0 {
			p.line("No operation is halted.")
		}
		for _, h := range halts {
			p.row("halted", haltText(h))
		}
	})
}

type haltCommand struct {
	halted
	Reason string `help:"Reason, which is shown with the halt." placeholder:"TEXT"`
}

// Run halts operations and shows the halted ones.
func (c *haltCommand) Run(in *Invocation, g *Commands) error {
	return c.run(in, g, (*client.Client).Halt, c.Reason)
}

type resumeCommand struct {
	halted
	HaltedAtStart bool `help:"End the halts of serve engine --start-halted for all apps of the tenant."`
	AllTenants    bool `help:"With --halted-at-start: the apps of all tenants."`
}

// Run resumes operations and shows those that are still halted.
func (c *resumeCommand) Run(in *Invocation, g *Commands) error {
	if c.HaltedAtStart || c.AllTenants {
		if !c.HaltedAtStart || c.App != "" || c.AllApps || len(c.Op) > 0 {
			return frame.Usage("--halted-at-start excludes an app, --all-apps and --op; --all-tenants requires it")
		}
		return g.resumeHalted(in, c.AllTenants)
	}
	return c.run(in, g, (*client.Client).Resume, "")
}

type approveCommand struct {
	App   string `arg:"" help:"Id or label of the app."`
	Count int    `arg:"" help:"Number of removals that were reviewed. If the number on hold differs, nothing is approved."`
}

// Run approves removals.
func (c *approveCommand) Run(in *Invocation, g *Commands) error {
	return g.act(in, c.App, many(c.Count, "removal is", "removals are")+" approved.",
		func(s *session, app string) error { return s.engine.Approve(s.ctx, app, c.Count) })
}

type releaseCommand struct {
	App string `arg:"" help:"Id or label of the app."`
}

// Run ends a pause (requested by the target), the breaker (after several failures) or a quarantine (after rejected credentials).
func (c *releaseCommand) Run(in *Invocation, g *Commands) error {
	return g.act(in, c.App, "The app is running again.", func(s *session, app string) error { return s.engine.Release(s.ctx, app) })
}

type unlearnCommand struct {
	App string `arg:"" help:"Id or label of the app."`
}

// Run deletes what was learned about a target.
func (c *unlearnCommand) Run(in *Invocation, g *Commands) error {
	return g.act(in, c.App, "The probe result and the learned traits are deleted.",
		func(s *session, app string) error { return s.engine.ResetLearned(s.ctx, app) })
}

// act calls the function do for the app with the given id or label, and prints the message if do returns no error.
func (g *Commands) act(in *Invocation, name, message string, do func(s *session, app string) error) error {
	s, a, err := g.openAt(in, name)
	if err != nil {
		return err
	}
	if err := do(s, a.id); err != nil {
		return err
	}
	return s.show(func(p *page) { p.line("%s", message) })
}

type testCommand struct {
	App string `arg:"" help:"Id or label of the app."`
}

// Run tests the connection. It returns an error if the target cannot be read.
func (c *testCommand) Run(in *Invocation, g *Commands) error {
	return g.act(in, c.App, "The target can be read.", func(s *session, app string) error { return s.engine.Test(s.ctx, app) })
}

type probeCommand struct {
	App    string `arg:"" help:"Id or label of the app."`
	Domain string `help:"Domain of the probe user's name and address; some targets accept only verified domains." placeholder:"DOMAIN"`
	Stored bool   `help:"Show the result of the last probe instead of probing."`
}

// Run probes a target and shows the result. It returns an error if a feature does not work.
func (c *probeCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	var p engine.Profile
	if c.Stored {
		p, err = s.engine.Profile(s.ctx, a.id)
	} else {
		p, err = s.engine.Probe(s.ctx, a.id, client.ProbeOptions{Domain: c.Domain})
	}
	if err != nil {
		return err
	}
	wrong := 0
	for _, r := range p.Results {
		if r.Verdict == engine.ProbeRefused || r.Verdict == engine.ProbeNoEffect {
			wrong++
		}
	}
	err = s.show(func(out *page) {
		out.row("FEATURE", "VERDICT", "STATUS", "DETAIL")
		for _, r := range p.Results {
			out.row(string(r.Feature), string(r.Verdict), number(r.Status), r.Detail)
		}
		for _, path := range p.Leftovers {
			out.line("not removed: %s", path)
		}
		out.line("%s at %s", many(p.Requests, "request", "requests"), when(p.At))
	})
	if err == nil && wrong > 0 {
		return errors.New(many(wrong, "feature of the target does not work", "features of the target do not work"))
	}
	return err
}

// number formats a number, "-" for zero.
func number(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}
