package engine

import "time"

// KeptEvents is the default of the minimum number of lifecycle events stored for each app. Older events are removed.
const KeptEvents = 10_000

// EventType is the type of a lifecycle event.
type EventType string

// The types. A Failed event is recorded for each failure, whether it is retried (Data.Status is StatusRetrying) or not. A Recovered event
// is recorded when a sequence succeeds after a failure.
const (
	UserCreated     EventType = "user.created"
	UserLinked      EventType = "user.linked"
	UserUpdated     EventType = "user.updated"
	UserReactivated EventType = "user.reactivated"
	UserDeactivated EventType = "user.deactivated"
	UserFailed      EventType = "user.failed"
	UserHeld        EventType = "user.held"
	UserAccepted    EventType = "user.accepted" // the target has accepted a change (202) and may carry it out later
	UserRecovered   EventType = "user.recovered"
	UserDismissed   EventType = "user.dismissed" // an operator marked the failure as resolved

	GroupCreated   EventType = "group.created"
	GroupLinked    EventType = "group.linked"
	GroupUpdated   EventType = "group.updated" // the name or the members of the group
	GroupDeleted   EventType = "group.deleted"
	GroupUnlinked  EventType = "group.unlinked"
	GroupFailed    EventType = "group.failed"
	GroupHeld      EventType = "group.held"
	GroupAccepted  EventType = "group.accepted"
	GroupRecovered EventType = "group.recovered"
	GroupDismissed EventType = "group.dismissed"

	AppPaused      EventType = "app.paused"      // a hold started: the target returned 429, or 503 with Retry-After
	AppBreaker     EventType = "app.breaker"     // a hold started: Options.BreakerAfter consecutive sequences failed
	AppQuarantined EventType = "app.quarantined" // a hold started: the target returned 401 or 403
	AppReleased    EventType = "app.released"    // the hold ended

	DeactivationOverdue EventType = "deactivation.overdue" // see Overdue
)

// Event is an event of a principal or an app. It contains no attribute values and no messages of the target.
type Event struct {
	App       string    `json:"-"`
	Seq       int64     `json:"seq"` // of the app, ascending without gaps; starts at 1
	At        time.Time `json:"at"`
	Type      EventType `json:"type"`
	Kind      Kind      `json:"kind,omitempty"` // empty for events of the app
	Principal string    `json:"id,omitempty"`   // empty for events of the app
	Data      EventData `json:"-"`
}

// EventData has the details of an event. Fields that do not apply are zero.
type EventData struct {
	Operation Operation `json:"operation,omitempty"`
	Status    Status    `json:"status,omitempty"`
	HTTP      int       `json:"http,omitempty"`     // status of the response that determined the outcome
	RemoteID  string    `json:"remoteId,omitempty"` // id on the target
	Run       string    `json:"run,omitempty"`      // the exchanges: Attempt.Run
	Hold      HoldKind  `json:"hold,omitempty"`
	Until     time.Time `json:"until,omitzero"` // end of the hold, or the deadline of an accepted change
	Since     time.Time `json:"since,omitzero"` // of an overdue deactivation: time of the first unsynchronized change
}

// EventHead is the number of the last event of an app.
type EventHead struct {
	App string
	Seq int64
}

// EventQuery selects the events of one app, ascending by Seq.
type EventQuery struct {
	App   string // required
	After int64  // only events with a greater Seq
	Limit int    // Default: 100
}
