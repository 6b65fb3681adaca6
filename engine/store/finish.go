package store

import (
	"net/http"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// verbs has the last part of the event type (user.updated, group.updated) by operation, for sequences that changed something.
var verbs = map[engine.Operation]string{
	engine.OpUpdate: "updated", engine.OpMembers: "updated", engine.OpReactivate: "reactivated", engine.OpDeactivate: "deactivated",
}

// Tell returns the events of a finished sequence, with type, kind, principal and data. remoteID is the RemoteID of the principal's row
// before the sequence. Tell also returns a key of the last failure for which an event was returned. The caller stores this key with the
// principal and passes it as reported in the next call. In the first call reported is "".
func (f Finish) Tell(remoteID, reported string) (events []engine.Event, now string) {
	tell := func(verb string) {
		e := engine.Event{Type: engine.EventType(string(f.Kind) + "." + verb), Kind: f.Kind, Principal: f.ID}
		e.Data = engine.EventData{Operation: f.Operation, Status: f.Status, HTTP: f.HTTP, RemoteID: f.RemoteID}
		if len(f.Exchanges) > 0 {
			e.Data.Run = f.Exchanges[0].Run
		}
		events = append(events, e)
	}
	synced := f.Status == engine.StatusClean || f.Status == engine.StatusSkipped || f.Status == engine.StatusWaiting
	if synced && reported != "" {
		tell("recovered")
		reported = ""
	}
	done := f.Operation
	if !synced {
		done = f.Confirmed // the confirmed operation is complete, whatever the status
	}
	switch {
	case f.RemoteID != "" && f.RemoteID != remoteID && f.Origin == engine.Created:
		tell("created")
	case f.RemoteID != "" && f.RemoteID != remoteID:
		tell("linked")
	case !synced && f.Confirmed == "":
	case done == engine.OpDelete && remoteID != "":
		tell("deleted")
	case done == engine.OpUnlink && remoteID != "":
		tell("unlinked")
	case verbs[done] != "" && (f.changed() || f.Confirmed != ""):
		tell(verbs[done])
		events[len(events)-1].Data.Operation = done
	}
	if f.Pending != nil && f.Pending.Reads == 0 && f.Status == engine.StatusPending {
		tell("accepted")
		accepted := &events[len(events)-1].Data
		accepted.Operation, accepted.Until = f.Pending.Operation, f.Pending.Deadline
	}
	failure := f.failure()
	if failure != "" && failure != reported {
		reported = failure
		tell(map[bool]string{true: "held", false: "failed"}[f.Status == engine.StatusHeld])
	}
	return events, reported
}

// failure returns a key of the failure, empty if the sequence has not failed. Consecutive failures with the same key cause one event. The
// key omits the HTTP status while the engine retries, because an unavailable target returns various statuses.
func (f Finish) failure() string {
	switch f.Status {
	case engine.StatusRetrying:
		return string(f.Status)
	case engine.StatusFailed:
		return string(f.Status) + " " + string(f.Operation) + " " + strconv.Itoa(f.HTTP)
	case engine.StatusHeld:
		return string(f.Status) + " " + string(f.Operation)
	case engine.StatusDirty, engine.StatusClean, engine.StatusSkipped, engine.StatusWaiting, engine.StatusPending, engine.StatusDismissed:
	}
	return ""
}

// changed reports whether the target confirmed a change with a 2xx status other than 202.
func (f Finish) changed() bool {
	for _, x := range f.Exchanges {
		if x.Method != http.MethodGet && x.Status >= 200 && x.Status < 300 && x.Status != http.StatusAccepted {
			return true
		}
	}
	return false
}

// HoldEvent returns the event for the start of a hold, or for its end (engine.HoldNone).
func HoldEvent(h engine.Hold) engine.Event {
	types := map[engine.HoldKind]engine.EventType{
		engine.HoldNone: engine.AppReleased, engine.HoldPause: engine.AppPaused, engine.HoldBreaker: engine.AppBreaker,
		engine.HoldQuarantine: engine.AppQuarantined,
	}
	return engine.Event{Type: types[h.Kind], Data: engine.EventData{Hold: h.Kind, Until: h.Until}}
}

// Progress is the progress of the push of a group.
type Progress struct {
	ID  string // of the group
	Gen int64  // as in Finish

	RemoteID   string
	RemoteName string // empty while a new name is in flight
	Origin     engine.Origin

	Replaced bool // as in Finish
	Whole    bool // as in Finish
	Added    []engine.RemoteMember
	Removed  []engine.RemoteMember

	NextAdd    []engine.RemoteMember
	NextRemove []engine.RemoteMember
	// NextAll means that the next request replaces all members, or that further members are not stored yet. A push of all members is then
	// pending until Whole is set.
	NextAll bool

	Exchanges []engine.Attempt
	At        time.Time
}

// Intent is the desired state of a principal that the next sequence attempts.
type Intent struct {
	Kind engine.Kind
	ID   string
	Want engine.Want
	Name string // stored as RemoteName unless MayExist is set: the name under which an account may be created
	// Creating means that the next request creates an object under Name that has no identifier of the engine. Origin is then Unconfirmed until
	// Finish sets it, and the previous state of a group is removed.
	Creating bool
	// Manager is the user whose account the sequence is about to write as manager, empty if unset. From now on, the store requeues this
	// principal when the manager's account changes.
	Manager string
}

// Finish is the result of one sequence, as it is stored.
type Finish struct {
	Kind engine.Kind
	ID   string
	Gen  int64 // the desired generation that was read before the sequence started

	Status    engine.Status
	Attempts  int
	NextAt    time.Time // time of the next attempt; zero: no attempt before the next Mark
	Operation engine.Operation
	HTTP      int
	Error     string
	// Halted means that Status is StatusHeld because Operation is halted. When the halt ends, the principal is requeued immediately.
	Halted bool
	// Untried resets State.MayExist if Begin set it for this sequence: no request for an account was sent.
	Untried bool

	RemoteID          string
	RemoteName        string
	Origin            engine.Origin
	IgnoredAttributes map[string]engine.IgnoredAttribute // users only
	// PasswordVersion is stored only for a user with a RemoteID.
	PasswordVersion string
	Manager         string   // users only: as in State
	WaitingOn       []string // with StatusWaiting

	Pending *engine.Pending // as in State
	// Confirmed is the operation of an earlier Pending that a read has shown to be carried out, empty if no change was confirmed.
	Confirmed engine.Operation

	// Groups only. Replaced means that the target's list was replaced before Added was added. Whole means that the target's group has no other
	// members: a push of all members is no longer pending, unless a mark after Gen requested one. Forget removes all member rows.
	// MembersUnknown makes a push of all members pending, because the members on the target are unknown.
	Replaced       bool
	Whole          bool
	MembersUnknown bool
	Forget         bool
	Added          []engine.RemoteMember
	Removed        []engine.RemoteMember

	Exchanges []engine.Attempt // exchanges of the sequence, in order; the store sets App, Kind, Principal and Gen
	At        time.Time
}

// Taken returns the result that the store writes instead of f if the account belongs to another user whose Want is Active or Keep:
// StatusHeld, without the account.
func (f Finish) Taken() Finish {
	f.Error = "the account " + f.RemoteID + " already belongs to another user"
	f.Status, f.Attempts, f.NextAt, f.RemoteID, f.Origin = engine.StatusHeld, 1, time.Time{}, "", ""
	return f
}
