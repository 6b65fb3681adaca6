package sandboxapi

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/internal/rest"
)

// Principals are the users and groups of an app, one by one.
type Principals interface {
	Principals(ctx context.Context, q PrincipalQuery) ([]Principal, error)
	Principal(ctx context.Context, app, kind, id string) (Principal, error)
	// Rehearse tells what would be sent now. Nothing is.
	Rehearse(ctx context.Context, app, kind, id string) (Trace, error)
	// Provision works on a principal at once and tells what was sent.
	Provision(ctx context.Context, app, kind, id string, forceSync, allMembers bool) (Trace, error)
	Verify(ctx context.Context, app, kind, id string) (Proof, error)
	Explain(ctx context.Context, app, kind, id string) (Explanation, error)
	// WaitFor returns when a principal is settled.
	WaitFor(ctx context.Context, app, kind, id string) error
	// Dismiss marks a failed principal as done. ErrNoTask when it is none.
	Dismiss(ctx context.Context, app, task string) error
	// RetryAll tries all failed principals of an app again.
	RetryAll(ctx context.Context, app string) (int, error)
}

// PrincipalQuery selects principals. Empty fields do not restrict, but for App.
type PrincipalQuery struct {
	App, Kind, Status string
	AfterKind, After  string // the last one of the page before
	Limit             int
}

// Principal is a user or group of an app.
type Principal struct {
	Kind       string    `json:"kind" readOnly:"true" enum:"user,group"`
	ID         string    `json:"id" readOnly:"true"`
	Name       string    `json:"name,omitempty" readOnly:"true" doc:"login or name"`
	State      Known     `json:"state" readOnly:"true"`
	WaitingOn  []string  `json:"waitingOn,omitempty" readOnly:"true" doc:"users that it lacks; the first of them"`
	DirtySince time.Time `json:"dirtySince,omitzero" readOnly:"true" doc:"the first change that has not arrived"`
}

// Trace is one sequence, step by step: as it would be, or as it was.
type Trace struct {
	App       string       `json:"app" readOnly:"true"`
	Kind      string       `json:"kind" readOnly:"true" enum:"user,group"`
	ID        string       `json:"id" readOnly:"true"`
	Assigned  bool         `json:"assigned" readOnly:"true" doc:"the user is assigned to the app, or the group is pushed to it"`
	Idle      bool         `json:"idle" readOnly:"true" doc:"of a dry run: it succeeds and changes nothing at the target"`
	Rehearsed bool         `json:"rehearsed" readOnly:"true" doc:"writes were pretended"`
	At        time.Time    `json:"at" readOnly:"true"`
	Want      string       `json:"want" readOnly:"true"`
	Desired   any          `json:"desired,omitempty" readOnly:"true" doc:"the attributes that are wanted"`
	State     Known        `json:"state" readOnly:"true" doc:"before a rehearsal, after a run"`
	Requests  []Sent       `json:"requests" readOnly:"true"`
	Operation string       `json:"operation" readOnly:"true"`
	Outcome   string       `json:"outcome" readOnly:"true" doc:"done, skipped, held, rejected, transient, throttled, denied or accepted"`
	HTTP      int          `json:"http,omitempty" readOnly:"true" doc:"status that decided"`
	Message   string       `json:"message,omitempty" readOnly:"true" doc:"why it is not done"`
	Diff      []Difference `json:"diff,omitempty" readOnly:"true"`
	Members   *MemberDiff  `json:"members,omitempty" readOnly:"true"`
	Waiting   []string     `json:"waiting,omitempty" readOnly:"true" doc:"users that have no account yet"`
	Hold      string       `json:"hold,omitempty" readOnly:"true" doc:"why nothing is sent at the moment"`
}

// Proof says whether a principal has come to its desired state.
type Proof struct {
	App       string       `json:"app" readOnly:"true"`
	Kind      string       `json:"kind" readOnly:"true" enum:"user,group"`
	ID        string       `json:"id" readOnly:"true"`
	Assigned  bool         `json:"assigned" readOnly:"true" doc:"the user is assigned to the app, or the group is pushed to it"`
	Desired   int64        `json:"desired" readOnly:"true"`
	Confirmed int64        `json:"confirmed" readOnly:"true"`
	ReadAt    time.Time    `json:"readAt,omitzero" readOnly:"true" doc:"absent when the target could not be read"`
	Equal     bool         `json:"equal" readOnly:"true" doc:"the target has all that is desired, but for what is ignored"`
	Differ    []string     `json:"differ,omitempty" readOnly:"true" doc:"paths"`
	Diff      []Difference `json:"diff,omitempty" readOnly:"true" doc:"before: what the target has; after: what is desired"`
	Members   *MemberDiff  `json:"members,omitempty" readOnly:"true"`
	Waiting   []string     `json:"waiting,omitempty" readOnly:"true"`
	Ignored   []string     `json:"ignored,omitempty" readOnly:"true" doc:"paths that the target does not keep"`
	Message   string       `json:"message,omitempty" readOnly:"true"`
	Converged bool         `json:"converged" readOnly:"true" doc:"nothing is left to be done"`
	Summary   string       `json:"summary" readOnly:"true" doc:"one line"`
}

// Explanation says why a principal is in an app, and why its attributes have their values.
type Explanation struct {
	App       string   `json:"app" readOnly:"true"`
	Kind      string   `json:"kind" readOnly:"true" enum:"user,group"`
	ID        string   `json:"id" readOnly:"true"`
	Assigned  bool     `json:"assigned" readOnly:"true" doc:"the user is assigned to the app, or the group is pushed to it"`
	Reasons   []string `json:"reasons" readOnly:"true" doc:"from the cause to the effect"`
	Values    []Value  `json:"values" readOnly:"true"`
	State     Known    `json:"state" readOnly:"true"`
	Waiting   []string `json:"waiting,omitempty" readOnly:"true"`
	Exchanges []Sent   `json:"exchanges" readOnly:"true" doc:"the last ones, newest first"`
}

// Value is where the value of an attribute comes from.
type Value struct {
	Path   string `json:"path" readOnly:"true"`
	Source string `json:"source,omitempty" readOnly:"true" doc:"what it is made of"`
	Rule   string `json:"rule,omitempty" readOnly:"true" doc:"how"`
	Value  any    `json:"value" readOnly:"true"`
	Error  string `json:"error,omitempty" readOnly:"true" doc:"why there is none"`
}

func (s *Slice) principalRoutes() []rest.Route {
	const one = "/sandbox/v1/apps/{app}/principals/{kind}/{principal}"
	return []rest.Route{
		row(s, "dismissProvisioningTask", "POST /sandbox/v1/apps/{app}/tasks/{task}/dismiss", "Mark a failed provisioning task as done, whatever the SCIM server has", 204, s.dismiss),
		row(s, "retryAllProvisioningTasks", "POST /sandbox/v1/apps/{app}/tasks/retry", "Try all failed provisioning tasks of an app again", 0, func(ctx context.Context, r *appRequest) (retried, error) {
			n, err := s.o.Engine.RetryAll(ctx, r.App)
			return retried{Retried: n}, err
		}),
		row(s, "listPrincipals", "GET /sandbox/v1/apps/{app}/principals", "List the users and groups of an app as the engine knows them", 0, func(ctx context.Context, r *principalsRequest) ([]Principal, error) {
			q := PrincipalQuery{App: r.App, Kind: r.Kind, Status: r.Status, Limit: r.Limit}
			var err error
			if q.AfterKind, q.After, err = splitAfter(r.After); err != nil {
				return nil, err
			}
			return s.o.Engine.Principals(ctx, q)
		}),
		row(s, "getPrincipal", "GET "+one, "Show how far a user or group has come", 0, func(ctx context.Context, r *principalRequest) (Principal, error) {
			return s.o.Engine.Principal(ctx, r.App, r.Kind, r.Principal)
		}),
		row(s, "rehearsePrincipal", "GET "+one+"/trace", "Show what would be sent now for a user or group, without sending it", 0, func(ctx context.Context, r *principalRequest) (Trace, error) {
			return s.o.Engine.Rehearse(ctx, r.App, r.Kind, r.Principal)
		}),
		row(s, "provisionPrincipal", "POST "+one+"/provision", "Provision a user or group now, and show what was sent", 0, s.provisionOne),
		row(s, "verifyPrincipal", "GET "+one+"/proof", "Read a user or group at the SCIM server and compare it with what is wanted", 0, func(ctx context.Context, r *principalRequest) (Proof, error) {
			return s.o.Engine.Verify(ctx, r.App, r.Kind, r.Principal)
		}),
		row(s, "explainPrincipal", "GET "+one+"/explanation", "Say why a user or group is in an app, and why its attributes have their values", 0, func(ctx context.Context, r *principalRequest) (Explanation, error) {
			return s.o.Engine.Explain(ctx, r.App, r.Kind, r.Principal)
		}),
		row(s, "waitForPrincipal", "POST "+one+"/wait", "Wait until a user or group is settled", 0, func(ctx context.Context, r *waitRequest) (Principal, error) {
			waiting, cancel := r.context(ctx)
			defer cancel()
			if err := s.o.Engine.WaitFor(waiting, r.App, r.Kind, r.Principal); err != nil {
				return Principal{}, err
			}
			return s.o.Engine.Principal(ctx, r.App, r.Kind, r.Principal)
		}),
		row(s, "listPrincipalEvents", "GET "+one+"/events", "List what has happened to a user or group", 0, func(ctx context.Context, r *principalEventsRequest) ([]Event, error) {
			return s.o.Engine.Events(ctx, r.App, r.Kind, r.Principal, r.After, r.Limit)
		}),
	}
}

type retried struct {
	Retried int `json:"retried" readOnly:"true"`
}

func (s *Slice) dismiss(ctx context.Context, r *retryRequest) (rest.Nothing, error) {
	return rest.Nothing{}, r.missing(s.o.Engine.Dismiss(ctx, r.App, r.Task))
}

type principalsRequest struct {
	appRequest
	Kind   string `query:"kind" enum:"user,group" doc:"only those of this kind"`
	Status string `query:"status" enum:"dirty,clean,skipped,waiting,retrying,pending,failed,held,dismissed" doc:"only those with this status"`
	After  string `query:"after" doc:"kind and id, with a colon between them, of the last one of the page before"`
	Limit  int    `query:"limit" default:"100" min:"1" max:"1000" clamp:"true"`
}

func (r principalsRequest) where() (app, kind string) { return r.App, r.Kind }

type principalRequest struct {
	appRequest
	Kind      string `path:"kind" doc:"user or group"`
	Principal string `path:"principal" doc:"id of the user or group"`
}

func (r principalRequest) where() (app, kind string) { return r.App, r.Kind }

type provisionOneRequest struct {
	principalRequest
	within
	Body *struct {
		ForceSync  bool `json:"forceSync" doc:"also send what the target did not keep before"`
		AllMembers bool `json:"allMembers" doc:"push all members of a group"`
	} `body:"optional"`
}

func (s *Slice) provisionOne(ctx context.Context, r *provisionOneRequest) (Trace, error) {
	ctx, cancel := r.context(ctx)
	defer cancel()
	force, all := false, false
	if r.Body != nil {
		force, all = r.Body.ForceSync, r.Body.AllMembers
	}
	return s.o.Engine.Provision(ctx, r.App, r.Kind, r.Principal, force, all)
}

type waitRequest struct {
	principalRequest
	within
}

type principalEventsRequest struct {
	principalRequest
	eventPage
}
