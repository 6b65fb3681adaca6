package engine

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
)

// eventCommands show what has happened.
type eventCommands struct {
	Events eventsCommand `cmd:"" help:"List what has happened, in order."`
}

// followPoll is how often --follow asks for further events.
const followPoll = 500 * time.Millisecond

type eventsCommand struct {
	App    string `arg:"" help:"Id or label of the app."`
	Who    string `arg:"" optional:"" help:"Login or id of a user; with --group, name or id of a group. All of the app when absent."`
	Group  bool   `help:"It is a group." short:"g"`
	After  int64  `help:"Only those after the one with this number."`
	Limit  int    `help:"At most so many." default:"100"`
	Follow bool   `help:"Go on with what happens, until interrupted. With --json, one object a line." short:"f"`
}

// Run lists events, and with --follow those to come.
func (c *eventsCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	var who engine.Principal // empty for all of the app
	if c.Who != "" {
		if who, err = s.find(a, c.Who, c.Group); err != nil {
			return err
		}
	}
	from := client.EventOptions{After: c.After, Limit: c.Limit}
	for {
		var events []client.Event
		if who.ID == "" {
			events, err = s.engine.Events(s.ctx, a.id, from)
		} else {
			events, err = s.engine.PrincipalEvents(s.ctx, a.id, who, from)
		}
		if err != nil {
			if s.ctx.Err() != nil && c.Follow {
				return nil
			}
			return err
		}
		if !c.Follow {
			return s.show(func(p *page) { p.events(events) })
		}
		if err := s.follow(events); err != nil {
			return err
		}
		if len(events) > 0 {
			from.After = events[len(events)-1].Seq
			continue
		}
		select {
		case <-s.ctx.Done():
			return nil
		case <-time.After(followPoll):
		}
	}
}

// follow prints events as they come, one a line.
func (s *session) follow(events []client.Event) error {
	if !s.json {
		p := &page{out: s.out}
		p.events(events)
		return p.flush()
	}
	out := json.NewEncoder(s.out)
	for _, e := range events {
		if err := out.Encode(e); err != nil {
			return err
		}
	}
	return nil
}

func (p *page) events(all []client.Event) {
	for _, e := range all {
		detail := string(e.Operation)
		switch {
		case e.Hold != "":
			detail = "until " + when(e.Until)
		case !e.Since.IsZero():
			detail = "since " + when(e.Since)
		case e.HTTP != 0:
			detail += " " + strconv.Itoa(e.HTTP)
		}
		p.row(strconv.FormatInt(e.Seq, 10), when(e.At), string(e.Type), nameOr(e.Name, e.Principal), detail)
	}
}
