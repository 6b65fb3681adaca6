package engine

import (
	"errors"
	"time"
)

// Errors of provision.Plans.Apply, in addition to ErrNotFound and ErrStale.
var (
	ErrExpired = errors.New("engine: the plan has expired")
	ErrApplied = errors.New("engine: the plan has already been applied")
	ErrCanary  = errors.New("engine: items of the plan that an earlier call applied have not succeeded")
)

// ApplyOptions configures how a plan is applied. The zero value applies all items.
type ApplyOptions struct {
	// Directory is the directory that the engine uses once the plan is applied. Apply compares the desired state that this Directory returns
	// with the planned one. The Directory may read through the caller's transaction: only one goroutine calls it. Default: the engine's own.
	Directory Directory
	// First is the number of remaining items to apply now. The engine rejects a later call for the other items until the first items have
	// completed. Zero means all.
	First int
}

// Limits of plans.
const (
	// MaxPlanItems is the maximum number of principals in a plan.
	MaxPlanItems = 100_000
	// PlanTTL is the default time during which a plan can be applied.
	PlanTTL = 24 * time.Hour
	// PlansKept is the minimum time for which an expired plan is stored, applied or not. After that time, the next plan for the same app
	// deletes it.
	PlansKept = 30 * 24 * time.Hour
)

// ErrTooMany is returned for a plan with more than MaxPlanItems principals.
var ErrTooMany = errors.New("engine: too many principals for a plan")

// PlanRequest configures a plan.
type PlanRequest struct {
	App    string
	Reason string // human-readable
	// Directory is the source of the desired state, for example one with a mapping that is not in use yet. Default: the engine's own.
	Directory Directory
	// Principals are the principals in the plan, in the order in which they are applied. If All is set, the plan also has all other known
	// principals of the app, users before groups.
	Principals []Principal
	All        bool
	// Expires is the time during which the plan can be applied. Default: PlanTTL.
	Expires time.Duration
}

// Principal names a user or group of an app.
type Principal struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
}

// Plan is a preview of the changes for some principals of an app.
type Plan struct {
	ID        string     `json:"id"`
	App       string     `json:"app"`
	Reason    string     `json:"reason,omitempty"`
	BaseURL   string     `json:"baseUrl"` // of the target that was read
	Status    PlanStatus `json:"status"`
	CreatedAt time.Time  `json:"createdAt"`
	ExpiresAt time.Time  `json:"expiresAt"`
	Items     int        `json:"items"`
	// Operations counts the items by operation, Outcomes by expected outcome. Items whose outcome is neither done nor skipped require a
	// review.
	Operations map[Operation]int `json:"operations"`
	Outcomes   map[Class]int     `json:"outcomes"`
}

// PlanStatus is the progress of a plan.
type PlanStatus string

// The statuses of plans.
const (
	PlanMaking  PlanStatus = "making"  // incomplete: in progress or aborted
	PlanOpen    PlanStatus = "open"    // can be applied
	PlanPartial PlanStatus = "partial" // the first items have been applied
	PlanApplied PlanStatus = "applied"
)

// PlanItem is the planned change of one principal.
type PlanItem struct {
	Plan       string       `json:"-"`
	Seq        int          `json:"seq"` // position in the order in which the engine applies the items, from 1
	Kind       Kind         `json:"kind"`
	ID         string       `json:"id"`
	Operation  Operation    `json:"operation"`
	Outcome    Class        `json:"outcome"`
	Message    string       `json:"message,omitempty"`
	Generation int64        `json:"generation"` // desired generation when planned, 0 if never marked
	Digest     string       `json:"digest"`     // of the desired state
	Marked     bool         `json:"marked"`     // the item was applied
	Sent       int          `json:"sent"`       // number of requests
	Requests   []Sent       `json:"requests"`   // the first requests
	Diff       []Difference `json:"diff,omitempty"`
	Members    *MemberDiff  `json:"members,omitempty"`
	Waiting    []string     `json:"waiting,omitempty"`
}

// PlanQuery selects plans, newest first. Empty fields do not restrict the result.
type PlanQuery struct {
	ID, App string
	Status  PlanStatus
	Limit   int // Default: 100
}

// PlanItemQuery selects items of a plan, ascending by Seq. Plan is required; other empty fields do not restrict the result.
type PlanItemQuery struct {
	Plan      string
	Operation Operation
	Outcome   Class
	After     int // only items with a larger Seq
	Limit     int // Default: 100
}
