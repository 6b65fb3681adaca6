package engine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/mgmtapi/sandboxapi"
)

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
	path := a.at("/events")
	if c.Who != "" {
		who, err := s.find(a, c.Who, c.Group)
		if err != nil {
			return err
		}
		path = a.at(who.path() + "/events")
	}
	after := c.After
	for {
		var events []sandboxapi.Event
		raw, err := s.call(http.MethodGet, fmt.Sprintf("%s?after=%d&limit=%d", path, after, c.Limit), nil, &events)
		if err != nil {
			if s.ctx.Err() != nil && c.Follow {
				return nil
			}
			return err
		}
		if !c.Follow {
			return s.show(raw, func(p *page) { p.events(events) })
		}
		if err := s.follow(events); err != nil {
			return err
		}
		if len(events) > 0 {
			after = events[len(events)-1].Seq
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
func (s *session) follow(events []sandboxapi.Event) error {
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

func (p *page) events(all []sandboxapi.Event) {
	for _, e := range all {
		detail := e.Operation
		switch {
		case e.Hold != "":
			detail = "until " + when(e.Until)
		case !e.Since.IsZero():
			detail = "since " + when(e.Since)
		case e.HTTP != 0:
			detail += " " + strconv.Itoa(e.HTTP)
		}
		p.row(strconv.FormatInt(e.Seq, 10), when(e.At), e.Type, nameOr(e.Name, e.ID), detail)
	}
}
