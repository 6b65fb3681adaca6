package engine

import "slices"

// Class is the outcome of a sequence. It determines how the engine continues.
type Class string

// The classes of outcomes. [Class.Info] describes them.
const (
	Done      Class = "done"
	Skipped   Class = "skipped"
	Held      Class = "held"
	Rejected  Class = "rejected"
	Transient Class = "transient"
	Throttled Class = "throttled"
	Denied    Class = "denied"
	Accepted  Class = "accepted"
)

// Signal is the information that a sequence yields about the target as a whole, not about the principal. The lane derives its holds from
// it.
type Signal string

// The signals.
const (
	SignalNone      Signal = ""          // no information: no request was sent
	SignalOK        Signal = "ok"        // the target responds, possibly with a rejection of this principal
	SignalFailing   Signal = "failing"   // no response, a 5xx, an unreadable response
	SignalThrottled Signal = "throttled" // the target requests a pause
	SignalDenied    Signal = "denied"    // the target does not accept the credentials
)

// ClassInfo describes a class.
type ClassInfo struct {
	Class Class
	// Status is the status of the principal after a sequence with this class. Another status is stored in four cases: a halt blocks a
	// request, users that the principal needs have no account yet, an accepted change (202) is not confirmed, or a sequence with
	// FallbackNone has failed.
	Status Status
	// Signal is the signal that the lane of the app receives.
	Signal Signal
	// Temporary reports whether the same requests may succeed later although neither the principal nor the settings of the target change.
	Temporary bool
	// Decided reports whether a sequence with this class makes a previously accepted change (202) obsolete.
	Decided bool
	// Text describes the class in one sentence.
	Text string
}

// classes is the only list of the classes. Behavior that depends on the class is a column of the table, or a switch over all classes,
// which the linter enforces. File failure.go of engine/internal/plan derives the class from a response. The tests of this package write the
// table to docs/reference/engine.md with -update.
var classes = []ClassInfo{
	{Done, StatusClean, SignalOK, false, true, "The target has the desired state."},
	{Skipped, StatusSkipped, SignalOK, false, true, "The options of the target exclude the required change. The engine changes nothing."},
	{Held, StatusHeld, SignalOK, false, true, "An operator has to decide, e.g. because several accounts match."},
	{Rejected, StatusFailed, SignalOK, false, false, "The target rejects this principal. The same request would be rejected again."},
	{Transient, StatusRetrying, SignalFailing, true, false,
		"Network error, timeout, 5xx or unreadable response. The request may succeed later."},
	{Throttled, StatusDirty, SignalThrottled, true, false, "429, or 503 with Retry-After. The target requests a pause for all principals."},
	{Denied, StatusRetrying, SignalDenied, false, false, "401 or 403. The target does not accept the credentials."},
	{Accepted, StatusPending, SignalOK, false, false, "202. The target may carry the change out later."},
}

// Classes returns all classes in a fixed order.
func Classes() []ClassInfo { return slices.Clone(classes) }

// Info returns the row of the class. An unknown class has the row of [Transient]: the engine retries.
func (c Class) Info() ClassInfo {
	if i := slices.IndexFunc(classes, func(row ClassInfo) bool { return row.Class == c }); i >= 0 {
		return classes[i]
	}
	return Transient.Info()
}

// Outcome returns the class whose sequences lead to the status; if several classes do, the first in the order of [Classes]. The result is
// empty for StatusDirty, StatusDismissed and unknown statuses.
func (s Status) Outcome() Class {
	switch s {
	case StatusWaiting:
		return Done
	case StatusDirty, StatusDismissed: // StatusDirty: no sequence has run since the mark, or the target has requested a pause
		return ""
	case StatusClean, StatusSkipped, StatusRetrying, StatusFailed, StatusHeld, StatusPending:
	}
	i := slices.IndexFunc(classes, func(row ClassInfo) bool { return row.Status == s })
	if i < 0 {
		return ""
	}
	return classes[i].Class
}
