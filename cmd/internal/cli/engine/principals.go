package engine

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
)

// principalCommands are about one user or group.
type principalCommands struct {
	Trace   traceCommand   `cmd:"" help:"Show the requests that would be sent now for a user or group; with --apply, send them."`
	Explain explainCommand `cmd:"" help:"Say why a user or group is in an app, and why its attributes have their values."`
	Verify  verifyCommand  `cmd:"" help:"Read a user or group at the target and compare it with what is wanted."`
	Wait    waitCommand    `cmd:"" help:"Wait until an app, or one user or group of it, is settled."`
}

// patience is how long commands wait.
type patience struct {
	Timeout time.Duration `help:"How long to wait, at most 10m." default:"30s"`
}

// options is patience for the API.
func (p patience) options() client.WaitOptions {
	return client.WaitOptions{Timeout: max(p.Timeout, client.MinWait)}
}

type traceCommand struct {
	principal
	Apply      bool `help:"Send the requests: provision the user or group now."`
	ForceSync  bool `help:"With --apply, also send what the target did not keep before."`
	AllMembers bool `help:"With --apply, push all members of the group."`
	patience
}

// Run shows a sequence. One that does not succeed is a failure, and so is a dry run with something left to send.
func (c *traceCommand) Run(in *Invocation, g *Commands) error {
	s, a, who, err := c.open(in, g)
	if err != nil {
		return err
	}
	var t client.Trace
	if c.Apply {
		t, err = s.engine.Provision(s.ctx, a.id, who, client.ProvisionOptions{
			ProvisionOptions: engine.ProvisionOptions{ForceSync: c.ForceSync, AllMembers: c.AllMembers}, WaitOptions: c.options(),
		})
	} else {
		t, err = s.engine.DryRun(s.ctx, a.id, who)
	}
	if err != nil {
		return err
	}
	if err := s.show(func(p *page) { p.trace(t) }); err != nil {
		return err
	}
	switch {
	case !t.Assigned:
		return c.unassigned(a)
	case t.Outcome != engine.Done:
		return fmt.Errorf("%s has not converged: the sequence ends with %q", c.Who, nameOr(string(t.Outcome), string(t.State.Status)))
	case len(t.Waiting) > 0:
		return fmt.Errorf("%s has not converged: it waits for %s", c.Who, many(len(t.Waiting), "user", "users"))
	case t.Rehearsed && !t.Idle:
		return fmt.Errorf("%s has not converged: %s is to be done", c.Who, t.Operation)
	}
	return nil
}

func (p *page) trace(t client.Trace) {
	verb := "sent"
	if t.Rehearsed {
		verb = "rehearsed, nothing was changed"
	}
	p.line("%s %s, wanted %s: %s %s", t.Kind, t.ID, t.Want, many(len(t.Requests), "request", "requests"), verb)
	p.sent(t.Requests)
	p.diff(t.Diff)
	p.members(t.Members)
	for _, id := range t.Waiting {
		p.line("  waits for the user %s", id)
	}
	p.line("%s: %s", t.Operation, nameOr(string(t.Outcome), string(t.State.Status)))
	if t.Message != "" {
		p.line("  %s", oneLine(t.Message))
	}
	if t.Hold != "" {
		p.line("  on hold: %s", oneLine(t.Hold))
	}
}

func (p *page) sent(requests []engine.Sent) {
	for i, r := range requests {
		status := number(r.Status)
		if r.Pretended {
			status = "pretended"
		}
		p.row(fmt.Sprintf("  %d", i+1), r.Method, r.Path, status, r.Error)
		if r.Body != "" {
			p.row("", "", r.Body)
		}
	}
	p.end()
}

func (p *page) diff(all []engine.Difference) {
	for _, d := range all {
		p.row("  "+d.Path, value(d.Before)+" -> "+value(d.After))
	}
	p.end()
}

func (p *page) members(m *engine.MemberDiff) {
	if m == nil {
		return
	}
	p.line("  members: %d added, %d removed", m.Added, m.Removed)
	for _, who := range m.Add {
		p.line("    + %s", nameOr(who.Name, who.ID))
	}
	for _, who := range m.Remove {
		p.line("    - %s", nameOr(who.Name, who.ID))
	}
}

type explainCommand struct{ principal }

// Run explains. A user or group that is not assigned, or has not converged, is a finding.
func (c *explainCommand) Run(in *Invocation, g *Commands) error {
	s, a, who, err := c.open(in, g)
	if err != nil {
		return err
	}
	x, err := s.engine.Explain(s.ctx, a.id, who)
	if err != nil {
		return err
	}
	err = s.show(func(p *page) {
		for _, reason := range x.Reasons {
			p.line("%s", reason)
		}
		if len(x.Values) > 0 {
			p.line("")
			p.row("ATTRIBUTE", "VALUE", "RULE", "FROM")
			for _, v := range x.Values {
				p.row(v.Path, value(v.Value), v.Rule, v.Source)
			}
		}
		p.line("")
		p.known(x.State)
		for _, id := range x.Waiting {
			p.line("waits for the user %s", id)
		}
		p.line("%s, the newest first", many(len(x.Exchanges), "exchange", "exchanges"))
		p.sent(x.Exchanges)
	})
	switch k := x.State; {
	case err != nil:
		return err
	case !x.Assigned:
		return c.unassigned(a)
	case k.Status != engine.StatusClean || k.Synced < k.Desired || len(x.Waiting) > 0:
		return fmt.Errorf("%s has not converged: it is %s", c.Who, nameOr(string(k.Status), "not provisioned"))
	}
	return nil
}

func (p *page) known(k engine.PrincipalState) {
	if k.Desired == 0 {
		p.line("The engine was never told about it.")
		return
	}
	p.row("status", string(k.Status))
	p.row("generations", fmt.Sprintf("wanted %d, reached %d", k.Desired, k.Synced))
	p.row("account", nameOr(k.RemoteID, "not known"), string(k.Origin))
	p.row("last operation", string(k.Operation), when(k.UpdatedAt))
	if k.Error != "" {
		p.row("message", k.Error)
	}
	if c := k.Pending; c != nil {
		p.row("accepted", c.Method+" "+c.Path, when(c.At), "transaction "+nameOr(c.Transaction, "unknown"),
			"read "+many(c.Reads, "time", "times")+", waits until "+when(c.Deadline))
	}
	for _, path := range slices.Sorted(maps.Keys(k.IgnoredAttributes)) {
		p.row("not kept", path, fmt.Sprintf("sent %d times", k.IgnoredAttributes[path].Rounds))
	}
	p.end()
}

type verifyCommand struct{ principal }

// Run compares. A user or group that is not assigned, or has not converged, is a finding.
func (c *verifyCommand) Run(in *Invocation, g *Commands) error {
	s, a, who, err := c.open(in, g)
	if err != nil {
		return err
	}
	proof, err := s.engine.Verify(s.ctx, a.id, who)
	if err != nil {
		return err
	}
	err = s.show(func(p *page) {
		p.line("%s", proof.Summary)
		for _, d := range proof.Diff {
			p.row("  "+d.Path, "the target has "+value(d.Before)+", wanted is "+value(d.After))
		}
		p.members(proof.Members)
		for _, path := range proof.Ignored {
			p.line("  not kept by the target, and left alone: %s", path)
		}
	})
	switch {
	case err != nil:
		return err
	case !proof.Assigned:
		return c.unassigned(a)
	case !proof.Converged && proof.ReadAt.IsZero() && proof.Message != "":
		return fmt.Errorf("%s was not compared: %s", c.Who, proof.Message)
	case !proof.Converged:
		return fmt.Errorf("%s has not converged", c.Who)
	}
	return nil
}

type waitCommand struct {
	App   string `arg:"" help:"Id or label of the app."`
	Who   string `arg:"" optional:"" help:"Login or id of a user; with --group, name or id of a group. The whole app when absent."`
	Group bool   `help:"It is a group." short:"g"`
	patience
}

// Run waits. Whoever ends up failed or held is a finding.
func (c *waitCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	if c.Who == "" {
		return s.waitApp(a, c.patience)
	}
	who, err := s.find(a, c.Who, c.Group)
	if err != nil {
		return err
	}
	p, err := s.engine.WaitFor(s.ctx, a.id, who, c.options())
	if err != nil {
		return s.unsettled(err, c.Who, c.Timeout)
	}
	err = s.show(func(out *page) { out.known(p.State) })
	if err == nil && (p.State.Status == engine.StatusFailed || p.State.Status == engine.StatusHeld) {
		return fmt.Errorf("%s is %s", c.Who, p.State.Status)
	}
	return err
}

// unsettled shows who is not settled, why and until when, after the time to wait was up.
func (s *session) unsettled(err error, what string, timeout time.Duration) error {
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Status != http.StatusGatewayTimeout || s.json {
		return err
	}
	shown := s.print(nil, func(p *page) {
		for _, cause := range e.Causes {
			p.line("%s", oneLine(cause))
		}
	})
	return errors.Join(fmt.Errorf("%s is not settled after %s", what, timeout), shown)
}

func (s *session) waitApp(at app, within patience) error {
	a, err := s.engine.Wait(s.ctx, at.id, within.options())
	if err != nil {
		return s.unsettled(err, at.label, within.Timeout)
	}
	err = s.show(func(p *page) { p.line("%s is settled: %s", a.Label, counts(a.Counts)) })
	if wrong := a.Lag.Failed + a.Lag.Held; err == nil && wrong > 0 {
		return errors.New(many(wrong, "is", "are") + " failed or held")
	}
	return err
}
