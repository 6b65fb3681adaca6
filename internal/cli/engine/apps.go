package engine

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/cli/frame"
	"github.com/scimwright/scimwright/mgmtapi/sandboxapi"
)

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
	var all []sandboxapi.EngineApp
	raw, err := s.call(http.MethodGet, "/sandbox/v1/engine/apps", nil, &all)
	if err != nil {
		return err
	}
	return s.show(raw, func(p *page) {
		p.row("APP", "ID", "LANE", "STYLE", "FALLBACK", "WAITING", "RETRYING", "ACCEPTED", "FAILED", "HELD", "NOT PROVISIONED", "LAST SUCCESS")
		for _, a := range all {
			lacking := 0
			for _, u := range a.Unprovisioned {
				lacking += u.Users
			}
			p.row(a.Label, a.ID, a.Lane.State, nameOr(a.Style, "-"), nameOr(a.Fallback, "-"),
				strconv.Itoa(a.Lag.Due-a.Lag.Retrying-a.Lag.Accepted), strconv.Itoa(a.Lag.Retrying), strconv.Itoa(a.Lag.Accepted),
				strconv.Itoa(a.Lag.Failed), strconv.Itoa(a.Lag.Held), strconv.Itoa(lacking), when(a.Lag.LastSuccess))
		}
		for _, a := range all {
			for _, u := range a.Unprovisioned {
				p.line("%s: %s: %s", a.Label, notProvisioned(u), u.Reason)
			}
		}
	})
}

func (c *appsCommand) one(in *Invocation, g *Commands) error {
	s, at, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	var a sandboxapi.EngineApp
	raw, err := s.call(http.MethodGet, "/sandbox/v1/engine/apps/"+at.id, nil, &a)
	if err != nil {
		return err
	}
	return s.show(raw, func(p *page) {
		p.row("app", a.Label+" ("+a.ID+")")
		p.row("target", nameOr(a.BaseURL, "none"))
		p.row("style", nameOr(a.Style, "-"))
		p.row("fallback", nameOr(a.Fallback, "-"))
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

func notProvisioned(u sandboxapi.Unprovisioned) string {
	return many(u.Users, "assigned user is", "assigned users are") + " not provisioned"
}

func laneText(l sandboxapi.LaneState) string {
	text := l.State
	if l.Reason != "" {
		text += ": " + l.Reason
	}
	if !l.Until.IsZero() {
		text += ", until " + when(l.Until)
	}
	return text
}

func learned(l sandboxapi.Learned) string {
	parts := slices.Sorted(maps.Keys(l.Traits))
	for _, trait := range slices.Sorted(maps.Keys(l.Probed)) {
		if l.Probed[trait] {
			parts = append(parts, trait+" (probed)")
		}
	}
	if l.MemberBatch > 0 {
		parts = append(parts, fmt.Sprintf("%d members a request", l.MemberBatch))
	}
	if l.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%g requests a second", l.Rate))
	}
	if len(parts) == 0 {
		return "nothing out of the ordinary"
	}
	return strings.Join(parts, ", ")
}

func haltText(h sandboxapi.Halt) string {
	text := h.Operation + " since " + when(h.Since)
	if h.App == "" {
		text += ", for all apps"
	}
	if h.Reason != "" {
		text += ": " + h.Reason
	}
	return text
}

// halted names the app, or all of them, and operations.
type halted struct {
	App     string   `arg:"" optional:"" help:"Id or label of the app."`
	AllApps bool     `help:"All apps."`
	Op      []string `help:"Operation: create, link, update, reactivate, deactivate, members or delete. All of them when none is given." placeholder:"OPERATION"`
}

func (h halted) run(in *Invocation, g *Commands, verb, reason string) error {
	if (h.App == "") != h.AllApps {
		return frame.Usage("name an app, or give --all-apps")
	}
	s, err := g.open(in)
	if err != nil {
		return err
	}
	path := "/sandbox/v1/engine/" + verb
	if h.App != "" {
		a, err := s.app(h.App)
		if err != nil {
			return err
		}
		path = a.at("/" + verb)
	}
	body := map[string]any{}
	if len(h.Op) > 0 {
		body["operations"] = h.Op
	}
	if reason != "" {
		body["reason"] = reason
	}
	var halts []sandboxapi.Halt
	raw, err := s.call(http.MethodPost, path, body, &halts)
	if err != nil {
		return err
	}
	return s.show(raw, func(p *page) {
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
func (c *haltCommand) Run(in *Invocation, g *Commands) error { return c.run(in, g, "halt", c.Reason) }

type resumeCommand struct{ halted }

// Run ends halts and shows what is halted still.
func (c *resumeCommand) Run(in *Invocation, g *Commands) error { return c.run(in, g, "resume", "") }

type approveCommand struct {
	App   string `arg:"" help:"Id or label of the app."`
	Count int    `arg:"" help:"How many were looked at. When more or fewer are held by now, nothing is done."`
}

// Run approves.
func (c *approveCommand) Run(in *Invocation, g *Commands) error {
	return g.tell(in, c.App, "/approve", map[string]int{"expected": c.Count}, many(c.Count, "removal is", "removals are")+" let through.")
}

type releaseCommand struct {
	App string `arg:"" help:"Id or label of the app."`
}

// Run ends a hold.
func (c *releaseCommand) Run(in *Invocation, g *Commands) error {
	return g.tell(in, c.App, "/release", nil, "The app is worked on again.")
}

type unlearnCommand struct {
	App string `arg:"" help:"Id or label of the app."`
}

// Run forgets what was learned.
func (c *unlearnCommand) Run(in *Invocation, g *Commands) error {
	return g.tell(in, c.App, "/unlearn", nil, "What was found out about the target is forgotten.")
}

// tell posts something to an app that has no answer.
func (g *Commands) tell(in *Invocation, name, path string, body any, done string) error {
	s, a, err := g.openAt(in, name)
	if err != nil {
		return err
	}
	raw, err := s.call(http.MethodPost, a.at(path), body, nil)
	if err != nil {
		return err
	}
	return s.show(raw, func(p *page) { p.line("%s", done) })
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
	var p sandboxapi.Profile
	method, path, body := http.MethodPost, "/probe", any(map[string]string{"domain": c.Domain})
	if c.Stored {
		method, path, body = http.MethodGet, "/profile", nil
	}
	raw, err := s.call(method, a.at(path), body, &p)
	if err != nil {
		return err
	}
	wrong := 0
	for _, r := range p.Results {
		if r.Verdict == "refused" || r.Verdict == "lost" {
			wrong++
		}
	}
	err = s.show(raw, func(out *page) {
		out.row("FEATURE", "VERDICT", "STATUS", "DETAIL")
		for _, r := range p.Results {
			out.row(r.Feature, r.Verdict, number(r.Status), r.Detail)
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

type tasksCommand struct {
	App string `arg:"" help:"Id or label of the app."`
}

// Run lists tasks. That there are any is a finding.
func (c *tasksCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	var tasks []struct {
		UserID, GroupID, Name, Status, Operation, ErrorSummary string
		Attempts                                               int
		NextAttempt                                            time.Time
	}
	raw, err := s.call(http.MethodGet, a.at("/tasks"), nil, &tasks)
	if err != nil {
		return err
	}
	err = s.show(raw, func(p *page) {
		if len(tasks) == 0 {
			p.line("Nothing is wrong with %s.", a.label)
			return
		}
		p.row("KIND", "WHO", "STATUS", "OPERATION", "TRIES", "NEXT TRY", "MESSAGE")
		for _, t := range tasks {
			kind, id := sandboxapi.KindUser, t.UserID
			if t.GroupID != "" {
				kind, id = sandboxapi.KindGroup, t.GroupID
			}
			p.row(kind, nameOr(t.Name, id), t.Status, t.Operation, strconv.Itoa(t.Attempts), when(t.NextAttempt), t.ErrorSummary)
		}
	})
	if err == nil && len(tasks) > 0 {
		return errors.New(many(len(tasks), "task is left", "tasks are left"))
	}
	return err
}

type retryCommand struct {
	App   string `arg:"" help:"Id or label of the app."`
	Who   string `arg:"" optional:"" help:"Login or id of the user; with --group, name or id of the group."`
	Group bool   `help:"It is a group." short:"g"`
	All   bool   `help:"Try all failed users and groups of the app again."`
}

// Run tries again, and does not wait for what comes of it.
func (c *retryCommand) Run(in *Invocation, g *Commands) error {
	if (c.Who == "") != c.All {
		return frame.Usage("name a user or group, or give --all")
	}
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	if c.All {
		var n struct{ Retried int }
		raw, err := s.call(http.MethodPost, a.at("/tasks/retry"), nil, &n)
		if err != nil {
			return err
		}
		return s.show(raw, func(p *page) { p.line("%s tried again.", many(n.Retried, "task is", "tasks are")) })
	}
	return s.task(a, c.Who, c.Group, "retry", "It is tried again.")
}

type dismissCommand struct{ principal }

// Run dismisses a task.
func (c *dismissCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	return s.task(a, c.Who, c.Group, "dismiss", "It counts as done until it changes again.")
}

func (s *session) task(a app, name string, group bool, verb, done string) error {
	who, err := s.find(a, name, group)
	if err != nil {
		return err
	}
	raw, err := s.call(http.MethodPost, a.at("/tasks/"+who.id+"/"+verb), nil, nil)
	if notThere(err) {
		return errors.New(name + " has no task")
	}
	if err != nil {
		return err
	}
	return s.show(raw, func(p *page) { p.line("%s", done) })
}
