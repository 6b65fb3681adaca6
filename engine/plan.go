package engine

import (
	"errors"
	"time"
)

// What keeps a plan from being applied. ErrStale is another reason.
var (
	ErrExpired = errors.New("engine: the plan has expired")
	ErrApplied = errors.New("engine: the plan is applied already")
	ErrCanary  = errors.New("engine: the first part of the plan did not succeed")
)

// ApplyOptions says how a plan is applied. The zero value applies all of it.
type ApplyOptions struct {
	// Directory is asked whether what is desired is still what was planned: the one that the engine works with from now on. It may
	// read through the caller's transaction; it is asked by one goroutine. Defaults to the engine's own.
	Directory Directory
	// First applies only so many items of those that are left. The rest is refused until all of them have come to their end.
	First int
}

// Bounds of plans.
const (
	// MaxPlanItems is how many principals a plan may be about.
	MaxPlanItems = 100_000
	// PlanTTL is how long a plan can be applied, unless it says otherwise.
	PlanTTL = 24 * time.Hour
	// PlansKept is how long a plan is kept, applied or not, after it has expired: until the next plan for its app is made.
	PlansKept = 30 * 24 * time.Hour
)

// ErrTooMany says that a plan would be about more than MaxPlanItems principals.
var ErrTooMany = errors.New("engine: too many principals for a plan")

// PlanRequest says what a plan is about.
type PlanRequest struct {
	App    string
	Reason string // for people
	// Directory is what the desired state is asked of, such as one with a mapping that is not in use yet. Defaults to the
	// engine's own.
	Directory Directory
	// Principals are those that the plan is about, in the order in which they are applied. All adds all that the engine knows of
	// the app, users before groups.
	Principals []Principal
	All        bool
	// Expires is how long the plan can be applied. Defaults to PlanTTL.
	Expires time.Duration
}

// Principal names a user or group of an app.
type Principal struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
}

// Plan is what would be done about some principals of an app, looked at before it is done.
type Plan struct {
	ID        string     `json:"id"`
	App       string     `json:"app"`
	Reason    string     `json:"reason,omitempty"`
	BaseURL   string     `json:"baseUrl"` // of the target that was read
	Status    PlanStatus `json:"status"`
	CreatedAt time.Time  `json:"createdAt"`
	ExpiresAt time.Time  `json:"expiresAt"`
	Items     int        `json:"items"`
	// Operations counts the items by what would be done, Outcomes by how that would end: whatever is neither done nor skipped needs
	// a look.
	Operations map[Operation]int `json:"operations"`
	Outcomes   map[Class]int     `json:"outcomes"`
}

// PlanStatus is how far a plan has come.
type PlanStatus string

// The statuses of plans.
const (
	PlanMaking  PlanStatus = "making"  // it is not complete, or its making was cut off
	PlanOpen    PlanStatus = "open"    // it can be applied
	PlanPartial PlanStatus = "partial" // its first items are applied
	PlanApplied PlanStatus = "applied"
)

// PlanItem is what would be done about one principal.
type PlanItem struct {
	Plan       string       `json:"-"`
	Seq        int          `json:"seq"` // from 1, in the order in which they are applied
	Kind       Kind         `json:"kind"`
	ID         string       `json:"id"`
	Operation  Operation    `json:"operation"`
	Outcome    Class        `json:"outcome"`
	Message    string       `json:"message,omitempty"`
	Generation int64        `json:"generation"` // desired at the time, 0 for a principal that was never marked
	Digest     string       `json:"digest"`     // of the desired state
	Marked     bool         `json:"marked"`     // it was applied
	Sent       int          `json:"sent"`       // how many requests it takes
	Requests   []Sent       `json:"requests"`   // the first of them
	Diff       []Difference `json:"diff,omitempty"`
	Members    *MemberDiff  `json:"members,omitempty"`
	Waiting    []string     `json:"waiting,omitempty"`
}

// PlanQuery selects plans, newest first. Empty fields do not restrict.
type PlanQuery struct {
	ID, App string
	Status  PlanStatus
	Limit   int // Defaults to 100
}

// PlanItemQuery selects items of a plan, ascending by Seq. Empty fields do not restrict, but for Plan.
type PlanItemQuery struct {
	Plan      string
	Operation Operation
	Outcome   Class
	After     int // only those with a larger Seq
	Limit     int // Defaults to 100
}
