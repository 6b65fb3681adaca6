package sandbox

import (
	"context"
	"strconv"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi"
)

// importer reads the accounts of targets for the management API, with the engine.
type importer struct{ engine *provision.Engine }

var _ mgmtapi.Importer = importer{}

// Import implements mgmtapi.Importer. The engine does not link matched accounts; Link does.
func (e importer) Import(ctx context.Context, app string, r mgmtapi.ImportRequest) (string, error) {
	request := engine.ImportRequest{
		Kind: engine.User, Match: []engine.MatchRule{engine.MatchExternalID, engine.MatchUserName}, Partial: r.Partial, Keep: true,
	}
	if r.ByEmail {
		request.Match[1] = engine.MatchEmail
	}
	if r.Kind == mgmtapi.Group {
		request = engine.ImportRequest{Kind: engine.Group, Partial: true}
	}
	id, err := e.engine.Imports().Start(ctx, app, request)
	return strconv.FormatInt(id, 10), control.Rejected(err, "AppInstance", app)
}

// ImportState implements mgmtapi.Importer.
func (e importer) ImportState(ctx context.Context, app, job string) (mgmtapi.ImportState, error) {
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

// Accounts implements mgmtapi.Importer. The resource of an account is nil if this import has not read the account, but an earlier import
// has.
func (e importer) Accounts(ctx context.Context, app, job string, q mgmtapi.AccountQuery) ([]mgmtapi.FoundAccount, error) {
	run, err := e.run(ctx, app, job)
	if err != nil {
		return nil, err
	}
	found, err := e.engine.Imports().Objects(ctx, engine.RemoteObjectQuery{
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
func (e importer) Link(ctx context.Context, tx mgmtapi.Tx, app, job string, links []mgmtapi.AccountLink) error {
	id, err := strconv.ParseInt(job, 10, 64)
	if err != nil {
		return rest.NotFound("Import", job)
	}
	wanted := make([]engine.Link, 0, len(links))
	for _, l := range links {
		wanted = append(wanted, engine.Link{Kind: engine.User, ID: l.User, RemoteID: l.Account, RemoteName: l.UserName})
	}
	return control.Rejected(e.engine.Imports().Confirm(ctx, tx, app, id, wanted), "Import", job)
}

// run returns an import of the app by its id as a string.
func (e importer) run(ctx context.Context, app, job string) (engine.ImportRun, error) {
	id, err := strconv.ParseInt(job, 10, 64)
	if err != nil {
		return engine.ImportRun{}, rest.NotFound("Import", job)
	}
	run, err := e.engine.Imports().Run(ctx, app, id)
	return run, control.Rejected(err, "Import", job)
}

// importing starts and confirms imports for the control API. The management API creates the users.
type importing struct{ api *mgmtapi.API }

var _ control.Imports = importing{}

// StartImport implements control.Imports.
func (i importing) StartImport(ctx context.Context, app string, kind engine.Kind) (string, error) {
	return i.api.StartImport(ctx, app, kinds[kind])
}

// ImportProgress implements control.Imports.
func (i importing) ImportProgress(ctx context.Context, app, run string) (*control.ImportProgress, error) {
	p, err := i.api.ImportProgress(ctx, app, run)
	if err != nil || p == nil {
		return nil, err
	}
	return &control.ImportProgress{
		Open: p.Open, Created: p.Created, Updated: p.Updated, Pending: p.Waiting, Inactive: p.Inactive, Failed: p.Failed,
		Errors: p.Errors, Groups: p.Groups, Ended: p.Ended,
	}, nil
}

// ConfirmImport implements control.Imports.
func (i importing) ConfirmImport(ctx context.Context, app, run string, c *client.Consent) (client.Confirmed, error) {
	var consent *mgmtapi.ImportConsent
	if c != nil {
		consent = &mgmtapi.ImportConsent{Create: c.Create}
		for _, l := range c.Links {
			consent.Links = append(consent.Links, mgmtapi.AccountLink{User: l.ID, Account: l.RemoteID, UserName: l.RemoteName})
		}
	}
	linked, created, err := i.api.ConfirmImport(ctx, app, run, consent)
	return client.Confirmed{Linked: linked, Created: created}, err
}
