package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/internal/sandbox"
	"github.com/scimwright/scimwright/mgmtapi/sandboxapi"
)

// patience is how long commands wait.
type patience struct {
	Timeout time.Duration `help:"How long to wait, at most 10m." default:"30s"`
}

// query is the parameter of the API, in whole seconds.
func (p patience) query() string {
	seconds := min(max(int(p.Timeout.Round(time.Second)/time.Second), 1), 600)
	return "?timeoutSeconds=" + strconv.Itoa(seconds)
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
	var t sandboxapi.Trace
	var raw json.RawMessage
	if c.Apply {
		body := map[string]bool{"forceSync": c.ForceSync, "allMembers": c.AllMembers}
		raw, err = s.call(http.MethodPost, a.at(who.path()+"/provision"+c.query()), body, &t)
	} else {
		raw, err = s.call(http.MethodGet, a.at(who.path()+"/trace"), nil, &t)
	}
	if err != nil {
		return err
	}
	if err := s.show(raw, func(p *page) { p.trace(t) }); err != nil {
		return err
	}
	switch {
	case !t.Assigned:
		return c.unassigned(a)
	case t.Outcome != "done":
		return fmt.Errorf("%s has not converged: the sequence ends with %q", c.Who, nameOr(t.Outcome, t.State.Status))
	case len(t.Waiting) > 0:
		return fmt.Errorf("%s has not converged: it waits for %s", c.Who, many(len(t.Waiting), "user", "users"))
	case t.Rehearsed && !t.Idle:
		return fmt.Errorf("%s has not converged: %s is to be done", c.Who, t.Operation)
	}
	return nil
}

func (p *page) trace(t sandboxapi.Trace) {
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
	p.line("%s: %s", t.Operation, nameOr(t.Outcome, t.State.Status))
	if t.Message != "" {
		p.line("  %s", oneLine(t.Message))
	}
	if t.Hold != "" {
		p.line("  on hold: %s", oneLine(t.Hold))
	}
}

func (p *page) sent(requests []sandboxapi.Sent) {
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

func (p *page) diff(all []sandboxapi.Difference) {
	for _, d := range all {
		p.row("  "+d.Path, value(d.Before)+" -> "+value(d.After))
	}
	p.end()
}

func (p *page) members(m *sandboxapi.MemberDiff) {
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
	var x sandboxapi.Explanation
	raw, err := s.call(http.MethodGet, a.at(who.path()+"/explanation"), nil, &x)
	if err != nil {
		return err
	}
	err = s.show(raw, func(p *page) {
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
	case k.Status != "clean" || k.Synced < k.Desired || len(x.Waiting) > 0:
		return fmt.Errorf("%s has not converged: it is %s", c.Who, nameOr(k.Status, "not provisioned"))
	}
	return nil
}

func (p *page) known(k sandboxapi.Known) {
	if k.Desired == 0 {
		p.line("The engine was never told about it.")
		return
	}
	p.row("status", k.Status)
	p.row("generations", fmt.Sprintf("wanted %d, reached %d", k.Desired, k.Synced))
	p.row("account", nameOr(k.RemoteID, "not known"), k.Origin)
	p.row("last operation", k.Operation, when(k.UpdatedAt))
	if k.Error != "" {
		p.row("message", k.Error)
	}
	if c := k.Pending; c != nil {
		p.row("accepted", c.Method+" "+c.Path, when(c.At), "transaction "+nameOr(c.Transaction, "unknown"),
			"read "+many(c.Reads, "time", "times")+", waits until "+when(c.Deadline))
	}
	for _, path := range slices.Sorted(maps.Keys(k.Unkept)) {
		p.row("not kept", path, fmt.Sprintf("sent %d times", k.Unkept[path].Rounds))
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
	var proof sandboxapi.Proof
	raw, err := s.call(http.MethodGet, a.at(who.path()+"/proof"), nil, &proof)
	if err != nil {
		return err
	}
	err = s.show(raw, func(p *page) {
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
	var p sandboxapi.Principal
	raw, err := s.call(http.MethodPost, a.at(who.path()+"/wait"+c.query()), nil, &p)
	if err != nil {
		return s.unsettled(err, c.Who, c.Timeout)
	}
	err = s.show(raw, func(out *page) { out.known(p.State) })
	if err == nil && (p.State.Status == "failed" || p.State.Status == "held") {
		return fmt.Errorf("%s is %s", c.Who, p.State.Status)
	}
	return err
}

// unsettled shows who is not settled, why and until when, after the time to wait was up.
func (s *session) unsettled(err error, what string, timeout time.Duration) error {
	e, ok := errors.AsType[*sandbox.APIError](err)
	if !ok || e.Status != http.StatusGatewayTimeout || s.json {
		return err
	}
	shown := s.show(nil, func(p *page) {
		for _, cause := range e.Causes {
			p.line("%s", oneLine(cause))
		}
	})
	return errors.Join(fmt.Errorf("%s is not settled after %s", what, timeout), shown)
}

func (s *session) waitApp(at app, within patience) error {
	var a sandboxapi.EngineApp
	raw, err := s.call(http.MethodPost, at.at("/wait"+within.query()), nil, &a)
	if err != nil {
		return s.unsettled(err, at.label, within.Timeout)
	}
	err = s.show(raw, func(p *page) { p.line("%s is settled: %s", a.Label, counts(a.Counts)) })
	if wrong := a.Lag.Failed + a.Lag.Held; err == nil && wrong > 0 {
		return errors.New(many(wrong, "is", "are") + " failed or held")
	}
	return err
}
