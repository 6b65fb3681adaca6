package engine

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/mgmtapi/sandboxapi"
)

type driftCommand struct {
	App    string `arg:"" help:"Id or label of the app."`
	Groups bool   `help:"Compare groups instead of users."`
	Repair bool   `help:"Provision what differs again."`
	Limit  int    `help:"At most so many findings are listed." default:"1000"`
}

// Run compares. Drift that is not being repaired is a finding.
func (c *driftCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	kind := sandboxapi.KindUser
	if c.Groups {
		kind = sandboxapi.KindGroup
	}
	var d sandboxapi.Drift
	raw, err := s.call(http.MethodPost, a.at("/drift"), map[string]any{"kind": kind, "repair": c.Repair, "limit": c.Limit}, &d)
	if err != nil {
		return err
	}
	err = s.show(raw, func(p *page) {
		for _, f := range d.Findings {
			p.finding(f)
		}
		if d.More {
			p.line("There are more findings than are listed.")
		}
		p.line("%d listed, %d compared: %s", d.Listed, d.Compared, counts(d.Found))
		if c.Repair {
			p.line("%s provisioned again.", many(d.Marked, "is", "are"))
		}
	})
	if err == nil && d.Drifted > 0 && !c.Repair {
		return errors.New(many(d.Drifted, "has", "have") + " drifted")
	}
	return err
}

func (p *page) finding(f sandboxapi.Finding) {
	p.row(f.What, nameOr(f.RemoteName, nameOr(f.RemoteID, f.Principal)), f.Note)
	p.end()
	for _, v := range f.Values {
		p.row("  "+v.Path, "the target has "+value(v.Have)+", wanted is "+value(v.Want))
	}
	p.end()
	if f.Lacking+f.Surplus > 0 {
		p.line("  members: %d missing, %d that should not be there", f.Lacking, f.Surplus)
	}
	if f.Other != "" {
		p.line("  the account %s has the externalId %s too", f.Other, f.ExternalID)
	}
}

type reconcileCommand struct {
	App string `arg:"" help:"Id or label of the app."`
}

// Run reconciles, and does not wait for what comes of it.
func (c *reconcileCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	var found map[string]sandboxapi.Reconciled
	raw, err := s.call(http.MethodPost, a.at("/reconcile"), nil, &found)
	if err != nil {
		return err
	}
	return s.show(raw, func(p *page) {
		p.row("KIND", "LISTED", "COMPARED", "AGAIN", "UNKNOWN", "UNLISTED", "FOUND")
		for _, kind := range []string{sandboxapi.KindUser, sandboxapi.KindGroup} {
			if r, ok := found[kind]; ok {
				p.row(kind, strconv.Itoa(r.Listed), strconv.Itoa(r.Compared), strconv.Itoa(r.Marked), strconv.Itoa(r.Unknown), strconv.Itoa(r.Unlisted), counts(r.Found))
			}
		}
	})
}

// importPoll is how often a running import is asked for.
const importPoll = 200 * time.Millisecond

type importCommand struct {
	App     string `arg:"" help:"Id or label of the app."`
	Groups  bool   `help:"Import groups instead of users."`
	Confirm bool   `help:"Link what was matched."`
	Limit   int    `help:"At most so many accounts are listed." default:"100"`
	patience
}

// Run imports and waits for the end. What somebody has to decide is listed, and is no failure.
func (c *importCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	kind := "USERS"
	if c.Groups {
		kind = "GROUPS"
	}
	var started struct {
		JobID string `json:"jobId"`
	}
	if _, err := s.call(http.MethodPost, a.at("/import"), map[string]string{"type": kind}, &started); err != nil {
		return err
	}
	one := a.at("/import/" + started.JobID)
	var job sandboxapi.ImportJob
	raw, err := s.ended(one, &job, c.Timeout)
	if err != nil {
		return err
	}
	var objects []sandboxapi.RemoteObject
	if c.Limit > 0 {
		if _, err := s.call(http.MethodGet, one+"/objects?limit="+strconv.Itoa(c.Limit), nil, &objects); err != nil {
			return err
		}
	}
	var n struct{ Linked int }
	if c.Confirm && job.Status == "done" {
		if _, err := s.call(http.MethodPost, one+"/confirm", nil, &n); err != nil {
			return err
		}
	}
	err = s.show(raw, func(p *page) {
		if len(objects) > 0 {
			p.row("ACCOUNT", "NAME", "VERDICT", "BY", "WHOSE", "NOTE")
		}
		for _, o := range objects {
			p.row(o.RemoteID, o.UserName, o.Verdict, o.Rule, o.Principal, o.Note)
		}
		p.line("import %s is %s: %d read, %s", started.JobID, job.Status, job.UsersImported+job.GroupsImported, counts(job.Verdicts))
		if c.Confirm {
			p.line("%s linked.", many(n.Linked, "is", "are"))
		}
	})
	if err == nil && job.Status != "done" {
		return fmt.Errorf("the import is %s: %s", job.Status, fmt.Sprint(job.Errors))
	}
	return err
}

// ended waits for the end of an import.
func (s *session) ended(path string, job *sandboxapi.ImportJob, timeout time.Duration) (json.RawMessage, error) {
	tick := time.NewTicker(importPoll)
	defer tick.Stop()
	over := time.NewTimer(timeout)
	defer over.Stop()
	for {
		raw, err := s.call(http.MethodGet, path, nil, job)
		if err != nil || job.Status != "running" {
			return raw, err
		}
		select {
		case <-s.ctx.Done():
			return nil, s.ctx.Err()
		case <-over.C:
			return nil, fmt.Errorf("the import still runs after %s; GET %s tells how far it is", timeout, path)
		case <-tick.C:
		}
	}
}

type linksExportCommand struct {
	App string `arg:"" help:"Id or label of the app."`
}

// linkPage is how many links are asked for at once.
const linkPage = 1000

// Run prints links: JSON lines, or with --json one array.
func (c *linksExportCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	all := []sandboxapi.Link{}
	out := json.NewEncoder(s.out)
	for after := ""; ; {
		var links []sandboxapi.Link
		if _, err := s.call(http.MethodGet, a.at(fmt.Sprintf("/links?limit=%d&after=%s", linkPage, url.QueryEscape(after))), nil, &links); err != nil {
			return err
		}
		for _, l := range links {
			after = l.Kind + ":" + l.ID
			if s.json {
				all = append(all, l)
			} else if err := out.Encode(l); err != nil {
				return err
			}
		}
		if len(links) < linkPage {
			break
		}
	}
	if !s.json {
		return nil
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return s.show(raw, nil)
}

type linksImportCommand struct {
	App  string `arg:"" help:"Id or label of the app."`
	File string `arg:"" help:"File with one JSON object a line; - for standard input."`
}

// Run takes links in.
func (c *linksImportCommand) Run(in *Invocation, g *Commands) error {
	s, a, err := g.openAt(in, c.App)
	if err != nil {
		return err
	}
	from := s.in
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer f.Close()
		from = f
	}
	links, err := readLinks(from)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	var n struct{ Linked int }
	raw, err := s.call(http.MethodPost, a.at("/links"), map[string]any{"links": links}, &n)
	if err != nil {
		return err
	}
	return s.show(raw, func(p *page) { p.line("%s taken in.", many(n.Linked, "link was", "links were")) })
}

func readLinks(from io.Reader) ([]sandboxapi.Link, error) {
	links := []sandboxapi.Link{}
	d := json.NewDecoder(bufio.NewReader(from))
	d.DisallowUnknownFields()
	for {
		var l sandboxapi.Link
		err := d.Decode(&l)
		if errors.Is(err, io.EOF) {
			return links, nil
		}
		if err != nil {
			return nil, fmt.Errorf("link %d: %w", len(links)+1, err)
		}
		links = append(links, l)
	}
}
