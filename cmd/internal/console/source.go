package console

import (
	"context"
	"errors"
	"time"
)

// ErrNotFound is the error of a Source for an unknown app or principal.
var ErrNotFound = errors.New("console: not found")

// Source provides the data of the pages.
type Source interface {
	Overview(ctx context.Context) (Overview, error)
	App(ctx context.Context, app string) (AppPage, error)
	// History returns the exchanges of one principal, newest first.
	History(ctx context.Context, app, kind, principal string) (HistoryPage, error)
}

// Overview is the first page.
type Overview struct {
	Users, Groups int
	Endpoints     []Endpoint
	Apps          []App
}

// Endpoint is a base URL of the sandbox.
type Endpoint struct{ Name, URL string }

// App is an application and the state of its provisioning.
type App struct {
	ID, Label, Name, Style string
	Status                 string // ACTIVE or INACTIVE
	Target                 string // SCIM base URL, empty if not connected
	Lane                   string // running, paused, quarantined or idle
	Reason                 string // reason why the lane is not running
	// The numbers of principals by state. A principal is skipped if the options of the app or the status of the user allow no request.
	InSync, Waiting, Retrying, Wrong, Skipped int

	WaitingSince  time.Time // time of the first pending change, zero if no change is pending
	Halts         []string  // disabled operations, and the reasons
	Unprovisioned []Unprovisioned
}

// Unprovisioned is a reason why assigned users have no account and are not provisioned, and the number of these users.
type Unprovisioned struct {
	Users  int
	Reason string
}

// AppPage is an application with its principals and the latest exchanges.
type AppPage struct {
	App
	// Principals are sorted by status, then by name. The order of the statuses is: failed, retrying, waiting, skipped, dismissed, in sync.
	Principals []Principal
	// More reports whether the application has more principals than Principals contains.
	More bool
	// Exchanges are the latest exchanges, newest first.
	Exchanges []Exchange
}

// Principal is a user or group of one application.
type Principal struct {
	Kind, ID, Name string
	Want, Status   string
	RemoteID       string
	Attempts       int
	Error          string
	Updated        time.Time
}

// HistoryPage is the history of one principal of one application.
type HistoryPage struct {
	App       App
	Principal Principal
	// Wanted is the generation of the last change of the principal. Reached is the generation that the target is known to have. A generation
	// is the number of a change.
	Wanted, Reached int64
	Reasons         []string // why the principal is, or is not, assigned to the application
	Values          []Value
	Exchanges       []Exchange
}

// Value is the value of an attribute and its source.
type Value struct{ Path, Value, Rule, Source string }

// Exchange is one request to the target, redacted.
type Exchange struct {
	// Of is the principal of the exchange. It is nil on the page of that principal.
	Of           *Principal
	At           time.Time
	Method, Path string
	Status       int // 0 if no response was received
	Duration     time.Duration
	Request      string
	Response     string
	Error        string
	Curl         string
}
