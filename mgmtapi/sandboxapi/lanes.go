package sandboxapi

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/internal/rest"
)

// Lanes are the apps as the engine sees them: how far each is behind, what keeps it, what was found out about its target.
type Lanes interface {
	// EngineApps returns all apps, by label.
	EngineApps(ctx context.Context) ([]EngineApp, error)
	EngineApp(ctx context.Context, app string) (EngineApp, error)
	// Halt switches operations off, all of them without any; for all apps when app is empty. Resume ends that.
	Halt(ctx context.Context, app, reason string, operations []string) ([]Halt, error)
	Resume(ctx context.Context, app string, operations []string) ([]Halt, error)
	// Approve lets through what the deletion guard holds back, if that is as much as expected.
	Approve(ctx context.Context, app string, expected int) error
	// Release ends a pause, the breaker or a quarantine.
	Release(ctx context.Context, app string) error
	// Probe finds out what a target does, and stores it.
	Probe(ctx context.Context, app, domain string) (Profile, error)
	Profile(ctx context.Context, app string) (Profile, error)
	Unlearn(ctx context.Context, app string) error
	// Events returns lifecycle events of an app in their order, and only those of one principal when kind and id are given.
	Events(ctx context.Context, app, kind, id string, after int64, limit int) ([]Event, error)
	// WaitApp returns when nothing of the app is due any more.
	WaitApp(ctx context.Context, app string) error
}

// EngineApp is an app as the engine sees it.
type EngineApp struct {
	ID       string         `json:"id" readOnly:"true"`
	Label    string         `json:"label" readOnly:"true"`
	BaseURL  string         `json:"baseUrl,omitempty" readOnly:"true" doc:"of its SCIM server; absent without a connection"`
	Style    string         `json:"style,omitempty" readOnly:"true" enum:"catalog,wizard,auto" doc:"which requests update users and groups: catalog: PATCH for activation, deactivation, password and membership, PUT for other updates; wizard: PUT for all; auto: it is not known yet which of them fits the target; absent without a connection"`
	Fallback string         `json:"fallback,omitempty" readOnly:"true" enum:"learn,none" doc:"whether another form of a request may be tried after a rejection or a success without effect: learn or none; absent without a connection"`
	Lane     LaneState      `json:"lane" readOnly:"true"`
	Counts   map[string]int `json:"counts" readOnly:"true" doc:"principals by status"`
	Lag      Lag            `json:"lag" readOnly:"true"`
	// Unprovisioned is absent if every assigned user has an account or is to get one.
	Unprovisioned []Unprovisioned `json:"unprovisioned,omitempty" readOnly:"true" doc:"assigned users that have no account and get none, by the reason"`

	Learned Learned `json:"learned" readOnly:"true"`
	Halts   []Halt  `json:"halts" readOnly:"true" doc:"operations that are switched off for it, or for all apps"`
}

// Unprovisioned is a number of assigned users that get no account.
type Unprovisioned struct {
	Reason string `json:"reason" readOnly:"true"`
	Users  int    `json:"users" readOnly:"true"`
}

// LaneState says whether an app's changes are sent.
type LaneState struct {
	State  string    `json:"state" readOnly:"true" enum:"running,paused,maintenance,unknown-app,pause,breaker,quarantine" doc:"running; paused: the app or its connection is not active; pause, breaker and quarantine: what the target has brought about"`
	Reason string    `json:"reason,omitempty" readOnly:"true"`
	Until  time.Time `json:"until,omitzero" readOnly:"true"`
}

// Lag is how far a target is behind.
type Lag struct {
	Due         int       `json:"due" readOnly:"true"`
	Retrying    int       `json:"retrying" readOnly:"true" doc:"of those that are due, how many are in a back-off"`
	Accepted    int       `json:"accepted" readOnly:"true" doc:"of those that are due, how many wait for what the target has accepted"`
	Failed      int       `json:"failed" readOnly:"true"`
	Held        int       `json:"held" readOnly:"true"`
	Oldest      time.Time `json:"oldest,omitzero" readOnly:"true" doc:"since when the first of them waits"`
	LastSuccess time.Time `json:"lastSuccess,omitzero" readOnly:"true"`
}

// Learned is what was found out about a target by working with it.
type Learned struct {
	BaseURL     string               `json:"baseUrl,omitempty" readOnly:"true" doc:"that it is about"`
	Traits      map[string]time.Time `json:"traits,omitempty" readOnly:"true" doc:"found out by sequences, and when"`
	Probed      map[string]bool      `json:"probed,omitempty" readOnly:"true" doc:"found out by the probe"`
	ProbedAt    time.Time            `json:"probedAt,omitzero" readOnly:"true"`
	Config      *TargetConfig        `json:"config,omitempty" readOnly:"true"`
	MemberBatch int                  `json:"memberBatch,omitempty" readOnly:"true" doc:"members in one request; absent for the usual number"`
	Rate        float64              `json:"rate,omitempty" readOnly:"true" doc:"requests per second; absent for no limit"`
}

// TargetConfig is what a target says of itself.
type TargetConfig struct {
	ReadAt   time.Time `json:"readAt" readOnly:"true"`
	NoPatch  bool      `json:"noPatch,omitempty" readOnly:"true"`
	NoFilter bool      `json:"noFilter,omitempty" readOnly:"true"`
}

// Halt is an operation that is switched off.
type Halt struct {
	App       string    `json:"app,omitempty" readOnly:"true" doc:"absent for all apps"`
	Operation string    `json:"operation" readOnly:"true"`
	Reason    string    `json:"reason,omitempty" readOnly:"true"`
	Since     time.Time `json:"since" readOnly:"true"`
}

// Profile is what a probe found.
type Profile struct {
	At         time.Time       `json:"at" readOnly:"true"`
	Results    []ProbeResult   `json:"results" readOnly:"true"`
	Advertised ProbeAdvertised `json:"advertised" readOnly:"true" doc:"what the target says of itself"`
	Leftovers  []string        `json:"leftovers,omitempty" readOnly:"true" doc:"objects that could not be removed"`
	Requests   int             `json:"requests" readOnly:"true" doc:"how many were sent"`
}

// ProbeResult is how one feature fared.
type ProbeResult struct {
	Feature string `json:"feature" readOnly:"true"`
	Verdict string `json:"verdict" readOnly:"true" enum:"works,refused,lost,unknown"`
	Status  int    `json:"status,omitempty" readOnly:"true"`
	Detail  string `json:"detail,omitempty" readOnly:"true"`
}

// ProbeAdvertised is a ServiceProviderConfig, as far as it matters. What is absent was not stated.
type ProbeAdvertised struct {
	Present    bool  `json:"present" readOnly:"true"`
	Patch      *bool `json:"patch,omitempty" readOnly:"true"`
	Filter     *bool `json:"filter,omitempty" readOnly:"true"`
	MaxResults int   `json:"maxResults,omitempty" readOnly:"true"`
	Bulk       *bool `json:"bulk,omitempty" readOnly:"true"`
	Sort       *bool `json:"sort,omitempty" readOnly:"true"`
	ETag       *bool `json:"etag,omitempty" readOnly:"true"`
}

// Event is something that happened to a principal or an app.
type Event struct {
	Seq       int64     `json:"seq" readOnly:"true" doc:"of the app, without gaps"`
	At        time.Time `json:"at" readOnly:"true"`
	Type      string    `json:"type" readOnly:"true"`
	Kind      string    `json:"kind,omitempty" readOnly:"true"`
	ID        string    `json:"id,omitempty" readOnly:"true"`
	Name      string    `json:"name,omitempty" readOnly:"true"`
	Operation string    `json:"operation,omitempty" readOnly:"true"`
	Status    string    `json:"status,omitempty" readOnly:"true"`
	HTTP      int       `json:"http,omitempty" readOnly:"true"`
	RemoteID  string    `json:"remoteId,omitempty" readOnly:"true"`
	Run       string    `json:"run,omitempty" readOnly:"true" doc:"the same for the exchanges that belong to it"`
	Hold      string    `json:"hold,omitempty" readOnly:"true"`
	Until     time.Time `json:"until,omitzero" readOnly:"true" doc:"of the hold; until when a change that was accepted may be carried out"`
	Since     time.Time `json:"since,omitzero" readOnly:"true" doc:"of an overdue deactivation"`
}

func (s *Slice) laneRoutes() []rest.Route {
	scopes := []string{manage}
	return []rest.Route{
		rest.Op[rest.Nothing, []EngineApp]{ID: "listEngineApps", Route: "GET /sandbox/v1/engine/apps", Tag: engineTag,
			Summary: "List the apps as the engine sees them", Scopes: scopes, Do: func(ctx context.Context, _ *rest.Nothing) ([]EngineApp, error) {
				return s.o.Engine.EngineApps(ctx)
			}},
		rest.Op[haltAllRequest, []Halt]{ID: "haltAllApps", Route: "POST /sandbox/v1/engine/halt", Tag: engineTag,
			Summary: "Switch operations off for all apps", Scopes: scopes, Do: func(ctx context.Context, r *haltAllRequest) ([]Halt, error) {
				return s.o.Engine.Halt(ctx, "", r.reason(), r.operations())
			}},
		rest.Op[haltAllRequest, []Halt]{ID: "resumeAllApps", Route: "POST /sandbox/v1/engine/resume", Tag: engineTag,
			Summary: "End what was switched off for all apps", Scopes: scopes, Do: func(ctx context.Context, r *haltAllRequest) ([]Halt, error) {
				return s.o.Engine.Resume(ctx, "", r.operations())
			}},
		row(s, "getEngineApp", "GET /sandbox/v1/engine/apps/{app}", "Show an app as the engine sees it", 0, func(ctx context.Context, r *appRequest) (EngineApp, error) {
			return s.o.Engine.EngineApp(ctx, r.App)
		}),
		row(s, "haltApp", "POST /sandbox/v1/apps/{app}/halt", "Switch operations off for an app", 0, func(ctx context.Context, r *haltRequest) ([]Halt, error) {
			return s.o.Engine.Halt(ctx, r.App, r.reason(), r.operations())
		}),
		row(s, "resumeApp", "POST /sandbox/v1/apps/{app}/resume", "End what was switched off for an app", 0, func(ctx context.Context, r *haltRequest) ([]Halt, error) {
			return s.o.Engine.Resume(ctx, r.App, r.operations())
		}),
		row(s, "approveRemovals", "POST /sandbox/v1/apps/{app}/approve", "Let through what the deletion guard holds back", 204, func(ctx context.Context, r *approveRequest) (rest.Nothing, error) {
			return rest.Nothing{}, s.o.Engine.Approve(ctx, r.App, r.Body.Expected)
		}),
		row(s, "releaseApp", "POST /sandbox/v1/apps/{app}/release", "End a pause, the breaker or a quarantine of an app", 204, func(ctx context.Context, r *appRequest) (rest.Nothing, error) {
			return rest.Nothing{}, s.o.Engine.Release(ctx, r.App)
		}),
		row(s, "waitForApp", "POST /sandbox/v1/apps/{app}/wait", "Wait until nothing of an app is due any more", 0, func(ctx context.Context, r *waitAppRequest) (EngineApp, error) {
			waiting, cancel := r.context(ctx)
			defer cancel()
			if err := s.o.Engine.WaitApp(waiting, r.App); err != nil {
				return EngineApp{}, err
			}
			return s.o.Engine.EngineApp(ctx, r.App)
		}),
		row(s, "probeApp", "POST /sandbox/v1/apps/{app}/probe", "Find out what an app's SCIM server does, on objects that are removed again", 0, func(ctx context.Context, r *probeRequest) (Profile, error) {
			domain := ""
			if r.Body != nil {
				domain = r.Body.Domain
			}
			return s.o.Engine.Probe(ctx, r.App, domain)
		}),
		row(s, "getProfile", "GET /sandbox/v1/apps/{app}/profile", "Show what the last probe found", 0, func(ctx context.Context, r *appRequest) (Profile, error) {
			return s.o.Engine.Profile(ctx, r.App)
		}),
		row(s, "unlearn", "POST /sandbox/v1/apps/{app}/unlearn", "Forget what was found out about an app's SCIM server", 204, func(ctx context.Context, r *appRequest) (rest.Nothing, error) {
			return rest.Nothing{}, s.o.Engine.Unlearn(ctx, r.App)
		}),
		row(s, "listLifecycleEvents", "GET /sandbox/v1/apps/{app}/events", "List what has happened to an app and its users and groups, in order", 0, func(ctx context.Context, r *eventsRequest) ([]Event, error) {
			return s.o.Engine.Events(ctx, r.App, "", "", r.After, r.Limit)
		}),
	}
}

type haltBody struct {
	Body *struct {
		Operations []string `json:"operations" enum:"create,link,update,reactivate,deactivate,members,delete" doc:"all when absent"`
		Reason     string   `json:"reason" max:"1000" doc:"for people"`
	} `body:"optional"`
}

func (r haltBody) operations() []string {
	if r.Body == nil {
		return nil
	}
	return r.Body.Operations
}

func (r haltBody) reason() string {
	if r.Body == nil {
		return ""
	}
	return r.Body.Reason
}

type haltAllRequest struct{ haltBody }

type haltRequest struct {
	appRequest
	haltBody
}

type approveRequest struct {
	appRequest
	Body struct {
		Expected int `json:"expected" required:"true" min:"1" doc:"how many were looked at; when there are more or fewer by now nothing is done"`
	} `body:"required"`
}

type waitAppRequest struct {
	appRequest
	within
}

type probeRequest struct {
	appRequest
	Body *struct {
		Domain string `json:"domain" max:"253" doc:"of the user name and address of the probe's user; example.com when absent"`
	} `body:"optional"`
}

type eventsRequest struct {
	appRequest
	eventPage
}

type eventPage struct {
	After int64 `query:"after" min:"0" doc:"only those after the one with this number"`
	Limit int   `query:"limit" default:"100" min:"1" max:"1000" clamp:"true"`
}
