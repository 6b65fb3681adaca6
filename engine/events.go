package engine

import "time"

// KeptEvents is how many lifecycle events are kept for each app at least; older ones are removed.
const KeptEvents = 10_000

// EventType says what has happened.
type EventType string

// The types. Failed is told once for each failure, whether it is tried again (Data.Status is StatusRetrying) or not; Recovered when a
// sequence succeeds after it.
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
	UserDismissed   EventType = "user.dismissed" // somebody marked the failure as done

	GroupCreated   EventType = "group.created"
	GroupLinked    EventType = "group.linked"
	GroupUpdated   EventType = "group.updated" // its name or members
	GroupDeleted   EventType = "group.deleted"
	GroupUnlinked  EventType = "group.unlinked"
	GroupFailed    EventType = "group.failed"
	GroupHeld      EventType = "group.held"
	GroupAccepted  EventType = "group.accepted"
	GroupRecovered EventType = "group.recovered"
	GroupDismissed EventType = "group.dismissed"

	AppPaused      EventType = "app.paused"      // the target asked for it
	AppBreaker     EventType = "app.breaker"     // several failures in a row
	AppQuarantined EventType = "app.quarantined" // the credentials are refused
	AppReleased    EventType = "app.released"    // none of these any more

	DeactivationOverdue EventType = "deactivation.overdue" // see Overdue
)

// Event is something that happened to a principal or an app. It holds no attribute values and no messages of the target.
type Event struct {
	App       string    `json:"-"`
	Seq       int64     `json:"seq"` // of the app, ascending without gaps; begins with 1
	At        time.Time `json:"at"`
	Type      EventType `json:"type"`
	Kind      Kind      `json:"kind,omitempty"` // empty for events of the app
	Principal string    `json:"id,omitempty"`   // empty for events of the app
	Data      EventData `json:"-"`
}

// EventData is what is known about an event. Fields that do not apply are zero.
type EventData struct {
	Operation Operation `json:"operation,omitempty"`
	Status    Status    `json:"status,omitempty"`
	HTTP      int       `json:"http,omitempty"`     // status that decided
	RemoteID  string    `json:"remoteId,omitempty"` // id at the target
	Run       string    `json:"run,omitempty"`      // the exchanges: Attempt.Run
	Hold      HoldKind  `json:"hold,omitempty"`
	Until     time.Time `json:"until,omitzero"` // of the hold; until when a change that was accepted may be carried out
	Since     time.Time `json:"since,omitzero"` // of an overdue deactivation
}

// EventQuery selects the events of one app, in their order.
type EventQuery struct {
	App   string // required
	After int64  // only those with a greater Seq
	Limit int    // Defaults to 100
}
