package sandboxapi

import (
	"context"
	"errors"
	"time"
)

// ErrNoTask is what Work.Retry returns for a task that is not (or no longer) there.
var ErrNoTask = errors.New("sandboxapi: no such task")

// Work is the provisioning side, as the composition root gives it.
type Work interface {
	// Drain waits until nothing is due any more. When ctx ends first, its error comes with how much is left, and who waits for what.
	Drain(ctx context.Context) (Left, error)
	// Tasks lists the principals of the app whose provisioning failed, or that wait for the target.
	Tasks(ctx context.Context, app string) ([]Task, error)
	// Retry tries a failed task again, now. It returns ErrNoTask for an unknown one.
	Retry(ctx context.Context, app, task string) error
	// Attempts lists the exchanges with the target of the app, newest first.
	Attempts(ctx context.Context, q AttemptQuery) ([]Attempt, error)
}

// Left is what is left to be done.
type Left struct {
	Pending int
	Waiting []string // for people: who, why and until when; the first of them
}

// Task is one principal whose provisioning failed, or that waits for the target.
type Task struct {
	ID        string
	User      string // one of User and Group is set
	Group     string
	Name      string // login or name
	Status    string // failed, retrying, pending, held, or dirty while the app is on hold
	Operation string
	Error     string
	Created   time.Time
	Attempts  int
	Next      time.Time // zero: not tried again by itself
	Pending   *Pending
}

// AttemptQuery selects exchanges. One of User and Group may be set.
type AttemptQuery struct {
	App, User, Group string
	Before           int64 // only older ones; 0 for the newest
	Limit            int
}

// Attempt is one exchange with a target. Secrets were taken out before it was kept.
type Attempt struct {
	ID          int64
	User, Group string
	At          time.Time
	Method      string
	Path        string // relative to the target's base URL, with the query
	Status      int    // 0 when no answer came
	Duration    time.Duration
	Request     string
	Response    string
	Error       string
	Curl        string
}
