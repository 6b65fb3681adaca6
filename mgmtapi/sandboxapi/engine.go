package sandboxapi

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/internal/rest"
)

const engineTag = "Engine"

// Engine is the provisioning engine, as the composition root gives it. Errors of package rest are for the caller: what is not
// there, what has moved since somebody looked, what a target did not answer.
type Engine interface {
	Lanes
	Principals
	Plans
	Comparisons
	Links
}

// The kinds of principals.
const (
	KindUser  = "user"
	KindGroup = "group"
)

// Difference is an attribute that has one value and is to have another one.
type Difference struct {
	Path   string `json:"path" readOnly:"true"`
	Before any    `json:"before" readOnly:"true"`
	After  any    `json:"after" readOnly:"true"`
}

// Member is a user in a group of a target.
type Member struct {
	User string `json:"user,omitempty" readOnly:"true" doc:"absent for somebody who was not put there by the engine"`
	ID   string `json:"id" readOnly:"true" doc:"at the target"`
	Name string `json:"name,omitempty" readOnly:"true"`
}

// MemberDiff is what changes of the members of a group.
type MemberDiff struct {
	Added   int      `json:"added" readOnly:"true"`
	Removed int      `json:"removed" readOnly:"true"`
	Add     []Member `json:"add,omitempty" readOnly:"true" doc:"the first of them"`
	Remove  []Member `json:"remove,omitempty" readOnly:"true" doc:"the first of them"`
}

// Sent is one request and its answer. Secrets were removed.
type Sent struct {
	Method    string    `json:"method" readOnly:"true"`
	Path      string    `json:"path" readOnly:"true" doc:"relative to the base URL, with the query"`
	IfMatch   string    `json:"ifMatch,omitempty" readOnly:"true"`
	Body      string    `json:"body,omitempty" readOnly:"true"`
	Pretended bool      `json:"pretended,omitempty" readOnly:"true" doc:"the target was not asked"`
	Status    int       `json:"status" readOnly:"true" doc:"0 when no answer came"`
	Answer    string    `json:"answer,omitempty" readOnly:"true"`
	Error     string    `json:"error,omitempty" readOnly:"true" doc:"why there is no complete answer"`
	At        time.Time `json:"at,omitzero" readOnly:"true"`
	Took      int64     `json:"took,omitempty" readOnly:"true" doc:"nanoseconds"`
}

// Unkept is an attribute that the target does not keep as it is sent.
type Unkept struct {
	Sent    string `json:"sent" readOnly:"true" doc:"digest of the value"`
	Rounds  int    `json:"rounds" readOnly:"true" doc:"how often it was sent and not seen afterwards"`
	Open    bool   `json:"open,omitempty" readOnly:"true" doc:"it was sent, and the account was not read since"`
	Ignored bool   `json:"ignored,omitempty" readOnly:"true" doc:"the target's value is left alone"`
}

// Known is what the engine knows about one principal.
type Known struct {
	Desired    int64             `json:"desired" readOnly:"true" doc:"generation of the last change; 0 for a principal that there was none of"`
	Synced     int64             `json:"synced" readOnly:"true" doc:"generation that the target is known to have"`
	Status     string            `json:"status,omitempty" readOnly:"true"`
	Want       string            `json:"want,omitempty" readOnly:"true"`
	NextAt     time.Time         `json:"nextAt,omitzero" readOnly:"true" doc:"when it is due; absent when nothing is"`
	Attempts   int               `json:"attempts,omitempty" readOnly:"true" doc:"failures in a row"`
	RemoteID   string            `json:"remoteId,omitempty" readOnly:"true"`
	RemoteName string            `json:"remoteName,omitempty" readOnly:"true"`
	Origin     string            `json:"origin,omitempty" readOnly:"true" doc:"how the engine came to know the account"`
	Unkept     map[string]Unkept `json:"unkept,omitempty" readOnly:"true" doc:"by attribute path"`
	Operation  string            `json:"operation,omitempty" readOnly:"true"`
	HTTP       int               `json:"http,omitempty" readOnly:"true"`
	Error      string            `json:"error,omitempty" readOnly:"true"`
	UpdatedAt  time.Time         `json:"updatedAt,omitzero" readOnly:"true"`
	Pending    *Pending          `json:"pending,omitempty" readOnly:"true" doc:"a change that the target has accepted (202)"`
}

// Pending is a change that a target has accepted and was not seen to have carried out.
type Pending struct {
	Operation   string    `json:"operation" readOnly:"true"`
	Method      string    `json:"method" readOnly:"true"`
	Path        string    `json:"path" readOnly:"true" doc:"relative to the base URL"`
	Transaction string    `json:"transaction,omitempty" readOnly:"true" doc:"Set-Txn of the response"`
	Location    string    `json:"location,omitempty" readOnly:"true" doc:"of the response"`
	Generation  int64     `json:"generation" readOnly:"true"`
	At          time.Time `json:"at" readOnly:"true" doc:"when it was accepted"`
	Deadline    time.Time `json:"deadline" readOnly:"true" doc:"until when it may be carried out; then it is sent again"`
	Reads       int       `json:"reads" readOnly:"true" doc:"how often the account was read since"`
}

// inApp is a request about an app.
type inApp interface{ where() (app, kind string) }

func (r appRequest) where() (app, kind string) { return r.App, "" }

// row is an operation of the engine about an app: the app is looked for first, and a kind of principals that there is not is no
// path.
func row[Req, Resp any, P interface {
	*Req
	inApp
}](s *Slice, id, route, summary string, status int, do func(context.Context, *Req) (Resp, error)) rest.Route {
	return rest.Op[Req, Resp]{ID: id, Route: route, Tag: engineTag, Summary: summary, Status: status, Scopes: []string{manage}, Do: do,
		Find: func(ctx context.Context, r *Req) error {
			app, kind := P(r).where()
			if kind != "" && kind != KindUser && kind != KindGroup {
				return rest.NotFound("kind of principals", kind)
			}
			return s.findApp(ctx, &appRequest{App: app})
		},
	}
}

func (s *Slice) engineRoutes() []rest.Route {
	var all []rest.Route
	for _, part := range [][]rest.Route{s.laneRoutes(), s.principalRoutes(), s.planRoutes(), s.comparisonRoutes(), s.linkRoutes()} {
		all = append(all, part...)
	}
	return all
}

// within bounds an operation that waits.
type within struct {
	Timeout int `query:"timeoutSeconds" default:"30" min:"1" max:"600" doc:"how long to wait"`
}

func (w within) context(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Duration(w.Timeout)*time.Second)
}
