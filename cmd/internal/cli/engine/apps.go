package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
)

// taskCommands list failures and resolve them.
type taskCommands struct {
	Apps    appsCommand    `cmd:"" help:"List the apps with the state of their provisioning, pending work and failures."`
	Tasks   tasksCommand   `cmd:"" help:"List the users and groups that failed, are retried or are on hold."`
	Retry   retryCommand   `cmd:"" help:"Retry a failed user or group, or all of them."`
	Dismiss dismissCommand `cmd:"" help:"Mark a failed user or group as resolved without changing the target."`
}

type appsCommand struct {
	App string `arg:"" optional:"" help:"Show one app, by id or label, in detail."`
}

// Run lists the apps or shows one.
func (c *appsCommand) Run(in *Invocation, g *Commands) error {
	if c.App != "" {
		return c.one(in, g)
	}
	s, err := g.open(in)
	if err != nil {
		return err
	}
	all, err := s.engine.Apps(s.ctx)
	if err != nil {
		return err
	}
	return s.show(func(p *page) {
		p.row("APP", "ID", "LANE", "STYLE", "FALLBACK", "WAITING", "RETRYING", "ACCEPTED", "FAILED", "HELD", "NOT PROVISIONED", "LAST SUCCESS")
		for _, a := range all {
			lacking := 0
			for _, u := range a.Unprovisioned {
				lacking += u.Users
			}
			p.row(a.Label, a.ID, a.Lane.State, nameOr(string(a.Style), "-"), nameOr(string(a.Fallback), "-"),
				strconv.Itoa(a.Lag.Due-a.Lag.Retrying-a.Lag.Accepted), strconv.Itoa(a.Lag.Retrying), strconv.Itoa(a.Lag.Accepted),
				strconv.Itoa(a.Lag.Failed), strconv.Itoa(a.Lag.Held), strconv.Itoa(lacking), when(a.Lag.LastSuccess))
		}
		shared := map[string]bool{} // the halts for all apps that the list already has
		for _, a := range all {
			for _, u := range a.Unprovisioned {
				p.line("%s: %s: %s", a.Label, notProvisioned(u), u.Reason)
			}
			for _, h := range joined(a.Halts) {
				if text := haltText(h); h.App != "" {
					p.line("%s: halted: %s", a.Label, text)
				} else if !shared[text] {
					shared[text] = true
					p.line("halted: %s", text)
				}
			}
		}
	})
}

func (c *appsCommand) one(in *Invocation, g *Commands) error {
	s, at, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	a, err := s.engine.App(s.ctx, at.id)
	if err != nil {
		return err
	}
	return s.show(func(p *page) {
		p.row("app", a.Label+" ("+a.ID+")")
		p.row("target", nameOr(a.BaseURL, "none"))
		p.row("style", nameOr(string(a.Style), "-"))
		p.row("fallback", nameOr(string(a.Fallback), "-"))
		p.row("lane", laneText(a.Lane))
		p.row("principals", counts(a.Counts))
		for _, u := range a.Unprovisioned {
			p.row("not provisioned", fmt.Sprintf("%s: %s", many(u.Users, "assigned user", "assigned users"), u.Reason))
		}
		p.row("waiting", strconv.Itoa(a.Lag.Due-a.Lag.Retrying-a.Lag.Accepted))
		p.row("retrying", strconv.Itoa(a.Lag.Retrying))
		p.row("accepted", strconv.Itoa(a.Lag.Accepted))
		p.row("oldest change", when(a.Lag.Oldest))
		p.row("last success", when(a.Lag.LastSuccess))
		p.row("learned", learned(a.Learned))
		for _, h := range a.Halts {
			p.row("halted", haltText(h))
		}
	})
}

func notProvisioned(u client.Unprovisioned) string {
	return many(u.Users, "assigned user is", "assigned users are") + " not provisioned"
}

func laneText(l client.Lane) string {
	text := l.State
	if l.Reason != "" {
		text += ": " + l.Reason
	}
	if !l.Until.IsZero() {
		text += ", until " + when(l.Until)
	}
	return text
}

func learned(l engine.Learned) string {
	var parts []string
	for _, trait := range slices.Sorted(maps.Keys(l.Traits)) {
		parts = append(parts, string(trait))
	}
	for _, trait := range slices.Sorted(maps.Keys(l.Probed)) {
		if l.Probed[trait] {
			parts = append(parts, string(trait)+" (probed)")
		}
	}
	if l.MemberBatch > 0 {
		parts = append(parts, fmt.Sprintf("%d members per request", l.MemberBatch))
	}
	if l.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%g requests per second", l.Rate))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// joined combines the halts with the same app and reason. The operation of a result is the list of their operations, or "all operations".
func joined(halts []engine.Halt) (result []engine.Halt) {
	for len(halts) > 0 {
		first := halts[0]
		var operations []string
		var others []engine.Halt
		for _, h := range halts {
			if h.App == first.App && h.Reason == first.Reason {
				operations = append(operations, string(h.Operation))
			} else {
				others = append(others, h)
			}
		}
		if first.Operation = "all operations"; len(operations) < len(engine.HaltOperations()) {
			first.Operation = engine.Operation(strings.Join(operations, ", "))
		}
		result, halts = append(result, first), others
	}
	return result
}

func haltText(h engine.Halt) string {
	text := string(h.Operation) + " since " + when(h.Since)
	if h.App == "" {
		text += ", for all apps"
	}
	if h.Reason != "" {
		text += ": " + h.Reason
	}
	return text
}

type tasksCommand struct {
	App string `arg:"" help:"Id or label of the app."`
}

// Run lists tasks. If there are any, it returns an error.
func (c *tasksCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	tasks, err := s.engine.Tasks(s.ctx, a.id)
	if err != nil {
		return err
	}
	err = s.show(func(p *page) {
		if len(tasks) == 0 {
			p.line("%s has no tasks.", a.label)
			return
		}
		p.row("KIND", "NAME", "STATUS", "OPERATION", "ATTEMPTS", "NEXT ATTEMPT", "MESSAGE")
		for _, t := range tasks {
			kind := engine.User
			if t.GroupID != "" {
				kind = engine.Group
			}
			p.row(string(kind), nameOr(t.Name, t.ID), string(t.Status), string(t.Operation), strconv.Itoa(t.Attempts), when(t.Next), t.Error)
		}
	})
	if err == nil && len(tasks) > 0 {
		return errors.New(many(len(tasks), "task is open", "tasks are open"))
	}
	return err
}

type retryCommand struct {
	App   string `arg:"" help:"Id or label of the app."`
	Who   string `arg:"" optional:"" help:"Login or id of the user; with --group, name or id of the group. For serve engine, the id."`
	Group bool   `help:"WHO is a group, not a user." short:"g"`
	All   bool   `help:"Retry all failed users and groups of the app."`
}

// Run schedules the retry and does not wait for its result.
func (c *retryCommand) Run(in *Invocation, g *Commands) error {
	if (c.Who == "") != c.All {
		return frame.Usage("name a user or group, or give --all")
	}
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	if c.All {
		n, err := s.engine.RetryAll(s.ctx, a.id)
		if err != nil {
			return err
		}
		return s.show(func(p *page) { p.line("%s retried.", many(n, "task is", "tasks are")) })
	}
	return s.task(a, c.Who, c.Group, s.engine.Retry, "The task is retried.")
}

type dismissCommand struct{ principal }

// Run dismisses a task.
func (c *dismissCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	return s.task(a, c.Who, c.Group, s.engine.Dismiss, "The task is resolved until the user or group changes again.")
}

func (s *session) task(a app, name string, group bool, do func(ctx context.Context, app, task string) error, done string) error {
	who, err := s.find(a, name, group)
	if err != nil {
		return err
	}
	err = do(s.ctx, a.id, who.ID)
	if client.IsNotFound(err) {
		return errors.New(name + " has no task")
	}
	if err != nil {
		return err
	}
	return s.show(func(p *page) { p.line("%s", done) })
}
