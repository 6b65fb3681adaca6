package engine

import (
	"context"
	"errors"
	"strconv"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
)

// laneCommands intervene in what is sent to a target.
type laneCommands struct {
	Halt    haltCommand    `cmd:"" help:"Switch operations off, for an app or all of them."`
	Resume  resumeCommand  `cmd:"" help:"End what was halted."`
	Approve approveCommand `cmd:"" help:"Let through what the deletion guard holds back."`
	Release releaseCommand `cmd:"" help:"End a pause, the breaker or a quarantine."`
	Test    testCommand    `cmd:"" help:"Read the first users of a target with the stored credentials."`
	Probe   probeCommand   `cmd:"" help:"Find out what a target does, on objects that are removed again."`
	Unlearn unlearnCommand `cmd:"" help:"Forget what was found out about a target."`
}

// halted names the app, or all of them, and operations.
type halted struct {
	App     string   `arg:"" optional:"" help:"Id or label of the app."`
	AllApps bool     `help:"All apps."`
	Op      []string `help:"Operation: create, link, update, reactivate, deactivate, members or delete. All of them when none is given." placeholder:"OPERATION"`
}

// verb is Halt or Resume.
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
			p.line("Nothing is halted.")
		}
		for _, h := range halts {
			p.row("halted", haltText(h))
		}
	})
}

type haltCommand struct {
	halted
	Reason string `help:"Why, for those who find it halted." placeholder:"TEXT"`
}

// Run halts and shows what is halted.
func (c *haltCommand) Run(in *Invocation, g *Commands) error {
	return c.run(in, g, (*client.Client).Halt, c.Reason)
}

type resumeCommand struct{ halted }

// Run ends halts and shows what is halted still.
func (c *resumeCommand) Run(in *Invocation, g *Commands) error {
	return c.run(in, g, (*client.Client).Resume, "")
}

type approveCommand struct {
	App   string `arg:"" help:"Id or label of the app."`
	Count int    `arg:"" help:"How many were looked at. When more or fewer are held by now, nothing is done."`
}

// Run approves.
func (c *approveCommand) Run(in *Invocation, g *Commands) error {
	return g.tell(in, c.App, many(c.Count, "removal is", "removals are")+" let through.",
		func(s *session, app string) error { return s.engine.Approve(s.ctx, app, c.Count) })
}

type releaseCommand struct {
	App string `arg:"" help:"Id or label of the app."`
}

// Run ends a hold.
func (c *releaseCommand) Run(in *Invocation, g *Commands) error {
	return g.tell(in, c.App, "The app is worked on again.", func(s *session, app string) error { return s.engine.Release(s.ctx, app) })
}

type unlearnCommand struct {
	App string `arg:"" help:"Id or label of the app."`
}

// Run forgets what was learned.
func (c *unlearnCommand) Run(in *Invocation, g *Commands) error {
	return g.tell(in, c.App, "What was found out about the target is forgotten.",
		func(s *session, app string) error { return s.engine.ResetLearned(s.ctx, app) })
}

// tell does something to an app that has no response.
func (g *Commands) tell(in *Invocation, name, done string, do func(s *session, app string) error) error {
	s, a, err := g.openAt(in, name)
	if err != nil {
		return err
	}
	if err := do(s, a.id); err != nil {
		return err
	}
	return s.show(func(p *page) { p.line("%s", done) })
}

type testCommand struct {
	App string `arg:"" help:"Id or label of the app."`
}

// Run tests the connection. A target that cannot be read is a failure.
func (c *testCommand) Run(in *Invocation, g *Commands) error {
	return g.tell(in, c.App, "The target can be read.", func(s *session, app string) error { return s.engine.Test(s.ctx, app) })
}

type probeCommand struct {
	App    string `arg:"" help:"Id or label of the app."`
	Domain string `help:"Domain of the user name and address of the probe's user; some targets take verified ones only." placeholder:"DOMAIN"`
	Stored bool   `help:"Show what the last probe found instead of probing."`
}

// Run probes and shows what was found. What does not work is a finding.
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
			out.line("It could not be removed: %s", path)
		}
		out.line("%s at %s", many(p.Requests, "request", "requests"), when(p.At))
	})
	if err == nil && wrong > 0 {
		return errors.New(many(wrong, "feature of the target does not work", "features of the target do not work"))
	}
	return err
}

// number shows a number, "-" for none.
func number(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}
