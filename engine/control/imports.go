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

// Imports creates users from the accounts that imports find. It is a port of a host that has more to do than to link accounts.
type Imports interface {
	// StartImport starts an import of the users or groups of an app, and returns the id of the engine's run.
	StartImport(ctx context.Context, app string, kind engine.Kind) (run string, err error)
	// ImportProgress returns what the host has done with the accounts of a run, nil if the host has nothing to do with it.
	ImportProgress(ctx context.Context, app, run string) (*ImportProgress, error)
	// ConfirmImport links accounts of a run of users to users, or creates users, as the consent says; without one it links what was matched.
	// It is called for runs that have a progress.
	ConfirmImport(ctx context.Context, app, run string, consent *client.Consent) (client.Confirmed, error)
}

// ImportProgress is what a host has done with the accounts of an import of users.
type ImportProgress struct {
	Open bool // the host is not done
	// Created, Updated, Pending (waiting for a consent), Inactive and Failed are numbers of accounts.
	Created, Updated, Pending, Inactive, Failed int
	Errors                                      []string
	Groups                                      bool // the run reads groups, for which the host does nothing
	Ended                                       time.Time
}

func (a *api) importRoutes() []rest.Route {
	const one = "/apps/{app}/import/{job}"
	return []rest.Route{
		row(a, "startImport", "POST /apps/{app}/import",
			"Read the accounts or groups of an app's SCIM server, find out whose they are, and make users of them as the application says", 202,
			a.startImport),
		row(a, "getImport", "GET "+one, "Show how far an import has come", 0, a.showImport),
		row(a, "listImportedObjects", "GET "+one+"/objects", "List what an import has found", 0, a.importedObjects),
		row(a, "confirmImport", "POST "+one+"/confirm", "Link accounts that an import has found, or make users of them", 0, a.confirmImport),
	}
}

type startImportRequest struct {
	appRequest
	Body struct {
		Type string `json:"type" required:"true" enum:"USERS,GROUPS"`
	} `body:"required"`
}

type startedImport struct {
	JobID string `json:"jobId" readOnly:"true"`
}

type importRequest struct {
	appRequest
	Job string `path:"job" doc:"id of the import"`
}

type remoteObjectsRequest struct {
	importRequest
	Verdict string `query:"verdict" enum:"linked,matched,ambiguous,partial,unmatched,gone" doc:"only those with this verdict"`
	After   string `query:"after" doc:"remoteId of the last one of the page before"`
	Limit   int    `query:"limit" default:"100" min:"1" max:"1000" clamp:"true"`
}

type confirmRequest struct {
	importRequest
	Body *confirmBody `body:"optional"`
}

type confirmBody struct {
	Links  []engine.Link `json:"links" doc:"whose the accounts are; what was matched when there are neither links nor create"`
	Create []string      `json:"create" max:"255" doc:"remoteIds of the accounts of which users are made"`
}

func (a *api) startImport(ctx context.Context, r *startImportRequest) (startedImport, error) {
	kind := engine.User
	if r.Body.Type == "GROUPS" {
		kind = engine.Group
	}
	job, err := a.o.Imports.StartImport(ctx, r.App, kind)
	return startedImport{JobID: job}, Rejected(err, "AppInstance", r.App)
}

// run finds an import of the app by its text; that of another app is not found.
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

func (a *api) importedObjects(ctx context.Context, r *remoteObjectsRequest) ([]engine.RemoteObject, error) {
	run, err := a.run(ctx, &r.importRequest)
	if err != nil {
		return nil, err
	}
	found, err := a.o.Engine.Imports().Objects(ctx, engine.RemoteObjectQuery{
		App: r.App, Kind: run.Request.Kind, Verdict: engine.Verdict(r.Verdict), After: r.After, Limit: r.Limit,
	})
	return append([]engine.RemoteObject{}, found...), err
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
					return client.Confirmed{}, rest.Invalid("links", "The import is one of users")
				}
			}
		}
		return a.o.Imports.ConfirmImport(ctx, r.App, r.Job, consent)
	}
	return a.confirmLinks(ctx, r, consent)
}

// confirmLinks links what an import has found, or without a consent what it has matched.
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

// linkPage is how many matched accounts are read at once.
const linkPage = 500

// matched is what the imports of a kind have matched.
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

// plainImports is for a host without Imports: accounts are linked, and no users are created.
type plainImports struct{ engine *provision.Engine }

func (i plainImports) StartImport(ctx context.Context, app string, kind engine.Kind) (string, error) {
	id, err := i.engine.Imports().Start(ctx, app, engine.ImportRequest{Kind: kind})
	return strconv.FormatInt(id, 10), err
}

func (plainImports) ImportProgress(context.Context, string, string) (*ImportProgress, error) {
	return nil, nil
}

func (plainImports) ConfirmImport(context.Context, string, string, *client.Consent) (client.Confirmed, error) {
	return client.Confirmed{}, errors.ErrUnsupported
}

var importWords = rest.Words{
	reflect.TypeFor[client.Import](): {Name: "ImportJob", Served: true, Members: map[string]reflect.StructTag{
		"status": `enum:"running,done,failed,stopped" doc:"stopped: too much of what was there before is not listed any more, and nothing ` +
			`was concluded"`,
		"usersImported":  `doc:"users that were read"`,
		"usersMatched":   `doc:"accounts of which it is known whose they are"`,
		"usersCreated":   `doc:"users that were made of accounts"`,
		"usersUpdated":   `doc:"users whose profile has changed"`,
		"usersPending":   `doc:"accounts that wait for consent"`,
		"usersInactive":  `doc:"accounts that are deactivated, and of which nothing was made"`,
		"usersFailed":    `doc:"accounts that could not be imported; errors tells the first of them"`,
		"groupsImported": "",
		"errors":         "",
		"verdicts":       `doc:"accounts or groups by verdict: linked, matched, ambiguous, partial, unmatched, gone"`,
		"lost":           `doc:"linked accounts that are not listed; nothing follows from that"`,
		"begun":          "",
		"ended":          "",
	}},
	reflect.TypeFor[engine.RemoteObject](): {Served: true, Members: map[string]reflect.StructTag{
		"remoteId":    "",
		"userName":    `doc:"of a group its displayName"`,
		"externalId":  "",
		"email":       "",
		"displayName": "",
		"active":      "",
		"verdict":     `enum:"linked,matched,ambiguous,partial,unmatched,gone"`,
		"rule":        `doc:"by which it was matched"`,
		"principal":   `doc:"whose it is"`,
		"candidates":  `doc:"whom somebody has to choose from"`,
		"note":        "",
	}},
	reflect.TypeFor[client.Confirmed](): {Name: "ConfirmedImport", Served: true, Members: map[string]reflect.StructTag{
		"linked": "", "created": "",
	}},
}
