package engine

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
)

// targetCommands compare all that a target has.
type targetCommands struct {
	Drift     driftCommand     `cmd:"" help:"Compare all that a target has with what is wanted there."`
	Reconcile reconcileCommand `cmd:"" help:"Bring a target, and what is known about it, back in line."`
	Import    importCommand    `cmd:"" help:"Read the accounts of a target and find out whose they are."`
	Links     struct {
		Export linksExportCommand `cmd:"" help:"Print which account belongs to whom, one JSON object a line."`
		Import linksImportCommand `cmd:"" help:"Take such lines in, all or none."`
	} `cmd:"" help:"Carry links from one provisioning client to another."`
}

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
	kind := engine.User
	if c.Groups {
		kind = engine.Group
	}
	d, err := s.engine.Drift(s.ctx, a.id, client.DriftOptions{Kind: kind, Repair: c.Repair, Limit: c.Limit})
	if err != nil {
		return err
	}
	err = s.show(func(p *page) {
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

func (p *page) finding(f engine.Finding) {
	p.row(string(f.What), nameOr(f.RemoteName, nameOr(f.RemoteID, f.Principal)), f.Note)
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
	found, err := s.engine.Reconcile(s.ctx, a.id)
	if err != nil {
		return err
	}
	return s.show(func(p *page) {
		p.row("KIND", "LISTED", "COMPARED", "AGAIN", "UNKNOWN", "UNLISTED", "FOUND")
		for _, kind := range []engine.Kind{engine.User, engine.Group} {
			if r, ok := found[kind]; ok {
				p.row(string(kind), strconv.Itoa(r.Listed), strconv.Itoa(r.Compared), strconv.Itoa(r.Marked), strconv.Itoa(r.Unknown),
					strconv.Itoa(r.Unlisted), counts(r.Found))
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
	kind := engine.User
	if c.Groups {
		kind = engine.Group
	}
	id, err := s.engine.StartImport(s.ctx, a.id, kind)
	if err != nil {
		return err
	}
	job, err := s.ended(a, id, c.Timeout)
	if err != nil {
		return err
	}
	raw := s.sent.body
	var objects []engine.RemoteObject
	if c.Limit > 0 {
		if objects, err = s.engine.ImportedObjects(s.ctx, a.id, id, client.ObjectOptions{Limit: c.Limit}); err != nil {
			return err
		}
	}
	var done client.Confirmed
	if c.Confirm && job.Status == engine.ImportDone {
		if done, err = s.engine.ConfirmImport(s.ctx, a.id, id, nil); err != nil {
			return err
		}
	}
	err = s.print(raw, func(p *page) {
		if len(objects) > 0 {
			p.row("ACCOUNT", "NAME", "VERDICT", "BY", "WHOSE", "NOTE")
		}
		for _, o := range objects {
			p.row(o.RemoteID, o.UserName, string(o.Verdict), string(o.Rule), o.Principal, o.Note)
		}
		p.line("import %s is %s: %d read, %s", id, job.Status, job.UsersImported+job.GroupsImported, counts(job.Verdicts))
		if c.Confirm {
			p.line("%s linked.", many(done.Linked, "is", "are"))
		}
	})
	if err == nil && job.Status != engine.ImportDone {
		return fmt.Errorf("the import is %s: %s", job.Status, fmt.Sprint(job.Errors))
	}
	return err
}

// ended waits for the end of an import.
func (s *session) ended(a app, id string, timeout time.Duration) (client.Import, error) {
	tick := time.NewTicker(importPoll)
	defer tick.Stop()
	over := time.NewTimer(timeout)
	defer over.Stop()
	for {
		job, err := s.engine.Import(s.ctx, a.id, id)
		if err != nil || job.Status != engine.ImportRunning {
			return job, err
		}
		select {
		case <-s.ctx.Done():
			return job, s.ctx.Err()
		case <-over.C:
			return job, fmt.Errorf("the import still runs after %s; GET /sandbox/v1/apps/%s/import/%s tells how far it is", timeout, a.id, id)
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
	all := []engine.Link{}
	out := json.NewEncoder(s.out)
	for after := (engine.Link{}); ; {
		links, err := s.engine.Links(s.ctx, a.id, after, linkPage)
		if err != nil {
			return err
		}
		for _, l := range links {
			after = l
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
	return s.print(raw, nil)
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
	n, err := s.engine.ImportLinks(s.ctx, a.id, links)
	if err != nil {
		return err
	}
	return s.show(func(p *page) { p.line("%s taken in.", many(n, "link was", "links were")) })
}

func readLinks(from io.Reader) ([]engine.Link, error) {
	links := []engine.Link{}
	d := json.NewDecoder(bufio.NewReader(from))
	d.DisallowUnknownFields()
	for {
		var l engine.Link
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
