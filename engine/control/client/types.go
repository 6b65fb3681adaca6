package client

import (
	"time"

	"github.com/scimwright/scimwright/engine"
)

// App is an app with its state in the engine.
type App struct {
	ID       string          `json:"id"`
	Label    string          `json:"label"`
	BaseURL  string          `json:"baseUrl,omitempty"`  // empty without a connection, like Style and Fallback
	Style    engine.Style    `json:"style,omitempty"`    // the style in effect; engine.Auto until the engine has determined the style
	Fallback engine.Fallback `json:"fallback,omitempty"` // the fallback in effect
	Lane     Lane            `json:"lane"`
	// Counts are the numbers of principals by status.
	Counts map[engine.Status]int `json:"counts"`
	Lag    engine.Lag            `json:"lag"`
	// Unprovisioned is empty if every assigned user has an account or will get one.
	Unprovisioned []Unprovisioned `json:"unprovisioned,omitempty"`
	Learned       engine.Learned  `json:"learned"`
	Halts         []engine.Halt   `json:"halts"` // including the halts for all apps
}

// States of a lane. The other states are the kinds of holds and the reasons of suspensions.
const (
	LaneRunning    = "running"    // neither on hold nor suspended
	LaneUnreadable = "unreadable" // the directory returns an error for the target, such as credentials that cannot be decrypted
)

// Lane is the state of an app's lane: whether changes are sent, or the reason why not.
type Lane struct {
	State  string    `json:"state"`
	Reason string    `json:"reason,omitempty"`
	Until  time.Time `json:"until,omitzero"`
}

// Unprovisioned is a number of assigned users that get no account.
type Unprovisioned struct {
	Reason string `json:"reason"`
	Users  int    `json:"users"`
}

// Principal is a user or group of an app.
type Principal struct {
	Kind       engine.Kind           `json:"kind"`
	ID         string                `json:"id"`
	Name       string                `json:"name,omitempty"` // login of the user or name of the group
	State      engine.PrincipalState `json:"state"`
	WaitingOn  []string              `json:"waitingOn,omitempty"`
	DirtySince time.Time             `json:"dirtySince,omitzero"`
}

// Trace is an engine.Trace. App, Kind and ID have the same values as in the embedded trace.
type Trace struct {
	App      string      `json:"app"`
	Kind     engine.Kind `json:"kind"`
	ID       string      `json:"id"`
	Assigned bool        `json:"assigned"` // assigned to the app, or pushed to it
	Idle     bool        `json:"idle"`     // the dry run changes nothing on the target
	engine.Trace
}

// Verification is an engine.Verification. App, Kind and ID have the same values as in the embedded verification.
type Verification struct {
	App      string      `json:"app"`
	Kind     engine.Kind `json:"kind"`
	ID       string      `json:"id"`
	Assigned bool        `json:"assigned"` // assigned to the app, or pushed to it
	engine.Verification
	Converged bool   `json:"converged"`
	Summary   string `json:"summary"` // one line
}

// Explanation is an engine.PrincipalExplanation. App, Kind and ID have the same values as in the embedded explanation.
type Explanation struct {
	App      string      `json:"app"`
	Kind     engine.Kind `json:"kind"`
	ID       string      `json:"id"`
	Assigned bool        `json:"assigned"` // assigned to the app, or pushed to it
	engine.PrincipalExplanation
}

// Event is an engine.Event with its data and the name of the principal.
type Event struct {
	engine.Event
	Name string `json:"name,omitempty"`
	engine.EventData
}

// Task is a principal whose last sequence failed, or that waits for the target or a decision.
type Task struct {
	ID        string                `json:"id"` // of the user or group
	UserID    string                `json:"userId,omitempty"`
	GroupID   string                `json:"groupId,omitempty"`
	Name      string                `json:"name,omitempty"` // login of the user or name of the group
	Status    engine.Status         `json:"status"`
	Operation engine.Operation      `json:"operation"`
	Error     string                `json:"errorSummary"`
	Created   string                `json:"created"` // RFC 3339; time of the first unsynchronized change
	Attempts  int                   `json:"attempts"`
	Next      time.Time             `json:"nextAttempt,omitzero"`
	Pending   *engine.PendingChange `json:"pending,omitempty"`
}

// Attempt is one recorded exchange with a target.
type Attempt struct {
	ID         int64  `json:"id"`
	UserID     string `json:"userId,omitempty"` // UserID and GroupID are empty for a test of the connection
	GroupID    string `json:"groupId,omitempty"`
	At         string `json:"at"` // RFC 3339 with milliseconds
	Method     string `json:"method"`
	Path       string `json:"path"`   // relative to the base URL, with the query
	Status     int    `json:"status"` // 0 if no response was received
	DurationMS int64  `json:"durationMs"`
	Request    string `json:"request,omitempty"`
	Response   string `json:"response,omitempty"`
	Error      string `json:"error,omitempty"`
	Curl       string `json:"curl"` // the request as a command line
}

// PlanItem is an engine.PlanItem with the name of the principal. Seq, Kind and ID have the same values as in the embedded item.
type PlanItem struct {
	Seq  int         `json:"seq"`
	Kind engine.Kind `json:"kind"`
	ID   string      `json:"id"`
	Name string      `json:"name,omitempty"`
	engine.PlanItem
}

// DriftCounts are the numbers of a comparison. Marked has the same value as in the embedded report.
type DriftCounts struct {
	engine.DriftReport
	Drifted int `json:"drifted"` // findings that can be repaired
	Marked  int `json:"marked"`
}

// Drift is the result of a comparison of a target with the directory.
type Drift struct {
	Kind engine.Kind `json:"kind"`
	DriftCounts
	Findings []engine.Finding `json:"findings"` // the first findings
	More     bool             `json:"more"`     // the list of findings is incomplete
}

// Reconciled is the result of a reconciliation of one kind.
type Reconciled struct {
	DriftCounts
	Unknown  int `json:"unknown"`  // desired principals that had no state in the engine
	Unlisted int `json:"unlisted"` // known principals that the directory does not list
}

// Import is the progress of an import.
type Import struct {
	Status         engine.ImportState     `json:"status"`
	UsersImported  int                    `json:"usersImported"`
	UsersMatched   int                    `json:"usersMatched"`
	UsersCreated   int                    `json:"usersCreated"`
	UsersUpdated   int                    `json:"usersUpdated"`
	UsersPending   int                    `json:"usersPending"`
	UsersInactive  int                    `json:"usersInactive"`
	UsersFailed    int                    `json:"usersFailed"`
	GroupsImported int                    `json:"groupsImported"`
	Errors         []string               `json:"errors"`
	Verdicts       map[engine.Verdict]int `json:"verdicts"`
	Lost           int                    `json:"lost"` // linked accounts that are missing from the list
	Begun          time.Time              `json:"begun"`
	Ended          time.Time              `json:"ended,omitzero"`
}

// Confirmed is the result of the confirmation of an import.
type Confirmed struct {
	Linked  int `json:"linked"`
	Created int `json:"created"`
}
