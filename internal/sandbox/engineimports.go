package sandbox

import (
	"context"
	"strconv"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi"
	"github.com/scimwright/scimwright/mgmtapi/sandboxapi"
)

var _ mgmtapi.Importer = (*engineAPI)(nil)

// Import implements mgmtapi.Importer. What is matched waits until a link is made.
func (e *engineAPI) Import(ctx context.Context, app string, r mgmtapi.ImportRequest) (string, error) {
	request := engine.ImportRequest{Kind: engine.User, Match: []engine.MatchRule{engine.MatchExternalID, engine.MatchUserName}, Partial: r.Partial, Keep: true}
	if r.ByEmail {
		request.Match[1] = engine.MatchEmail
	}
	if r.Kind == mgmtapi.Group {
		request = engine.ImportRequest{Kind: engine.Group, Partial: true}
	}
	id, err := e.engine.Import(ctx, app, request)
	return strconv.FormatInt(id, 10), refused(err, "AppInstance", app)
}

// ImportState implements mgmtapi.Importer.
func (e *engineAPI) ImportState(ctx context.Context, app, job string) (mgmtapi.ImportState, error) {
	run, err := e.run(ctx, app, job)
	if err != nil {
		return mgmtapi.ImportState{}, err
	}
	s := mgmtapi.ImportState{Running: run.State == engine.ImportRunning}
	if s.Failed = !s.Running && run.State != engine.ImportDone; s.Failed {
		s.Error = run.Error
	}
	return s, nil
}

// Accounts implements mgmtapi.Importer. What an earlier run has seen is left out.
func (e *engineAPI) Accounts(ctx context.Context, app, job string, q mgmtapi.AccountQuery) ([]mgmtapi.FoundAccount, error) {
	run, err := e.run(ctx, app, job)
	if err != nil {
		return nil, err
	}
	found, err := e.engine.RemoteObjects(ctx, engine.RemoteObjectQuery{
		App: app, Kind: engine.User, Verdict: engine.Verdict(q.Verdict), Only: q.Only, After: q.After, Limit: q.Limit, Whole: true,
	})
	all := make([]mgmtapi.FoundAccount, 0, len(found))
	for _, o := range found {
		a := mgmtapi.FoundAccount{
			ID: o.RemoteID, UserName: o.UserName, Active: o.Active, Verdict: mgmtapi.Verdict(o.Verdict), User: o.Principal, Candidates: o.Candidates,
		}
		if o.Run == run.ID {
			a.Resource = o.Resource
		}
		all = append(all, a)
	}
	return all, err
}

// Link implements mgmtapi.Importer.
func (e *engineAPI) Link(ctx context.Context, tx mgmtapi.Tx, app, job string, links []mgmtapi.AccountLink) error {
	id, err := strconv.ParseInt(job, 10, 64)
	if err != nil {
		return rest.NotFound("Import", job)
	}
	wanted := make([]engine.Link, 0, len(links))
	for _, l := range links {
		wanted = append(wanted, engine.Link{Kind: engine.User, ID: l.User, RemoteID: l.Account, RemoteName: l.UserName})
	}
	return refused(e.engine.Confirm(ctx, tx, app, id, wanted), "Import", job)
}

// run finds an import of the app by its text.
func (e *engineAPI) run(ctx context.Context, app, job string) (engine.ImportRun, error) {
	id, err := strconv.ParseInt(job, 10, 64)
	if err != nil {
		return engine.ImportRun{}, rest.NotFound("Import", job)
	}
	run, err := e.engine.ImportRun(ctx, app, id)
	return run, refused(err, "Import", job)
}

// ImportJob implements sandboxapi.Imports.
func (e *engineAPI) ImportJob(ctx context.Context, app, job string) (sandboxapi.ImportJob, error) {
	run, err := e.run(ctx, app, job)
	if err != nil {
		return sandboxapi.ImportJob{}, err
	}
	out := sandboxapi.ImportJob{Status: string(run.State), Errors: []string{}, Verdicts: map[string]int{}, Lost: run.Lost, Begun: run.Begun, Ended: run.Ended}
	for verdict, n := range run.Counts {
		out.Verdicts[string(verdict)] = n
	}
	if run.Request.Kind == engine.Group {
		out.GroupsImported = run.Seen
	} else {
		out.UsersImported, out.UsersMatched = run.Seen, run.Counts[engine.VerdictMatched]+run.Counts[engine.VerdictLinked]
	}
	if run.Error != "" {
		out.Errors = append(out.Errors, run.Error)
	}
	return out, nil
}

// RemoteObjects implements sandboxapi.Imports.
func (e *engineAPI) RemoteObjects(ctx context.Context, app, job string, q sandboxapi.RemoteObjectQuery) ([]sandboxapi.RemoteObject, error) {
	run, err := e.run(ctx, app, job)
	if err != nil {
		return nil, err
	}
	found, err := e.engine.RemoteObjects(ctx, engine.RemoteObjectQuery{
		App: app, Kind: run.Request.Kind, Verdict: engine.Verdict(q.Verdict), After: q.After, Limit: q.Limit,
	})
	all := make([]sandboxapi.RemoteObject, 0, len(found))
	for _, o := range found {
		all = append(all, sandboxapi.RemoteObject{
			RemoteID: o.RemoteID, UserName: o.UserName, ExternalID: o.ExternalID, Email: o.Email, DisplayName: o.DisplayName, Active: o.Active,
			Verdict: string(o.Verdict), Rule: string(o.Rule), Principal: o.Principal, Candidates: o.Candidates, Note: o.Note,
		})
	}
	return all, err
}

// linkPage is how many matched accounts are read at once.
const linkPage = 500

// ConfirmGroups implements sandboxapi.Imports.
func (e *engineAPI) ConfirmGroups(ctx context.Context, app, job string, links []sandboxapi.Link) (int, error) {
	run, err := e.run(ctx, app, job)
	if err != nil {
		return 0, err
	}
	wanted := linksOf(links)
	if links == nil {
		if wanted, err = e.matched(ctx, app, run.Request.Kind); err != nil {
			return 0, err
		}
	}
	return len(wanted), e.link(ctx, app, wanted, func(tx engine.Execer) error { return e.engine.Confirm(ctx, tx, app, run.ID, wanted) })
}

// matched is what the imports of a kind have matched.
func (e *engineAPI) matched(ctx context.Context, app string, kind engine.Kind) (links []engine.Link, err error) {
	for after := ""; ; {
		page, err := e.engine.RemoteObjects(ctx, engine.RemoteObjectQuery{App: app, Kind: kind, Verdict: engine.VerdictMatched, After: after, Limit: linkPage})
		if err != nil {
			return nil, err
		}
		for _, o := range page {
			links = append(links, engine.Link{Kind: kind, ID: o.Principal, RemoteID: o.RemoteID, RemoteName: o.UserName})
			after = o.RemoteID
		}
		if len(page) < linkPage {
			return links, nil
		}
	}
}

func linksOf(links []sandboxapi.Link) []engine.Link {
	all := make([]engine.Link, 0, len(links))
	for _, l := range links {
		all = append(all, engine.Link{Kind: engine.Kind(l.Kind), ID: l.ID, RemoteID: l.RemoteID, RemoteName: l.RemoteName, Origin: engine.Origin(l.Origin)})
	}
	return all
}

// link makes links in one transaction and has those principals provisioned that are wanted at the app, so that the documents of the
// management API come to know the accounts. Nothing is sent for others: somebody who is not assigned would lose the account.
func (e *engineAPI) link(ctx context.Context, app string, links []engine.Link, fn func(tx engine.Execer) error) error {
	if err := e.bridge.relayed(ctx); err != nil {
		return refused(err, "AppInstance", app)
	}
	var marks []engine.Mark
	for _, l := range links {
		want, err := e.wanted(ctx, app, l)
		if err != nil {
			return err
		}
		if want == engine.Active {
			marks = append(marks, engine.Mark{App: app, Kind: l.Kind, ID: l.ID})
		}
	}
	err := e.update(ctx, app, func(tx engine.Execer) error {
		if err := fn(tx); err != nil {
			return err
		}
		return e.engine.Mark(ctx, tx, marks...)
	})
	return refused(err, "AppInstance", app)
}

func (e *engineAPI) wanted(ctx context.Context, app string, l engine.Link) (engine.Want, error) {
	if l.Kind == engine.User {
		u, err := e.bridge.User(ctx, app, l.ID)
		return u.Want, err
	}
	g, err := e.bridge.Group(ctx, app, l.ID)
	return g.Want, err
}
