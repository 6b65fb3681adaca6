package store

import (
	"net/http"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// verbs are the ends of the types by operation, for sequences that changed something.
var verbs = map[engine.Operation]string{
	engine.OpUpdate: "updated", engine.OpMembers: "updated", engine.OpReactivate: "reactivated", engine.OpDeactivate: "deactivated",
}

// Tell returns the events of a finished sequence, with type, kind, principal and data. remoteID is what the principal's row said
// before; told is what Tell returned for the sequence before, at first empty, and now what is to be kept for the next one.
func (f Finish) Tell(remoteID, told string) (events []engine.Event, now string) {
	tell := func(verb string) {
		e := engine.Event{Type: engine.EventType(string(f.Kind) + "." + verb), Kind: f.Kind, Principal: f.ID}
		e.Data = engine.EventData{Operation: f.Operation, Status: f.Status, HTTP: f.HTTP, RemoteID: f.RemoteID}
		if len(f.Exchanges) > 0 {
			e.Data.Run = f.Exchanges[0].Run
		}
		events = append(events, e)
	}
	synced := f.Status == engine.StatusClean || f.Status == engine.StatusSkipped || f.Status == engine.StatusWaiting
	if synced && told != "" {
		tell("recovered")
		told = ""
	}
	done := f.Operation
	if !synced {
		done = f.Confirmed // whatever comes after it, that was carried out
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
	if failure != "" && failure != told {
		told = failure
		tell(map[bool]string{true: "held", false: "failed"}[f.Status == engine.StatusHeld])
	}
	return events, told
}

// failure is the same for what counts as the same failure. A target that is down answers in many ways.
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

// changed says whether the target has carried out a change.
func (f Finish) changed() bool {
	for _, x := range f.Exchanges {
		if x.Method != http.MethodGet && x.Status >= 200 && x.Status < 300 && x.Status != http.StatusAccepted {
			return true
		}
	}
	return false
}

// HoldEvent is the event of a hold that has begun, or ended (engine.HoldNone).
func HoldEvent(h engine.Hold) engine.Event {
	types := map[engine.HoldKind]engine.EventType{
		engine.HoldNone: engine.AppReleased, engine.HoldPause: engine.AppPaused, engine.HoldBreaker: engine.AppBreaker,
		engine.HoldQuarantine: engine.AppQuarantined,
	}
	return engine.Event{Type: types[h.Kind], Data: engine.EventData{Hold: h.Kind, Until: h.Until}}
}

// Progress is how far the push of a group has come.
type Progress struct {
	ID  string // of the group
	Gen int64  // as in Finish

	RemoteID   string
	RemoteName string // empty while a new name is on its way
	Origin     engine.Origin

	Replaced bool // as in Finish
	Whole    bool // as in Finish
	Added    []engine.RemoteMember
	Removed  []engine.RemoteMember

	NextAdd    []engine.RemoteMember
	NextRemove []engine.RemoteMember
	NextAll    bool // the whole list is about to be replaced: it is due until Whole says that it was

	Exchanges []engine.Attempt
	At        time.Time
}

// Intent is what is about to be worked towards.
type Intent struct {
	Kind engine.Kind
	ID   string
	Want engine.Want
	Name string // kept as RemoteName until MayExist: the name an account may have been created under
	// Creating says that a create under Name is about to be sent whose object cannot be told from a stranger's by itself: Origin
	// is Unconfirmed until Finish says otherwise. What a group was before is gone.
	Creating bool
	// Manager is the user whose account is about to be written as manager, empty for none: from now on it makes this one due when it moves.
	Manager string
}

// Finish is the end of one sequence, as it is stored.
type Finish struct {
	Kind engine.Kind
	ID   string
	Gen  int64 // the generation that was read before the sequence began

	Status    engine.Status
	Attempts  int
	NextAt    time.Time // zero: not due until the next Mark
	Operation engine.Operation
	HTTP      int
	Error     string
	// Halted says that Status is StatusHeld because Operation is halted. When it is not any more, the principal is due again at once.
	Halted bool
	// Untried takes back what Begin noted for the first time, State.MayExist: no account was asked for.
	Untried bool

	RemoteID          string
	RemoteName        string
	Origin            engine.Origin
	IgnoredAttributes map[string]engine.IgnoredAttribute // users only
	// PasswordVersion is kept for a user with a RemoteID.
	PasswordVersion string
	Manager         string   // users only: as in State
	WaitingOn       []string // with StatusWaiting

	Pending *engine.Pending // as in State
	// Confirmed is the operation of a Pending before this one that was seen to be carried out, empty for none.
	Confirmed engine.Operation

	// Groups only. Replaced says that the target's list was replaced before Added was added; Whole that nobody else is in it, so that
	// the whole membership is not due any more, unless it was asked for again after Gen. Forget drops all member rows. Unsure
	// makes the whole membership due: what the target has is not known.
	Replaced    bool
	Whole       bool
	MayBeMember bool
	Forget      bool
	Added       []engine.RemoteMember
	Removed     []engine.RemoteMember

	Exchanges []engine.Attempt // of the sequence, in order; App, Kind, Principal and Gen are filled in by the store
	At        time.Time
}

// Taken is what is stored instead when another user that is to keep it has the account.
func (f Finish) Taken() Finish {
	f.Error = "the account " + f.RemoteID + " belongs to another user already"
	f.Status, f.Attempts, f.NextAt, f.RemoteID, f.Origin = engine.StatusHeld, 1, time.Time{}, "", ""
	return f
}
