package engine

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/scimwright/scimwright/internal/cli/frame"
	"github.com/scimwright/scimwright/mgmtapi/sandboxapi"
)

type planCommand struct {
	App    string   `arg:"" help:"Id or label of the app."`
	Users  []string `arg:"" optional:"" help:"Logins or ids of users."`
	Group  []string `help:"Name or id of a group; may be given several times." placeholder:"GROUP" short:"g"`
	All    bool     `help:"Whoever the engine knows at the app."`
	Reason string   `help:"What it is for." placeholder:"TEXT"`
}

// Run makes a plan. Items that would not succeed are findings.
func (c *planCommand) Run(in *Invocation, g *Commands) error {
	if len(c.Users)+len(c.Group) == 0 && !c.All {
		return frame.Usage("name users or groups, or give --all")
	}
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	body := map[string]any{"all": c.All}
	if c.Reason != "" {
		body["reason"] = c.Reason
	}
	for member, names := range map[string][]string{"userIds": c.Users, "groupIds": c.Group} {
		ids := []string{}
		for _, name := range names {
			who, err := s.find(a, name, member == "groupIds")
			if err != nil {
				return err
			}
			ids = append(ids, who.id)
		}
		body[member] = ids
	}
	var plan sandboxapi.Plan
	raw, err := s.call(http.MethodPost, a.at("/plans"), body, &plan)
	if err != nil {
		return err
	}
	err = s.show(raw, func(p *page) { p.plan(plan) })
	if wrong := plan.Items - plan.Outcomes["done"] - plan.Outcomes["skipped"]; err == nil && wrong > 0 {
		return errors.New(many(wrong, "item", "items") + " would not succeed")
	}
	return err
}

func (p *page) plan(plan sandboxapi.Plan) {
	p.row("plan", plan.ID)
	p.row("status", plan.Status)
	if plan.Reason != "" {
		p.row("reason", plan.Reason)
	}
	p.row("operations", counts(plan.Operations))
	p.row("outcomes", counts(plan.Outcomes))
	p.row("expires", when(plan.ExpiresAt))
}

type plansCommand struct {
	App       string `arg:"" help:"Id or label of the app."`
	Plan      string `arg:"" optional:"" help:"Show what is in this plan."`
	Operation string `help:"Only items with this operation." placeholder:"OPERATION"`
	Outcome   string `help:"Only items with this outcome." placeholder:"OUTCOME"`
	After     int    `help:"Only items after the one with this number."`
	Limit     int    `help:"At most so many items." default:"100"`
}

// Run lists plans or items.
func (c *plansCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	if c.Plan == "" {
		var all []sandboxapi.Plan
		raw, err := s.call(http.MethodGet, a.at("/plans"), nil, &all)
		if err != nil {
			return err
		}
		return s.show(raw, func(p *page) {
			p.row("PLAN", "STATUS", "ITEMS", "CREATED", "REASON")
			for _, plan := range all {
				p.row(plan.ID, plan.Status, strconv.Itoa(plan.Items), when(plan.CreatedAt), plan.Reason)
			}
		})
	}
	query := url.Values{"after": {strconv.Itoa(c.After)}, "limit": {strconv.Itoa(c.Limit)}}
	if c.Operation != "" {
		query.Set("operation", c.Operation)
	}
	if c.Outcome != "" {
		query.Set("outcome", c.Outcome)
	}
	var items []sandboxapi.PlanItem
	raw, err := s.call(http.MethodGet, a.at("/plans/"+url.PathEscape(c.Plan)+"/items?"+query.Encode()), nil, &items)
	if err != nil {
		return err
	}
	return s.show(raw, func(p *page) {
		for _, item := range items {
			mark := ""
			if item.Marked {
				mark = ", applied"
			}
			p.line("%d %s %s: %s, %s, %s%s", item.Seq, item.Kind, nameOr(item.Name, item.ID), item.Operation, item.Outcome, many(item.Sent, "request", "requests"), mark)
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
	First int    `help:"Apply only so many of the items that are left; the rest is refused until all of them have succeeded." placeholder:"N"`
}

// Run applies a plan, and does not wait for what comes of it.
func (c *applyCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	var body any
	if c.First != 0 {
		body = map[string]int{"first": c.First}
	}
	var plan sandboxapi.Plan
	raw, err := s.call(http.MethodPost, a.at("/plans/"+url.PathEscape(c.Plan)+"/apply"), body, &plan)
	if err != nil {
		return err
	}
	return s.show(raw, func(p *page) { p.plan(plan) })
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
	raw, err := s.call(http.MethodDelete, a.at("/plans/"+url.PathEscape(c.Plan)), nil, nil)
	if err != nil {
		return err
	}
	return s.show(raw, func(p *page) { p.line("The plan is removed.") })
}
