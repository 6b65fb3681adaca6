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

// principalCommands inspect and provision one user or group.
type principalCommands struct {
	Trace   traceCommand   `cmd:"" help:"Show the requests that would be sent now for a user or group; with --apply, send them."`
	Explain explainCommand `cmd:"" help:"Explain why a user or group is in an app, and the sources of its attribute values."`
	Verify  verifyCommand  `cmd:"" help:"Read a user or group on the target and compare it with the desired state."`
	Wait    waitCommand    `cmd:"" help:"Wait until an app, or one user or group of it, has converged."`
}

// waitFlags is the time limit of commands that wait.
type waitFlags struct {
	Timeout time.Duration `help:"Time limit, at most 10m." default:"30s"`
}

// options returns the time limit for the API.
func (p waitFlags) options() client.WaitOptions {
	return client.WaitOptions{Timeout: max(p.Timeout, client.MinWait)}
}

type traceCommand struct {
	principal
	Apply      bool `help:"Send the requests: provision the user or group now."`
	ForceSync  bool `help:"With --apply, also send the values that the target has ignored before."`
	AllMembers bool `help:"With --apply, push the complete membership of the group, not only its changes."`
	waitFlags
}

// Run shows a sequence. It returns an error if the sequence does not succeed, or if a dry run contains requests.
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
		return fmt.Errorf("%s has not converged: the outcome is %q", c.Who, nameOr(string(t.Outcome), string(t.State.Status)))
	case len(t.Waiting) > 0:
		return fmt.Errorf("%s has not converged: waiting for %s", c.Who, many(len(t.Waiting), "user", "users"))
	case t.Rehearsed && !t.Idle:
		return fmt.Errorf("%s has not converged: %s is pending", c.Who, t.Operation)
	}
	return nil
}

func (p *page) trace(t client.Trace) {
	verb := "sent"
	if t.Rehearsed {
		verb = "in a dry run, nothing was changed"
	}
	p.line("%s %s, desired %s: %s %s", t.Kind, t.ID, t.Want, many(len(t.Requests), "request", "requests"), verb)
	p.sent(t.Requests)
	p.diff(t.Diff)
	p.members(t.Members)
	for _, id := range t.Waiting {
		p.line("  waiting for user %s", id)
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

// Run explains a user or group. It returns an error if the principal is not assigned or has not converged.
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
			p.row("ATTRIBUTE", "VALUE", "RULE", "SOURCE")
			for _, v := range x.Values {
				p.row(v.Path, value(v.Value), v.Rule, v.Source)
			}
		}
		p.line("")
		p.known(x.State)
		for _, id := range x.Waiting {
			p.line("waiting for user %s", id)
		}
		p.line("%s, newest first", many(len(x.Exchanges), "exchange", "exchanges"))
		p.sent(x.Exchanges)
	})
	switch k := x.State; {
	case err != nil:
		return err
	case !x.Assigned:
		return c.unassigned(a)
	case k.Status != engine.StatusClean || k.Synced < k.Desired || len(x.Waiting) > 0:
		return fmt.Errorf("%s has not converged: status %s", c.Who, nameOr(string(k.Status), "not provisioned"))
	}
	return nil
}

func (p *page) known(k engine.PrincipalState) {
	if k.Desired == 0 {
		p.line("No change of the user or group was ever reported to the engine.")
		return
	}
	p.row("status", string(k.Status))
	p.row("generations", fmt.Sprintf("desired %d, synced %d", k.Desired, k.Synced))
	p.row("account", nameOr(k.RemoteID, "unknown"), string(k.Origin))
	p.row("last operation", string(k.Operation), when(k.UpdatedAt))
	if k.Error != "" {
		p.row("message", k.Error)
	}
	if c := k.Pending; c != nil {
		p.row("accepted", c.Method+" "+c.Path, when(c.At), "transaction "+nameOr(c.Transaction, "unknown"),
			"read "+many(c.Reads, "time", "times")+", deadline "+when(c.Deadline))
	}
	for _, path := range slices.Sorted(maps.Keys(k.IgnoredAttributes)) {
		p.row("ignored", path, fmt.Sprintf("sent %d times", k.IgnoredAttributes[path].Rounds))
	}
	p.end()
}

type verifyCommand struct{ principal }

// Run compares a user or group with the target. It returns an error if the principal is not assigned or has not converged.
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
			p.row("  "+d.Path, "target "+value(d.Before)+", desired "+value(d.After))
		}
		p.members(proof.Members)
		for _, path := range proof.Ignored {
			p.line("  ignored by the target, not compared: %s", path)
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
	Who   string `arg:"" optional:"" help:"Login or id of a user; with --group, name or id of a group. Default: the whole app."`
	Group bool   `help:"WHO is a group, not a user." short:"g"`
	waitFlags
}

// Run waits. It returns an error if users or groups have failed or are on hold.
func (c *waitCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	if c.Who == "" {
		return s.waitApp(a, c.waitFlags)
	}
	who, err := s.find(a, c.Who, c.Group)
	if err != nil {
		return err
	}
	p, err := s.engine.WaitFor(s.ctx, a.id, who, c.options())
	if err != nil {
		return s.notConverged(err, c.Who, c.Timeout)
	}
	err = s.show(func(out *page) { out.known(p.State) })
	if err == nil && (p.State.Status == engine.StatusFailed || p.State.Status == engine.StatusHeld) {
		return fmt.Errorf("%s has the status %s", c.Who, p.State.Status)
	}
	return err
}

// notConverged shows the principals that are still pending after the time limit, with the reason and the time of the next attempt.
func (s *session) notConverged(err error, what string, timeout time.Duration) error {
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Status != http.StatusGatewayTimeout || s.json {
		return err
	}
	shown := s.print(nil, func(p *page) {
		for _, cause := range e.Causes {
			p.line("%s", oneLine(cause))
		}
	})
	return errors.Join(fmt.Errorf("%s has not converged after %s", what, timeout), shown)
}

func (s *session) waitApp(at app, within waitFlags) error {
	a, err := s.engine.Wait(s.ctx, at.id, within.options())
	if err != nil {
		return s.notConverged(err, at.label, within.Timeout)
	}
	err = s.show(func(p *page) { p.line("%s has converged: %s", a.Label, counts(a.Counts)) })
	if wrong := a.Lag.Failed + a.Lag.Held; err == nil && wrong > 0 {
		return errors.New(many(wrong, "is", "are") + " failed or on hold")
	}
	return err
}
