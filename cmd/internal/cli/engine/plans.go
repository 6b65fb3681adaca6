package engine

import (
	"errors"
	"strconv"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
)

// planCommands create and apply plans, for many users and groups.
type planCommands struct {
	Plan    planCommand    `cmd:"" help:"Create a plan: compute the requests for users and groups without sending them."`
	Plans   plansCommand   `cmd:"" help:"List the plans of an app, or the items of one plan."`
	Apply   applyCommand   `cmd:"" help:"Apply a plan, unless the desired state has changed since its creation."`
	Discard discardCommand `cmd:"" help:"Remove a plan."`
}

type planCommand struct {
	App    string   `arg:"" help:"Id or label of the app."`
	Users  []string `arg:"" optional:"" help:"Logins or ids of users."`
	Group  []string `help:"Name or id of a group (repeatable)." placeholder:"GROUP" short:"g"`
	All    bool     `help:"Plan all known users and groups of the app. Those without a change are omitted."`
	Reason string   `help:"Reason for the plan." placeholder:"TEXT"`
}

// Run creates a plan. It returns an error if items would not succeed.
func (c *planCommand) Run(in *Invocation, g *Commands) error {
	if len(c.Users)+len(c.Group) == 0 && !c.All {
		return frame.Usage("name users or groups, or give --all")
	}
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	wanted := client.NewPlan{All: c.All, Reason: c.Reason}
	if wanted.Users, err = s.findAll(a, c.Users, false); err != nil {
		return err
	}
	if wanted.Groups, err = s.findAll(a, c.Group, true); err != nil {
		return err
	}
	plan, err := s.engine.CreatePlan(s.ctx, a.id, wanted)
	if err != nil {
		return err
	}
	err = s.show(func(p *page) { p.plan(plan) })
	if wrong := plan.Items - plan.Outcomes[engine.Done] - plan.Outcomes[engine.Skipped]; err == nil && wrong > 0 {
		return errors.New(many(wrong, "item", "items") + " would not succeed")
	}
	return err
}

// findAll returns the ids of users or groups.
func (s *session) findAll(a app, names []string, groups bool) (ids []string, err error) {
	for _, name := range names {
		who, err := s.find(a, name, groups)
		if err != nil {
			return nil, err
		}
		ids = append(ids, who.ID)
	}
	return ids, nil
}

func (p *page) plan(plan engine.Plan) {
	p.row("plan", plan.ID)
	p.row("status", string(plan.Status))
	if plan.Reason != "" {
		p.row("reason", plan.Reason)
	}
	p.row("items", strconv.Itoa(plan.Items))
	if plan.Items > 0 {
		p.row("operations", counts(plan.Operations))
		p.row("outcomes", counts(plan.Outcomes))
	}
	p.row("expires", when(plan.ExpiresAt))
}

type plansCommand struct {
	App       string `arg:"" help:"Id or label of the app."`
	Plan      string `arg:"" optional:"" help:"Show the items of this plan."`
	Operation string `help:"Show only items with this operation." placeholder:"OPERATION"`
	Outcome   string `help:"Show only items with this outcome." placeholder:"OUTCOME"`
	After     int    `help:"Show only items after the one with this number."`
	Limit     int    `help:"Maximum number of items." default:"100"`
}

// Run lists plans or items.
func (c *plansCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	if c.Plan == "" {
		all, err := s.engine.Plans(s.ctx, a.id)
		if err != nil {
			return err
		}
		return s.show(func(p *page) {
			if len(all) == 0 {
				p.line("%s has no plans.", a.label)
				return
			}
			p.row("PLAN", "STATUS", "ITEMS", "CREATED", "REASON")
			for _, plan := range all {
				p.row(plan.ID, string(plan.Status), strconv.Itoa(plan.Items), when(plan.CreatedAt), plan.Reason)
			}
		})
	}
	items, err := s.engine.PlanItems(s.ctx, a.id, c.Plan, client.ItemOptions{
		Operation: engine.Operation(c.Operation), Outcome: engine.Class(c.Outcome), After: c.After, Limit: c.Limit,
	})
	if err != nil {
		return err
	}
	return s.show(func(p *page) {
		if len(items) == 0 {
			p.line("No items found.")
		}
		for _, item := range items {
			mark := ""
			if item.Marked {
				mark = ", applied"
			}
			p.line("%d %s %s: %s, %s, %s%s", item.Seq, item.Kind, nameOr(item.Name, item.ID), item.Operation, item.Outcome,
				many(item.Sent, "request", "requests"), mark)
			if item.Message != "" {
				p.line("  %s", oneLine(item.Message))
			}
			p.diff(item.Diff)
			p.members(item.Members)
		}
	})
}

type applyCommand struct {
	App   string `arg:"" help:"Id or label of the app."`
	Plan  string `arg:"" help:"Id of the plan."`
	First int    `help:"Apply only this number of the remaining items; later items are rejected until these have succeeded." placeholder:"N"`
}

// Run applies a plan and does not wait for its result.
func (c *applyCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	plan, err := s.engine.ApplyPlan(s.ctx, a.id, c.Plan, c.First)
	if err != nil {
		return err
	}
	return s.show(func(p *page) { p.plan(plan) })
}

type discardCommand struct {
	App  string `arg:"" help:"Id or label of the app."`
	Plan string `arg:"" help:"Id of the plan."`
}

// Run removes a plan.
func (c *discardCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	if err := s.engine.DiscardPlan(s.ctx, a.id, c.Plan); err != nil {
		return err
	}
	return s.show(func(p *page) { p.line("The plan is removed.") })
}
