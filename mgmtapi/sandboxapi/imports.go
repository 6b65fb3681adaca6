package sandboxapi

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/imports"
)

const engineTag = "Engine"

// The kinds of principals.
const (
	KindUser  = "user"
	KindGroup = "group"
)

// Link is one link.
type Link struct {
	Kind       string `json:"kind" required:"true" enum:"user,group"`
	ID         string `json:"id" required:"true" doc:"of the user or group"`
	RemoteID   string `json:"remoteId" required:"true"`
	RemoteName string `json:"remoteName,omitempty" doc:"userName or displayName at the target"`
	Origin     string `json:"origin,omitempty" enum:"created,linked,imported" doc:"imported when absent"`
}

// inApp is a request about an app.
type inApp interface{ app() string }

func (r appRequest) app() string { return r.App }

// row is an operation of the engine about an app: the app is looked for first.
func row[Req, Resp any, P interface {
	*Req
	inApp
}](s *Slice, id, route, summary string, status int, do func(context.Context, *Req) (Resp, error)) rest.Route {
	return rest.Op[Req, Resp]{ID: id, Route: route, Tag: engineTag, Summary: summary, Status: status, Scopes: []string{manage}, Do: do,
		Find: func(ctx context.Context, r *Req) error { return s.findApp(ctx, &appRequest{App: P(r).app()}) },
	}
}

// Imports find out whose the accounts of a target are. Each is about an import of the app; for others it is not found.
type Imports interface {
	ImportJob(ctx context.Context, app, job string) (ImportJob, error)
	RemoteObjects(ctx context.Context, app, job string, q RemoteObjectQuery) ([]RemoteObject, error)
	// ConfirmGroups links groups that an import has found; what it has matched when links is nil. It returns how many.
	ConfirmGroups(ctx context.Context, app, job string, links []Link) (int, error)
}

// ImportJob is how far an import has come.
type ImportJob struct {
	Status         string         `json:"status" readOnly:"true" enum:"running,done,failed,stopped" doc:"stopped: too much of what was there before is not listed any more, and nothing was concluded"`
	UsersImported  int            `json:"usersImported" readOnly:"true" doc:"users that were read"`
	UsersMatched   int            `json:"usersMatched" readOnly:"true" doc:"accounts of which it is known whose they are"`
	UsersCreated   int            `json:"usersCreated" readOnly:"true" doc:"users that were made of accounts"`
	UsersUpdated   int            `json:"usersUpdated" readOnly:"true" doc:"users whose profile has changed"`
	UsersPending   int            `json:"usersPending" readOnly:"true" doc:"accounts that wait for consent"`
	UsersInactive  int            `json:"usersInactive" readOnly:"true" doc:"accounts that are deactivated, and of which nothing was made"`
	UsersFailed    int            `json:"usersFailed" readOnly:"true" doc:"accounts that could not be imported; errors tells the first of them"`
	GroupsImported int            `json:"groupsImported" readOnly:"true"`
	Errors         []string       `json:"errors" readOnly:"true"`
	Verdicts       map[string]int `json:"verdicts" readOnly:"true" doc:"accounts or groups by verdict: linked, matched, ambiguous, partial, unmatched, gone"`
	Lost           int            `json:"lost" readOnly:"true" doc:"linked accounts that are not listed; nothing follows from that"`
	Begun          time.Time      `json:"begun" readOnly:"true"`
	Ended          time.Time      `json:"ended,omitzero" readOnly:"true"`
}

// RemoteObjectQuery selects objects that an import has found.
type RemoteObjectQuery struct {
	Verdict, After string
	Limit          int
}

// RemoteObject is an account or group of a target.
type RemoteObject struct {
	RemoteID    string   `json:"remoteId" readOnly:"true"`
	UserName    string   `json:"userName" readOnly:"true" doc:"of a group its displayName"`
	ExternalID  string   `json:"externalId,omitempty" readOnly:"true"`
	Email       string   `json:"email,omitempty" readOnly:"true"`
	DisplayName string   `json:"displayName,omitempty" readOnly:"true"`
	Active      bool     `json:"active" readOnly:"true"`
	Verdict     string   `json:"verdict" readOnly:"true" enum:"linked,matched,ambiguous,partial,unmatched,gone"`
	Rule        string   `json:"rule,omitempty" readOnly:"true" doc:"by which it was matched"`
	Principal   string   `json:"principal,omitempty" readOnly:"true" doc:"whose it is"`
	Candidates  []string `json:"candidates,omitempty" readOnly:"true" doc:"whom somebody has to choose from"`
	Note        string   `json:"note,omitempty" readOnly:"true"`
}

func (s *Slice) importRoutes() []rest.Route {
	const one = "/sandbox/v1/apps/{app}/import/{job}"
	return []rest.Route{
		row(s, "startImport", "POST /sandbox/v1/apps/{app}/import", "Read the accounts or groups of an app's SCIM server, find out whose they are, and make users of them as the application says", 202, func(ctx context.Context, r *startImportRequest) (startedImport, error) {
			job, err := s.o.Importing.Begin(ctx, r.App, r.Body.Type == "GROUPS")
			return startedImport{JobID: job}, err
		}),
		row(s, "getImport", "GET "+one, "Show how far an import has come", 0, s.importJob),
		row(s, "listImportedObjects", "GET "+one+"/objects", "List what an import has found", 0, func(ctx context.Context, r *remoteObjectsRequest) ([]RemoteObject, error) {
			return s.o.Imports.RemoteObjects(ctx, r.App, r.Job, RemoteObjectQuery{Verdict: r.Verdict, After: r.After, Limit: r.Limit})
		}),
		row(s, "confirmImport", "POST "+one+"/confirm", "Link accounts that an import has found, or make users of them", 0, s.confirmImport),
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
	Links  []Link   `json:"links" doc:"whose the accounts are; what was matched when there are neither links nor create"`
	Create []string `json:"create" max:"255" doc:"remoteIds of the accounts of which users are made"`
}

type confirmedImport struct {
	Linked  int `json:"linked" readOnly:"true"`
	Created int `json:"created" readOnly:"true"`
}

// importJob is what the engine has read, with what was made of it.
func (s *Slice) importJob(ctx context.Context, r *importRequest) (ImportJob, error) {
	out, err := s.o.Imports.ImportJob(ctx, r.App, r.Job)
	if err != nil {
		return out, err
	}
	job, err := s.o.Importing.Job(ctx, r.App, r.Job)
	if err != nil || job == nil {
		return out, err
	}
	if job.Open && out.Status == importDone {
		out.Status = importRunning
	}
	if !job.Ended.IsZero() {
		out.Ended = job.Ended
	}
	out.UsersMatched = max(0, out.UsersMatched-job.Created)
	out.UsersCreated, out.UsersUpdated, out.UsersPending, out.UsersInactive, out.UsersFailed = job.Created, job.Updated, job.Waiting, job.Inactive, job.Failed
	out.Errors = append(out.Errors, job.Errors...)
	return out, nil
}

// Statuses of imports.
const (
	importRunning = "running"
	importDone    = "done"
)

func (s *Slice) confirmImport(ctx context.Context, r *confirmRequest) (out confirmedImport, err error) {
	job, err := s.o.Importing.Job(ctx, r.App, r.Job)
	if err != nil {
		return out, err
	}
	var body *confirmBody
	if r.Body != nil && (r.Body.Links != nil || r.Body.Create != nil) {
		body = r.Body
	}
	if job == nil || job.Groups {
		var links []Link
		if body != nil {
			links = append([]Link{}, body.Links...)
		}
		out.Linked, err = s.o.Imports.ConfirmGroups(ctx, r.App, r.Job, links)
		return out, err
	}
	var consent *imports.Confirmed
	if body != nil {
		consent = &imports.Confirmed{Create: body.Create}
		for _, l := range body.Links {
			if l.Kind != KindUser {
				return out, rest.Invalid("links", "The import is one of users")
			}
			consent.Links = append(consent.Links, imports.Link{User: l.ID, Account: l.RemoteID, Name: l.RemoteName})
		}
	}
	out.Linked, out.Created, err = s.o.Importing.Confirm(ctx, r.App, r.Job, consent)
	return out, err
}
