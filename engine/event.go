package engine

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/engine/lane"
	"github.com/scimwright/scimwright/engine/plan"
)

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
	App       string
	Seq       int64 // of the app, ascending without gaps; begins with 1
	At        time.Time
	Type      EventType
	Kind      Kind   // empty for events of the app
	Principal string // empty for events of the app
	Data      EventData
}

// EventData is what is known about an event. Fields that do not apply are zero.
type EventData struct {
	Operation plan.Operation `json:"operation,omitempty"`
	Status    Status         `json:"status,omitempty"`
	HTTP      int            `json:"http,omitempty"`     // status that decided
	RemoteID  string         `json:"remoteId,omitempty"` // id at the target
	Run       string         `json:"run,omitempty"`      // the exchanges: Attempt.Run
	Hold      lane.HoldKind  `json:"hold,omitempty"`
	Until     time.Time      `json:"until,omitzero"` // of the hold; until when a change that was accepted may be carried out
	Since     time.Time      `json:"since,omitzero"` // of an overdue deactivation
}

// EventQuery selects the events of one app, in their order.
type EventQuery struct {
	App   string // required
	After int64  // only those with a greater Seq
	Limit int    // Defaults to 100
}

// EventStore keeps lifecycle events. The store writes them in the transaction of what they tell about: Finish those that
// [Finish.Tell] returns, Overdue a DeactivationOverdue, Dismiss a UserDismissed or GroupDismissed. Of each app at least KeptEvents are kept, and not many more.
type EventStore interface {
	// Hold stores the hold that the owner of a lane has begun or ended, with the event that [HoldEvent] returns.
	Hold(ctx context.Context, l lane.Lease, now time.Time, h lane.Hold) error
	Events(ctx context.Context, q EventQuery) ([]Event, error)
}

// Events lists what has happened to an app and its principals. Whoever reads on from the last Seq misses nothing, and sees nothing
// twice; a first Seq greater than After + 1 says that older events were removed already.
func (e *Engine) Events(ctx context.Context, q EventQuery) ([]Event, error) {
	if q.App == "" {
		return nil, errors.New("engine: EventQuery.App is required: events have an order within an app")
	}
	return e.o.Store.Events(ctx, q)
}

// verbs are the ends of the types by operation, for sequences that changed something.
var verbs = map[plan.Operation]string{
	plan.OpUpdate: "updated", plan.OpMembers: "updated", plan.OpReactivate: "reactivated", plan.OpDeactivate: "deactivated",
}

// Tell returns the events of a finished sequence, with type, kind, principal and data. remoteID is what the principal's row said
// before; told is what Tell returned for the sequence before, at first empty, and now what is to be kept for the next one.
func (f Finish) Tell(remoteID, told string) (events []Event, now string) {
	tell := func(verb string) {
		e := Event{Type: EventType(string(f.Kind) + "." + verb), Kind: f.Kind, Principal: f.ID}
		e.Data = EventData{Operation: f.Operation, Status: f.Status, HTTP: f.HTTP, RemoteID: f.RemoteID}
		if len(f.Exchanges) > 0 {
			e.Data.Run = f.Exchanges[0].Run
		}
		events = append(events, e)
	}
	synced := f.Status == StatusClean || f.Status == StatusSkipped || f.Status == StatusWaiting
	if synced && told != "" {
		tell("recovered")
		told = ""
	}
	done := f.Operation
	if !synced {
		done = f.Confirmed // whatever comes after it, that was carried out
	}
	switch {
	case f.RemoteID != "" && f.RemoteID != remoteID && f.Origin == plan.Created:
		tell("created")
	case f.RemoteID != "" && f.RemoteID != remoteID:
		tell("linked")
	case !synced && f.Confirmed == "":
	case done == plan.OpDelete && remoteID != "":
		tell("deleted")
	case done == plan.OpUnlink && remoteID != "":
		tell("unlinked")
	case verbs[done] != "" && (f.changed() || f.Confirmed != ""):
		tell(verbs[done])
		events[len(events)-1].Data.Operation = done
	}
	if f.Pending != nil && f.Pending.Reads == 0 && f.Status == StatusPending {
		tell("accepted")
		accepted := &events[len(events)-1].Data
		accepted.Operation, accepted.Until = f.Pending.Operation, f.Pending.Deadline
	}
	failure := f.failure()
	if failure != "" && failure != told {
		told = failure
		tell(map[bool]string{true: "held", false: "failed"}[f.Status == StatusHeld])
	}
	return events, told
}

// failure is the same for what counts as the same failure. A target that is down answers in many ways.
func (f Finish) failure() string {
	switch f.Status {
	case StatusRetrying:
		return string(f.Status)
	case StatusFailed:
		return string(f.Status) + " " + string(f.Operation) + " " + strconv.Itoa(f.HTTP)
	case StatusHeld:
		return string(f.Status) + " " + string(f.Operation)
	default:
		return ""
	}
}

// changed says whether the target has carried out a change.
func (f Finish) changed() bool {
	for _, x := range f.Exchanges {
		if x.Method != http.MethodGet && x.Status >= 200 && x.Status < 300 && x.Status != http.StatusAccepted {
			return true
		}
	}
	return false
}

// HoldEvent is the event of a hold that has begun, or ended (HoldNone).
func HoldEvent(h lane.Hold) Event {
	types := map[lane.HoldKind]EventType{
		lane.HoldNone: AppReleased, lane.HoldPause: AppPaused, lane.HoldBreaker: AppBreaker, lane.HoldQuarantine: AppQuarantined,
	}
	return Event{Type: types[h.Kind], Data: EventData{Hold: h.Kind, Until: h.Until}}
}
