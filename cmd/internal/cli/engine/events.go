package engine

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
)

// eventCommands list lifecycle events.
type eventCommands struct {
	Events eventsCommand `cmd:"" help:"List the lifecycle events of an app, oldest first."`
}

// followPoll is the interval at which --follow requests further events.
const followPoll = 500 * time.Millisecond

type eventsCommand struct {
	App    string `arg:"" help:"Id or label of the app."`
	Who    string `arg:"" optional:"" help:"Login or id of a user; with --group, name or id of a group. Default: all of the app."`
	Group  bool   `help:"WHO is a group, not a user." short:"g"`
	After  int64  `help:"List only events after the one with this number."`
	Limit  int    `help:"Maximum number of events." default:"100"`
	Follow bool   `help:"Continue with new events until interrupted. With --json, print one object per line." short:"f"`
}

// Run lists events, and with --follow also new ones.
func (c *eventsCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	var who engine.Principal // empty for all principals of the app
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

// follow prints events as they occur, one per line.
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
