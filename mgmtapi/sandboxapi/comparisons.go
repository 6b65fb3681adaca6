package sandboxapi

import (
	"context"

	"github.com/scimwright/scimwright/internal/rest"
)

// Comparisons hold a whole target against what is wanted there.
type Comparisons interface {
	// Drift compares, and with repair has what differs provisioned again. It returns at most so many findings.
	Drift(ctx context.Context, app, kind string, repair bool, most int) (Drift, error)
	// Reconcile compares and repairs users and groups, and finds those that the engine was never told about.
	Reconcile(ctx context.Context, app string) (map[string]Reconciled, error)
}

// DriftCounts sum a comparison up.
type DriftCounts struct {
	Listed   int            `json:"listed" readOnly:"true" doc:"what the target has"`
	Known    int            `json:"known" readOnly:"true" doc:"what the engine knows"`
	Compared int            `json:"compared" readOnly:"true" doc:"of those, what has an account"`
	Busy     int            `json:"busy" readOnly:"true" doc:"differs, and is due at the moment"`
	Hidden   int            `json:"hidden" readOnly:"true" doc:"groups whose members the target does not show"`
	Found    map[string]int `json:"found" readOnly:"true" doc:"findings by what they are"`
	Drifted  int            `json:"drifted" readOnly:"true" doc:"findings that can be repaired"`
	Marked   int            `json:"marked" readOnly:"true" doc:"what is provisioned again"`
}

// Drift is how a target differs.
type Drift struct {
	Kind string `json:"kind" readOnly:"true" enum:"user,group"`
	DriftCounts
	Findings []Finding `json:"findings" readOnly:"true" doc:"the first of them"`
	More     bool      `json:"more" readOnly:"true" doc:"there are more findings than were listed"`
}

// Finding is one difference.
type Finding struct {
	What       string    `json:"what" readOnly:"true" doc:"missing, differs, active, members, stranger, duplicate or ignored"`
	Principal  string    `json:"principal,omitempty" readOnly:"true" doc:"whose it is; absent for nobody's"`
	RemoteID   string    `json:"remoteId,omitempty" readOnly:"true"`
	RemoteName string    `json:"remoteName,omitempty" readOnly:"true"`
	Values     []Drifted `json:"values,omitempty" readOnly:"true"`
	Lacking    int       `json:"lacking,omitempty" readOnly:"true" doc:"members that are not in the group"`
	Surplus    int       `json:"surplus,omitempty" readOnly:"true" doc:"members that should not be in the group"`
	Examples   []string  `json:"examples,omitempty" readOnly:"true" doc:"ids of such members at the target"`
	ExternalID string    `json:"externalId,omitempty" readOnly:"true"`
	Other      string    `json:"other,omitempty" readOnly:"true" doc:"the account that has the same externalId"`
	Note       string    `json:"note,omitempty" readOnly:"true"`
}

// Drifted is an attribute that has another value than it should.
type Drifted struct {
	Path string `json:"path" readOnly:"true"`
	Have any    `json:"have" readOnly:"true" doc:"what the target has; null for nothing"`
	Want any    `json:"want" readOnly:"true" doc:"what is wanted; null for nothing"`
}

// Reconciled is what a reconciliation of one kind has found and had provisioned.
type Reconciled struct {
	DriftCounts
	Unknown  int `json:"unknown" readOnly:"true" doc:"wanted, and unknown to the engine before; they are provisioned"`
	Unlisted int `json:"unlisted" readOnly:"true" doc:"known to the engine and not wanted by name; nothing follows from that"`
}

func (s *Slice) comparisonRoutes() []rest.Route {
	return []rest.Route{
		row(s, "driftReport", "POST /sandbox/v1/apps/{app}/drift", "Compare what an app's SCIM server has with what is wanted there", 0, s.drift),
		row(s, "reconcileApp", "POST /sandbox/v1/apps/{app}/reconcile", "Bring an app's SCIM server and what is known about it back in line", 0, func(ctx context.Context, r *appRequest) (map[string]Reconciled, error) {
			return s.o.Engine.Reconcile(ctx, r.App)
		}),
	}
}

type driftRequest struct {
	appRequest
	Body *struct {
		Kind   string `json:"kind" enum:"user,group" default:"user"`
		Repair bool   `json:"repair" doc:"provision what differs again"`
		Limit  int    `json:"limit" default:"1000" min:"0" max:"100000" doc:"how many findings to list"`
	} `body:"optional"`
}

func (s *Slice) drift(ctx context.Context, r *driftRequest) (Drift, error) {
	kind, repair, most := KindUser, false, 1000
	if r.Body != nil {
		kind, repair, most = r.Body.Kind, r.Body.Repair, r.Body.Limit
	}
	return s.o.Engine.Drift(ctx, r.App, kind, repair, most)
}
