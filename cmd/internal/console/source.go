package console

import (
	"context"
	"errors"
	"time"
)

// ErrNotFound is what a Source returns for an app or principal it does not know.
var ErrNotFound = errors.New("console: not found")

// Source is where the pages get their data from.
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

// App is an application and how far its provisioning has come.
type App struct {
	ID, Label, Name, Style string
	Status                 string // ACTIVE or INACTIVE
	Target                 string // SCIM base URL, empty when not connected
	Lane                   string // running, paused, quarantined or idle
	Reason                 string // why the lane is not running
	// The numbers of principals by state. Skipped are those for which the options of the app, or the status of the user, allow no request.
	InSync, Waiting, Retrying, Wrong, Skipped int

	WaitingSince  time.Time // the first change that has not arrived, zero for none
	Halts         []string  // operations that are switched off, and why
	Unprovisioned []Unprovisioned
}

// Unprovisioned is a number of assigned users that have no account and get none.
type Unprovisioned struct {
	Users  int
	Reason string
}

// AppPage is an application with its principals and the latest exchanges of all of them.
type AppPage struct {
	App
	// Principals come with those first that are wrong, then those that wait, and by name.
	Principals []Principal
	// More says that there are principals beyond those shown.
	More bool
	// Exchanges are the latest, newest first.
	Exchanges []Exchange
}

// Principal is a user or group at one application.
type Principal struct {
	Kind, ID, Name string
	Want, Status   string
	RemoteID       string
	Attempts       int
	Error          string
	Updated        time.Time
}

// HistoryPage is what happened to one principal at one application.
type HistoryPage struct {
	App       App
	Principal Principal
	// Wanted and Reached are generations: of the last change, and of what the target is known to have.
	Wanted, Reached int64
	Reasons         []string // why it is, or is not, at the application
	Values          []Value
	Exchanges       []Exchange
}

// Value is where the value of an attribute comes from.
type Value struct{ Path, Value, Rule, Source string }

// Exchange is one request to the target, redacted.
type Exchange struct {
	// Of is whom the exchange was about, nil where the page is about nobody else.
	Of           *Principal
	At           time.Time
	Method, Path string
	Status       int // 0 when no answer came
	Duration     time.Duration
	Request      string
	Response     string
	Error        string
	Curl         string
}
