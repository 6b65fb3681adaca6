package engine

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/cmd/internal/cli/frame"
)

// webhookCommands manage the webhooks of serve engine.
type webhookCommands struct {
	Webhook struct {
		List    listWebhooksCommand  `cmd:"" help:"List the endpoints with their state."`
		Create  createWebhookCommand `cmd:"" help:"Create an endpoint and print its id and its secret once."`
		Show    showWebhookCommand   `cmd:"" help:"Show an endpoint."`
		Update  updateWebhookCommand `cmd:"" help:"Change an endpoint. What no flag names remains."`
		Delete  deleteWebhookCommand `cmd:"" help:"Delete an endpoint with its undelivered messages."`
		Enable  enableWebhookCommand `cmd:"" help:"Enable an endpoint, and send its waiting messages immediately."`
		Rotate  rotateWebhookCommand `cmd:"" help:"Add a secret to an endpoint and print it once."`
		Letters lettersCommand       `cmd:"" help:"List the dead letters of an endpoint."`
		Replay  replayLettersCommand `cmd:"" help:"Deliver dead letters of an endpoint again."`
	} `cmd:"" help:"Manage the webhooks of serve engine."`
}

type webhook struct {
	ID           string    `json:"id,omitempty"`
	App          string    `json:"app,omitempty"`
	URL          string    `json:"url"`
	Types        []string  `json:"types,omitempty"`
	Description  string    `json:"description,omitempty"`
	Disabled     bool      `json:"disabled,omitempty"`
	Reason       string    `json:"reason,omitempty"`
	Created      time.Time `json:"created,omitzero"`
	Changed      time.Time `json:"changed,omitzero"`
	Delivered    time.Time `json:"delivered,omitzero"`
	Failures     int       `json:"failures,omitempty"`
	FailingSince time.Time `json:"failingSince,omitzero"`
	LastError    string    `json:"lastError,omitempty"`
	HeldUntil    time.Time `json:"heldUntil,omitzero"`
	Waiting      int       `json:"waiting,omitempty"`
	Dead         int       `json:"dead,omitempty"`
	Dropped      int       `json:"dropped,omitempty"`
	Secret       string    `json:"secret,omitempty"`
	FromStart    bool      `json:"fromStart,omitempty"`
}

// state returns the state of an endpoint in one word.
func (w webhook) state() string {
	switch {
	case w.Disabled:
		return "disabled"
	case w.Failures > 0:
		return "failing"
	}
	return "enabled"
}

// endpoint is the argument of commands for one endpoint.
type endpoint struct {
	ID string `arg:"" help:"Id of the endpoint."`
}

// do sends a request for the endpoint.
func (e endpoint) do(s *session, method, path string, body, into any) error {
	return s.engine.Do(s.ctx, method, "/webhooks/"+url.PathEscape(e.ID)+path, body, into)
}

type listWebhooksCommand struct{}

// Widths of columns, so that a line has at most 100 characters.
const (
	shownURL    = 26
	shownApp    = 16
	shownWho    = 20
	shownReason = 26
)

// Run lists the endpoints.
func (c *listWebhooksCommand) Run(in *Invocation, g *Commands) error {
	s, err := g.openService(in)
	if err != nil {
		return err
	}
	var all []webhook
	if err := s.engine.Do(s.ctx, http.MethodGet, "/webhooks?limit=1000", nil, &all); err != nil {
		return err
	}
	return s.show(func(p *page) {
		if len(all) == 0 {
			p.line("No webhooks.")
			return
		}
		p.row("ID", "APP", "STATE", "WAITING", "DEAD", "URL")
		for _, w := range all {
			p.row(w.ID, shorten(cmp.Or(w.App, "all"), shownApp), w.state(), strconv.Itoa(w.Waiting), strconv.Itoa(w.Dead), shorten(w.URL, shownURL))
		}
	})
}

func (p *page) webhook(w webhook) {
	p.row("id", w.ID)
	p.row("url", w.URL)
	p.row("app", cmp.Or(w.App, "all"))
	p.row("types", cmp.Or(strings.Join(w.Types, " "), "all"))
	if w.Description != "" {
		p.row("description", w.Description)
	}
	p.row("state", w.state())
	if w.Reason != "" {
		p.row("reason", w.Reason)
	}
	p.row("created", when(w.Created))
	p.row("changed", when(w.Changed))
	p.row("delivered", when(w.Delivered))
	if w.Failures > 0 {
		p.row("failures", strconv.Itoa(w.Failures)+" since "+when(w.FailingSince))
		p.row("last error", w.LastError)
	}
	if !w.HeldUntil.IsZero() {
		p.row("held until", when(w.HeldUntil))
	}
	p.row("waiting", strconv.Itoa(w.Waiting))
	p.row("dead letters", strconv.Itoa(w.Dead))
	if w.Dropped > 0 {
		p.row("removed", strconv.Itoa(w.Dropped)+" older dead letters")
	}
	if w.Secret != "" {
		p.row("secret", w.Secret)
		p.line("The secret is shown only now.")
	}
}

type createWebhookCommand struct {
	URL         string   `arg:"" help:"URL that receives the messages." name:"url"`
	App         string   `help:"Id of the app whose events are delivered. Default: all apps, also later ones." placeholder:"APP"`
	Type        []string `help:"Type of events, such as user.created (repeatable). Default: all." placeholder:"TYPE"`
	Description string   `help:"What the endpoint is for." placeholder:"TEXT"`
	FromStart   bool     `help:"Also deliver the stored events."`
}

// Run creates an endpoint.
func (c *createWebhookCommand) Run(in *Invocation, g *Commands) error {
	s, err := g.openService(in)
	if err != nil {
		return err
	}
	wanted := webhook{URL: c.URL, App: c.App, Types: c.Type, Description: c.Description, FromStart: c.FromStart}
	var made webhook
	if err := s.engine.Do(s.ctx, http.MethodPost, "/webhooks", wanted, &made); err != nil {
		return err
	}
	return s.show(func(p *page) { p.webhook(made) })
}

type showWebhookCommand struct{ endpoint }

// Run shows an endpoint.
func (c *showWebhookCommand) Run(in *Invocation, g *Commands) error {
	s, err := g.openService(in)
	if err != nil {
		return err
	}
	var w webhook
	if err := c.do(s, http.MethodGet, "", nil, &w); err != nil {
		return err
	}
	return s.show(func(p *page) { p.webhook(w) })
}

type updateWebhookCommand struct {
	endpoint
	URL         *string  `help:"New URL of the endpoint." name:"new-url" placeholder:"URL"`
	Type        []string `help:"Type of events, in place of all previous ones (repeatable)." placeholder:"TYPE" xor:"types"`
	AllTypes    bool     `help:"Deliver the events of all types." xor:"types"`
	Description *string  `help:"New description." placeholder:"TEXT"`
	Disable     bool     `help:"Deliver nothing until the endpoint is enabled. The events wait."`
}

// Run changes an endpoint. The API replaces all settings, so the command reads the present ones first.
func (c *updateWebhookCommand) Run(in *Invocation, g *Commands) error {
	if c.URL == nil && c.Description == nil && len(c.Type) == 0 && !c.AllTypes && !c.Disable {
		return frame.Usage("name a change: --new-url, --type, --all-types, --description or --disable")
	}
	s, err := g.openService(in)
	if err != nil {
		return err
	}
	var w webhook
	if err := c.do(s, http.MethodGet, "", nil, &w); err != nil {
		return err
	}
	next := webhook{URL: w.URL, Types: w.Types, Description: w.Description, Disabled: w.Disabled || c.Disable}
	if c.URL != nil {
		next.URL = *c.URL
	}
	if c.Description != nil {
		next.Description = *c.Description
	}
	if len(c.Type) > 0 || c.AllTypes {
		next.Types = c.Type
	}
	if err := c.do(s, http.MethodPut, "", next, &w); err != nil {
		return err
	}
	return s.show(func(p *page) { p.webhook(w) })
}

type deleteWebhookCommand struct{ endpoint }

// Run deletes an endpoint.
func (c *deleteWebhookCommand) Run(in *Invocation, g *Commands) error {
	s, err := g.openService(in)
	if err != nil {
		return err
	}
	if err := c.do(s, http.MethodDelete, "", nil, nil); err != nil {
		return err
	}
	return s.show(func(p *page) { p.line("The endpoint is deleted.") })
}

type enableWebhookCommand struct{ endpoint }

// Run enables an endpoint.
func (c *enableWebhookCommand) Run(in *Invocation, g *Commands) error {
	s, err := g.openService(in)
	if err != nil {
		return err
	}
	var w webhook
	if err := c.do(s, http.MethodPost, "/enable", nil, &w); err != nil {
		return err
	}
	return s.show(func(p *page) { p.line("The endpoint is enabled. Waiting messages: %d.", w.Waiting) })
}

type rotateWebhookCommand struct {
	endpoint
	Overlap time.Duration `help:"Time for which the previous secret signs, too, at most 720h." default:"24h" placeholder:"DURATION"`
}

// Run adds a secret and prints only its value, for use in scripts.
func (c *rotateWebhookCommand) Run(in *Invocation, g *Commands) error {
	if c.Overlap < 0 {
		return frame.Usage("--overlap must not be negative")
	}
	s, err := g.openService(in)
	if err != nil {
		return err
	}
	var made struct{ Secret string }
	path := "/rotate?overlapSeconds=" + strconv.FormatInt(int64(c.Overlap/time.Second), 10)
	if err := c.do(s, http.MethodPost, path, nil, &made); err != nil {
		return err
	}
	return s.show(func(p *page) { p.line("%s", made.Secret) })
}

type lettersCommand struct {
	endpoint
	Waiting bool `help:"List the messages that wait for a retry instead."`
	Limit   int  `help:"Maximum number of messages, at most 100." default:"100"`
}

// Run lists letters.
func (c *lettersCommand) Run(in *Invocation, g *Commands) error {
	s, err := g.openService(in)
	if err != nil {
		return err
	}
	var all []struct {
		ID, App, Type, Subject, Error string
		Next                          time.Time
	}
	state := "dead"
	if c.Waiting {
		state = "waiting"
	}
	if err := c.do(s, http.MethodGet, fmt.Sprintf("/letters?state=%s&limit=%d", state, c.Limit), nil, &all); err != nil {
		return err
	}
	return s.show(func(p *page) {
		if len(all) == 0 {
			p.line("No messages.")
			return
		}
		if c.Waiting {
			p.row("ID", "TYPE", "APP AND SUBJECT", "NEXT ATTEMPT")
		} else {
			p.row("ID", "TYPE", "APP AND SUBJECT", "LAST ERROR")
		}
		for _, l := range all {
			last := shorten(l.Error, shownReason)
			if c.Waiting {
				last = when(l.Next)
			}
			p.row(l.ID, l.Type, shorten(strings.TrimSpace(l.App+" "+l.Subject), shownWho), last)
		}
	})
}

type replayLettersCommand struct {
	endpoint
	Letter string `arg:"" optional:"" help:"Id of a dead letter."`
	All    bool   `help:"Deliver all dead letters of the endpoint."`
}

// Run delivers dead letters again.
func (c *replayLettersCommand) Run(in *Invocation, g *Commands) error {
	if (c.Letter == "") == !c.All {
		return frame.Usage("name a dead letter, or use --all")
	}
	s, err := g.openService(in)
	if err != nil {
		return err
	}
	if c.Letter != "" {
		if err := c.do(s, http.MethodPost, "/letters/"+url.PathEscape(c.Letter)+"/replay", nil, nil); err != nil {
			return err
		}
		return s.show(func(p *page) { p.line("The dead letter is delivered again.") })
	}
	var done struct{ Replayed int }
	if err := c.do(s, http.MethodPost, "/letters/replay", nil, &done); err != nil {
		return err
	}
	return s.show(func(p *page) {
		p.line("%s delivered again.", many(done.Replayed, "dead letter is", "dead letters are"))
	})
}
