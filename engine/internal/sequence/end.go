package sequence

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/connect"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/principal"
)

// conclude converts the outcome into the result to store.
//
// Invariant 7: If a PATCH of a group gets no response, the next push of the group is a full one.
func (r *run) conclude(interrupted bool) {
	o, now := r.outcome, r.Now()
	f := &r.finish
	f.Kind, f.ID, f.Gen, f.At = r.row.Kind, r.row.ID, r.row.Desired, now
	f.Operation, f.HTTP, f.Error = o.Operation, o.Status, o.Message
	f.RemoteID, f.RemoteName, f.Origin = o.RemoteID, o.Name, o.Origin
	f.Halted, f.PasswordVersion, f.IgnoredAttributes = o.Halted, o.PasswordVersion, o.IgnoredAttributes
	f.Pending, f.Confirmed = o.Pending, o.Confirmed
	if f.Pending != nil {
		r.accept(f.Pending, now)
	}
	// If the sequence was aborted, Progress has already stored the members of the pending request. A push of all members is then
	// unnecessary.
	f.MembersUnknown = o.Full || o.MembersUnknown && !interrupted
	failures := r.row.Attempts + 1
	switch {
	case f.Pending != nil && !o.Class.Info().Decided:
		r.await(f, f.Pending, interrupted)
	case interrupted:
		f.Status, f.Attempts, f.NextAt = engine.StatusDirty, r.row.Attempts, now
		f.Error = r.row.LastError
	case o.Class == engine.Done && r.waiting.all > 0:
		f.Status = engine.StatusWaiting
	case o.Halted:
		f.Status, f.Attempts = engine.StatusHeld, r.row.Attempts
	default:
		r.setStatus(o.Class, failures)
	}
	created := slices.ContainsFunc(r.steps, func(s engine.Step) bool { return s.Method == http.MethodPost })
	f.Untried = r.first && o.RemoteID == "" && o.Origin == "" && !created
	r.finishWaiting(o.Class == engine.Done && !interrupted)
}

// setStatus sets the status and the time of the next attempt for a class.
func (r *run) setStatus(class engine.Class, failures int) {
	f, now, row := &r.finish, r.finish.At, class.Info()
	f.Status = row.Status
	switch row.Class {
	case engine.Done, engine.Skipped:
	case engine.Held, engine.Rejected:
		f.Attempts = failures
	case engine.Throttled:
		f.Attempts, f.NextAt = r.row.Attempts, now // the lane waits
		if r.target.Fallback == engine.FallbackNone {
			f.Attempts = failures
		}
		if r.throttledOut(failures) {
			f.Status, f.Attempts, f.NextAt = engine.StatusFailed, failures, time.Time{}
			f.Error += fmt.Sprintf("; tried %d times", failures)
		}
	case engine.Transient, engine.Denied, engine.Accepted:
		f.Attempts = failures
		if r.final() {
			f.Status = engine.StatusFailed
			return
		}
		delay := r.Backoff.Delay(failures)
		if row.Class == engine.Denied {
			delay *= 2 // wait longer than the lane, so that the lane tries another principal first: the target may deny only this one
		}
		f.NextAt = now.Add(delay)
	}
}

// final reports whether a failure ends the attempts until the next Mark or Retry. With FallbackNone every failure after a request does,
// except the failure of a deactivation: a user who must not have an account must not retain it because of one failure.
func (r *run) final() bool {
	return r.target.Fallback == engine.FallbackNone && len(r.steps) > 0 && !r.localFailure && !r.deactivates()
}

// deactivates reports whether the principal is a user that must not have an active account.
func (r *run) deactivates() bool {
	return r.row.Kind == engine.User && (r.row.Want == engine.Inactive || r.row.Want == engine.Absent)
}

// With FallbackNone: the maximum number of attempts for a principal whose target requests a pause, and the longest pause.
const (
	throttleTries = 3
	throttlePause = 30 * time.Second
)

// throttledOut reports whether retries stop because the target has requested a pause too many times in a row. Retries of a deactivation
// never stop: a user who must not have an account must not retain it because a target is busy.
func (r *run) throttledOut(failures int) bool {
	return r.target.Fallback == engine.FallbackNone && !r.deactivates() && failures >= throttleTries
}

func (r *run) signal() lane.Signal {
	if len(r.steps) == 0 && r.outcome.Class != engine.Denied {
		return lane.Signal{Kind: engine.SignalNone}
	}
	s := lane.Signal{Reason: r.outcome.Message}
	if r.outcome.Lapsed {
		s.Kind = engine.SignalOK // the target has responded
		return s
	}
	s.Kind = r.outcome.Class.Info().Signal
	if s.Kind == engine.SignalThrottled {
		s.Until = connect.RetryAfter(r.outcome.RetryAfter, r.Now())
		if r.target.Fallback == engine.FallbackNone {
			s.Limit = throttlePause
		}
	}
	return s
}

func (r *run) result() engine.Result {
	return engine.Result{
		App: r.row.App, Kind: r.row.Kind, ID: r.row.ID, Want: r.row.Want, Operation: r.finish.Operation, Outcome: r.outcome.Class,
		Status: r.finish.Status, RemoteID: r.finish.RemoteID, HTTP: r.finish.HTTP, Error: r.finish.Error, Steps: r.steps,
		PasswordVersion: r.finish.PasswordVersion, Confirmed: r.finish.Confirmed, Lapsed: r.outcome.Lapsed,
		IgnoredAttributes: principal.Ignored(r.finish.IgnoredAttributes),
		Duration:          r.Now().Sub(r.begun),
	}
}
