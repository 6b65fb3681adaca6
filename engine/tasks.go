package engine

import "time"

// Task is a principal whose last sequence went wrong, or that waits: for a decision, for its target to carry out what it has accepted, or
// for the end of a hold of its lane.
type Task struct {
	App       string
	Kind      Kind
	ID        string
	Status    Status // StatusRetrying, StatusPending, StatusFailed or StatusHeld; StatusDirty during a hold of the lane
	Operation Operation
	HTTP      int       // status that decided, 0 for none
	Error     string    // the target's own message, or what is to be decided
	Since     time.Time // the first change that has not arrived
	Attempts  int       // failures in a row
	NextAt    time.Time // when it is tried again; zero when not before the next Mark or Retry
	RemoteID  string    // id at the target, empty when not known
	Pending   *Pending  // as in State
}

// TaskQuery selects tasks. Empty fields do not restrict.
type TaskQuery struct {
	App   string
	After *Task // the last one of the page before; the order is by app, kind, id
	Limit int   // Defaults to 100
	// Now is when it is asked: a hold that has ended by then holds up nothing. Defaults to the engine's clock.
	Now time.Time
}
