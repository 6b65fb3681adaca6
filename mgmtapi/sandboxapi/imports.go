package sandboxapi

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/mgmtapi/rest"
)

// Imports find out whose the accounts of a target are.
type Imports interface {
	// Import begins one for the users or the groups of an app.
	Import(ctx context.Context, app, kind string) (job string, err error)
	// ImportJob and the others are about an import of the app; for others it is not found.
	ImportJob(ctx context.Context, app, job string) (ImportJob, error)
	RemoteObjects(ctx context.Context, app, job string, q RemoteObjectQuery) ([]RemoteObject, error)
	// Confirm links accounts that an import has found; what it has matched when links is nil. It returns how many.
	Confirm(ctx context.Context, app, job string, links []Link) (int, error)
}

// ImportJob is how far an import has come.
type ImportJob struct {
	Status         string         `json:"status" readOnly:"true" enum:"running,done,failed,stopped" doc:"stopped: too much of what was there before is not listed any more, and nothing was concluded"`
	UsersImported  int            `json:"usersImported" readOnly:"true" doc:"users that were read"`
	UsersMatched   int            `json:"usersMatched" readOnly:"true" doc:"accounts of which it is known whose they are"`
	UsersCreated   int            `json:"usersCreated" readOnly:"true" doc:"users that were made from accounts: always 0"`
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
		row(s, "startImport", "POST /sandbox/v1/apps/{app}/import", "Read the accounts or groups of an app's SCIM server and find out whose they are", 202, func(ctx context.Context, r *startImportRequest) (startedImport, error) {
			kind := KindUser
			if r.Body.Type == "GROUPS" {
				kind = KindGroup
			}
			job, err := s.o.Engine.Import(ctx, r.App, kind)
			return startedImport{JobID: job}, err
		}),
		row(s, "getImport", "GET "+one, "Show how far an import has come", 0, func(ctx context.Context, r *importRequest) (ImportJob, error) {
			return s.o.Engine.ImportJob(ctx, r.App, r.Job)
		}),
		row(s, "listImportedObjects", "GET "+one+"/objects", "List what an import has found", 0, func(ctx context.Context, r *remoteObjectsRequest) ([]RemoteObject, error) {
			return s.o.Engine.RemoteObjects(ctx, r.App, r.Job, RemoteObjectQuery{Verdict: r.Verdict, After: r.After, Limit: r.Limit})
		}),
		row(s, "confirmImport", "POST "+one+"/confirm", "Link accounts that an import has found", 0, func(ctx context.Context, r *confirmRequest) (linked, error) {
			var links []Link
			if r.Body != nil {
				links = r.Body.Links
			}
			n, err := s.o.Engine.Confirm(ctx, r.App, r.Job, links)
			return linked{Linked: n}, err
		}),
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
	Body *struct {
		Links []Link `json:"links" doc:"whose the accounts are; what was matched when absent"`
	} `body:"optional"`
}
