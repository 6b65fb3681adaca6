package control

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/rest"
)

// Imports creates users from the accounts that imports find. An embedder implements this interface to do more than link accounts.
type Imports interface {
	// StartImport starts an import of the users or groups of an app, and returns the id of the engine's run.
	StartImport(ctx context.Context, app string, kind engine.Kind) (run string, err error)
	// ImportProgress returns what the embedder has done with the accounts of a run, or nil if the embedder does not process
	// that run.
	ImportProgress(ctx context.Context, app, run string) (*ImportProgress, error)
	// ConfirmImport links accounts of a run to users, or creates users, as the consent specifies. If consent is nil, it links the matched
	// accounts. The API calls it only if the run reads users and ImportProgress does not return nil for the run.
	ConfirmImport(ctx context.Context, app, run string, consent *client.Consent) (client.Confirmed, error)
}

// ImportProgress is what an embedder has done with the accounts of an import of users.
type ImportProgress struct {
	Open bool // the embedder is still processing accounts
	// Created, Updated, Pending (waiting for a confirmation), Inactive and Failed are numbers of accounts.
	Created, Updated, Pending, Inactive, Failed int
	Errors                                      []string
	Groups                                      bool // the run reads groups, which the embedder does not process
	Ended                                       time.Time
}

func (a *api) importRoutes() []rest.Route {
	const one = "/apps/{app}/import/{job}"
	return []rest.Route{
		row(a, "startImport", "POST /apps/{app}/import",
			"Import the accounts or groups of an app's SCIM server, and create users if the application is configured so", 202, a.startImport),
		row(a, "getImport", "GET "+one, "Show the progress of an import", 0, a.showImport),
		row(a, "listImportedObjects", "GET "+one+"/objects", "List the accounts or groups that an import has found", 0, a.importedObjects),
		rest.Needs(
			row(a, "confirmImport", "POST "+one+"/confirm", "Link accounts that an import has found, or create users from them", 0, a.confirmImport),
			engine.AccessApprove,
		),
	}
}

type startImportRequest struct {
	appRequest
	Body struct {
		Type string `json:"type" required:"true" enum:"USERS,GROUPS"`
	} `body:"required"`
}

type startedImport struct {
	JobID string `json:"jobId" readOnly:"true" doc:"id of the import"`
}

type importRequest struct {
	appRequest
	Job string `path:"job" doc:"id of the import"`
}

type remoteObjectsRequest struct {
	importRequest
	Verdict string `query:"verdict" enum:"linked,matched,ambiguous,partial,unmatched,gone" doc:"only accounts or groups with this verdict"`
	After   string `query:"after" doc:"remoteId of the last object of the previous page"`
	Limit   int    `query:"limit" default:"100" min:"1" max:"1000" clamp:"true"`
}

type confirmRequest struct {
	importRequest
	Body *confirmBody `body:"optional"`
}

type confirmBody struct {
	Links  []engine.Link `json:"links" doc:"links to create; if links and create are both absent, the matched accounts are linked"`
	Create []string      `json:"create" max:"255" doc:"remoteIds of the accounts from which users are created"`
}

func (a *api) startImport(ctx context.Context, r *startImportRequest) (startedImport, error) {
	kind := engine.User
	if r.Body.Type == "GROUPS" {
		kind = engine.Group
	}
	job, err := a.o.Imports.StartImport(ctx, r.App, kind)
	return startedImport{JobID: job}, Rejected(err, "AppInstance", r.App)
}

// run returns an import of the app, or a not-found error for an import of another app.
func (a *api) run(ctx context.Context, r *importRequest) (engine.ImportRun, error) {
	id, err := strconv.ParseInt(r.Job, 10, 64)
	if err != nil {
		return engine.ImportRun{}, rest.NotFound("Import", r.Job)
	}
	run, err := a.o.Engine.Imports().Run(ctx, r.App, id)
	return run, Rejected(err, "Import", r.Job)
}

func (a *api) showImport(ctx context.Context, r *importRequest) (client.Import, error) {
	run, err := a.run(ctx, r)
	if err != nil {
		return client.Import{}, err
	}
	out := client.Import{Status: run.State, Errors: []string{}, Verdicts: run.Counts, Lost: run.Lost, Begun: run.Begun, Ended: run.Ended}
	if out.Verdicts == nil {
		out.Verdicts = map[engine.Verdict]int{}
	}
	if run.Request.Kind == engine.Group {
		out.GroupsImported = run.Seen
	} else {
		out.UsersImported, out.UsersMatched = run.Seen, run.Counts[engine.VerdictMatched]+run.Counts[engine.VerdictLinked]
	}
	if run.Error != "" {
		out.Errors = append(out.Errors, run.Error)
	}
	made, err := a.o.Imports.ImportProgress(ctx, r.App, r.Job)
	if err != nil || made == nil {
		return out, err
	}
	if made.Open && out.Status == engine.ImportDone {
		out.Status = engine.ImportRunning
	}
	if !made.Ended.IsZero() {
		out.Ended = made.Ended
	}
	out.UsersMatched = max(0, out.UsersMatched-made.Created)
	out.UsersCreated, out.UsersUpdated, out.UsersPending = made.Created, made.Updated, made.Pending
	out.UsersInactive, out.UsersFailed = made.Inactive, made.Failed
	out.Errors = append(out.Errors, made.Errors...)
	return out, nil
}

// objectsPart is the number of objects per read of the store.
const objectsPart = 100

func (a *api) importedObjects(ctx context.Context, r *remoteObjectsRequest) (page rest.Page[engine.RemoteObject], err error) {
	run, err := a.run(ctx, &r.importRequest)
	if err != nil {
		return page, err
	}
	query := engine.RemoteObjectQuery{App: r.App, Kind: run.Request.Kind, Verdict: engine.Verdict(r.Verdict), After: r.After}
	read := func(after *engine.RemoteObject, n int) ([]engine.RemoteObject, error) {
		if query.Limit = n; after != nil {
			query.After = after.RemoteID
		}
		return a.o.Engine.Imports().Objects(ctx, query)
	}
	_, items, more, err := stretch(ctx, r.Limit, objectsPart, read, func(x *engine.RemoteObject) (engine.RemoteObject, int, error) {
		size := len(x.RemoteID) + len(x.UserName) + len(x.ExternalID) + len(x.Email) + len(x.DisplayName) + len(x.Note)
		for _, id := range x.Candidates {
			size += len(id)
		}
		return *x, size, nil
	})
	page.Items = items
	if more {
		page.Next = items[len(items)-1].RemoteID
	}
	return page, err
}

func (a *api) confirmImport(ctx context.Context, r *confirmRequest) (client.Confirmed, error) {
	var consent *client.Consent
	if r.Body != nil && (r.Body.Links != nil || r.Body.Create != nil) {
		consent = &client.Consent{Links: append([]engine.Link{}, r.Body.Links...), Create: r.Body.Create}
	}
	made, err := a.o.Imports.ImportProgress(ctx, r.App, r.Job)
	if err != nil {
		return client.Confirmed{}, err
	}
	if made != nil && !made.Groups {
		if consent != nil {
			for _, l := range consent.Links {
				if l.Kind != engine.User {
					return client.Confirmed{}, rest.Invalid("links", "The import contains users only")
				}
			}
		}
		return a.o.Imports.ConfirmImport(ctx, r.App, r.Job, consent)
	}
	return a.confirmLinks(ctx, r, consent)
}

// confirmLinks links accounts of an import: those of the consent, or the matched accounts without a consent.
func (a *api) confirmLinks(ctx context.Context, r *confirmRequest, consent *client.Consent) (client.Confirmed, error) {
	run, err := a.run(ctx, &r.importRequest)
	if err != nil {
		return client.Confirmed{}, err
	}
	var links []engine.Link
	if consent != nil {
		links = consent.Links
	} else if links, err = a.matched(ctx, r.App, run.Request.Kind); err != nil {
		return client.Confirmed{}, err
	}
	err = a.link(ctx, r.App, links, func(tx engine.Execer) error { return a.o.Engine.Imports().Confirm(ctx, tx, r.App, run.ID, links) })
	if err != nil {
		return client.Confirmed{}, err
	}
	return client.Confirmed{Linked: len(links)}, nil
}

// linkPage is the number of matched accounts that are read per page.
const linkPage = 500

// matched returns a link for each matched account of the imports of a kind.
func (a *api) matched(ctx context.Context, app string, kind engine.Kind) (links []engine.Link, err error) {
	for after := ""; ; {
		page, err := a.o.Engine.Imports().Objects(ctx, engine.RemoteObjectQuery{
			App: app, Kind: kind, Verdict: engine.VerdictMatched, After: after, Limit: linkPage,
		})
		if err != nil {
			return nil, err
		}
		for i := range page {
			o := &page[i]
			links = append(links, engine.Link{Kind: kind, ID: o.Principal, RemoteID: o.RemoteID, RemoteName: o.UserName})
			after = o.RemoteID
		}
		if len(page) < linkPage {
			return links, nil
		}
	}
}

// defaultImports is used if Options.Imports is nil: it links accounts and creates no users.
type defaultImports struct{ engine *provision.Engine }

func (i defaultImports) StartImport(ctx context.Context, app string, kind engine.Kind) (string, error) {
	id, err := i.engine.Imports().Start(ctx, app, engine.ImportRequest{Kind: kind})
	return strconv.FormatInt(id, 10), err
}

func (defaultImports) ImportProgress(context.Context, string, string) (*ImportProgress, error) {
	return nil, nil
}

func (defaultImports) ConfirmImport(context.Context, string, string, *client.Consent) (client.Confirmed, error) {
	return client.Confirmed{}, errors.ErrUnsupported
}

var importWords = rest.Words{
	reflect.TypeFor[client.Import](): {Name: "ImportJob", Served: true, Members: map[string]reflect.StructTag{
		"status": `enum:"running,done,failed,stopped" doc:"stopped: too many earlier objects are missing from the list, so the import ` +
			`was stopped without using the list"`,
		"usersImported":  `doc:"users that were read"`,
		"usersMatched":   `doc:"accounts with a known owner"`,
		"usersCreated":   `doc:"users that were created from accounts"`,
		"usersUpdated":   `doc:"users whose profile has changed"`,
		"usersPending":   `doc:"accounts that wait for a confirmation of the import"`,
		"usersInactive":  `doc:"deactivated accounts, which are not imported"`,
		"usersFailed":    `doc:"accounts that could not be imported; errors has the first errors"`,
		"groupsImported": "",
		"errors":         "",
		"verdicts":       `doc:"number of accounts or groups by verdict"`,
		"lost":           `doc:"linked accounts that are missing from the list; they are not changed"`,
		"begun":          "",
		"ended":          "",
	}},
	reflect.TypeFor[engine.RemoteObject](): {Served: true, Members: map[string]reflect.StructTag{
		"remoteId":    "",
		"userName":    `doc:"userName of the account, or displayName of the group"`,
		"externalId":  "",
		"email":       "",
		"displayName": "",
		"active":      "",
		"verdict": `enum:"linked,matched,ambiguous,partial,unmatched,gone" doc:"linked: already linked; matched: a rule matches exactly ` +
			`one principal; ambiguous: several candidates, or the only candidate has another account; partial: only the part before ` +
			`the @ of an address, or only the full name, is equal; unmatched: no candidate; gone: missing from the list"`,
		"rule":       `doc:"rule that matched the account or group"`,
		"principal":  `doc:"owner of the account"`,
		"candidates": `doc:"principals that may own an ambiguous or partial account or group"`,
		"note":       "",
	}},
	reflect.TypeFor[client.Confirmed](): {Name: "ConfirmedImport", Served: true, Members: map[string]reflect.StructTag{
		"linked": "", "created": "",
	}},
}
