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

// targetCommands compare, import and link all objects of a target.
type targetCommands struct {
	Drift     driftCommand     `cmd:"" help:"Compare all users or groups of a target with the desired state."`
	Reconcile reconcileCommand `cmd:"" help:"Compare the users and groups of a target and provision the differing ones again."`
	Import    importCommand    `cmd:"" help:"Read the accounts of a target and determine their owners."`
	Links     struct {
		Export linksExportCommand `cmd:"" help:"Print the links of an app: accounts with their owners, one JSON object per line."`
		Import linksImportCommand `cmd:"" help:"Import links from a file with one JSON object per line, all or none."`
	} `cmd:"" help:"Transfer links from one provisioning client to another."`
}

type driftCommand struct {
	App    string `arg:"" help:"Id or label of the app."`
	Groups bool   `help:"Compare groups instead of users."`
	Repair bool   `help:"Provision the differing users or groups again."`
	Limit  int    `help:"Maximum number of findings in the output." default:"1000"`
}

// Run compares a target with the directory. It returns an error if it finds drift without --repair.
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
			p.line("The list of findings is truncated.")
		}
		p.line("%s on the target, %d compared with the directory: %s", many(d.Listed, string(kind), string(kind)+"s"), d.Compared,
			findings(d.Found))
		if c.Repair {
			p.line("%s provisioned again.", many(d.Marked, string(kind)+" is", string(kind)+"s are"))
		}
	})
	if err == nil && d.Drifted > 0 && !c.Repair {
		return errors.New(many(d.Drifted, string(kind)+" has", string(kind)+"s have") + " drifted")
	}
	return err
}

// findings formats the numbers of findings.
func findings(m map[engine.DriftKind]int) string {
	if len(m) == 0 {
		return "no findings"
	}
	return counts(m)
}

func (p *page) finding(f engine.Finding) {
	p.row(string(f.What), nameOr(f.RemoteName, nameOr(f.RemoteID, f.Principal)), f.Note)
	p.end()
	for _, v := range f.Values {
		p.row("  "+v.Path, "target "+value(v.Have)+", desired "+value(v.Want))
	}
	p.end()
	if f.Lacking+f.Surplus > 0 {
		p.line("  members: %d missing, %d unexpected", f.Lacking, f.Surplus)
	}
	if f.Other != "" {
		p.line("  account %s has the same externalId %s", f.Other, f.ExternalID)
	}
}

type reconcileCommand struct {
	App string `arg:"" help:"Id or label of the app."`
}

// Run reconciles and does not wait for the marked users and groups.
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
		p.row("KIND", "LISTED", "COMPARED", "MARKED", "UNKNOWN", "UNLISTED", "FOUND")
		for _, kind := range []engine.Kind{engine.User, engine.Group} {
			if r, ok := found[kind]; ok {
				p.row(string(kind), strconv.Itoa(r.Listed), strconv.Itoa(r.Compared), strconv.Itoa(r.Marked), strconv.Itoa(r.Unknown),
					strconv.Itoa(r.Unlisted), counts(r.Found))
			}
		}
	})
}

// importPoll is the interval at which the state of a running import is requested.
const importPoll = 200 * time.Millisecond

type importCommand struct {
	App     string `arg:"" help:"Id or label of the app."`
	Groups  bool   `help:"Import groups instead of users."`
	Confirm bool   `help:"Link the matched accounts."`
	Limit   int    `help:"Maximum number of accounts in the output." default:"100"`
	waitFlags
}

// Run starts an import and waits until it is complete. Accounts that require a decision are listed and are not an error.
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
			p.row("ACCOUNT", "NAME", "VERDICT", "RULE", "OWNER", "NOTE")
		}
		for _, o := range objects {
			p.row(o.RemoteID, o.UserName, string(o.Verdict), string(o.Rule), o.Principal, o.Note)
		}
		p.line("import %s is %s: %d read, %s", id, job.Status, job.UsersImported+job.GroupsImported, counts(job.Verdicts))
		if c.Confirm {
			p.line("%s linked.", many(done.Linked, "account was", "accounts were"))
		}
	})
	if err == nil && job.Status != engine.ImportDone {
		return fmt.Errorf("the import is %s: %s", job.Status, fmt.Sprint(job.Errors))
	}
	return err
}

// ended waits until an import is complete.
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
			return job, fmt.Errorf("the import is still running after %s; GET /sandbox/v1/apps/%s/import/%s returns its progress", timeout, a.id, id)
		case <-tick.C:
		}
	}
}

type linksExportCommand struct {
	App string `arg:"" help:"Id or label of the app."`
}

// linkPage is the number of links per request.
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
	File string `arg:"" help:"File with one JSON object per line; - for standard input."`
}

// Run imports links.
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
	return s.show(func(p *page) { p.line("%s imported.", many(n, "link was", "links were")) })
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
