package engine

import "time"

// Task is a principal whose last sequence failed or that waits: for a decision, for its target to carry out an accepted change, or for the
// end of a hold of its lane.
type Task struct {
	App       string
	Kind      Kind
	ID        string
	Status    Status // StatusRetrying, StatusPending, StatusFailed or StatusHeld; StatusDirty during a hold of the lane
	Operation Operation
	HTTP      int       // status of the response that determined the outcome, 0 for none
	Error     string    // the target's own message, or the decision that is required
	Since     time.Time // time of the first unsynchronized change
	Attempts  int       // failures in a row
	NextAt    time.Time // time of the next automatic retry; zero: no retry before the next Mark or Retry
	RemoteID  string    // id on the target, empty if unknown
	Pending   *Pending  // as in State
}

// TaskQuery selects tasks. Empty fields do not restrict the result.
type TaskQuery struct {
	App   string
	After *Task // last task of the previous page; the order is by app, kind, id
	Limit int   // Default: 100
	// Now is the reference time: a principal that only waits for the end of a hold is a task if the hold ends after Now. Default: the
	// engine's clock.
	Now time.Time
}
