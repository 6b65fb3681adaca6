package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/principal"
)

// forever is later than any scheduled time.
var forever = time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC)

// Waiting lists principals that are pending now or scheduled for later; see provision.Tasks.Waiting.
func (d Deps) Waiting(ctx context.Context, app string, limit int) ([]engine.Waiting, error) {
	rows, err := d.Store.Due(ctx, app, forever, limit)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	l, err := d.lanesOf(ctx, rows)
	if err != nil {
		return nil, err
	}
	out := make([]engine.Waiting, len(rows))
	for i, s := range rows {
		out[i] = d.waiting(s, l[s.App])
	}
	return out, nil
}

// WaitingFor does the same as Waiting, for one principal; see provision.Tasks.WaitingFor.
func (d Deps) WaitingFor(ctx context.Context, app string, kind engine.Kind, id string) ([]engine.Waiting, error) {
	s, err := principal.State(ctx, d.Store, app, kind, id)
	if errors.Is(err, engine.ErrNotFound) || err == nil && s.NextAt.IsZero() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l, err := d.lanesOf(ctx, []engine.State{s})
	if err != nil {
		return nil, err
	}
	return []engine.Waiting{d.waiting(s, l[app])}, nil
}

// lanesOf reads the lanes of principals, by app.
func (d Deps) lanesOf(ctx context.Context, rows []engine.State) (map[string]engine.Lane, error) {
	all := map[string]engine.Lane{}
	for _, s := range rows {
		if _, known := all[s.App]; known {
			continue
		}
		l, err := d.Store.Lane(ctx, s.App)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return nil, err
		}
		all[s.App] = l
	}
	return all, nil
}

func (d Deps) waiting(s engine.State, l engine.Lane) engine.Waiting {
	now := d.Now()
	w := engine.Waiting{App: s.App, Kind: s.Kind, ID: s.ID, Status: s.Status, Since: s.DirtySince}
	switch {
	case d.Running.Has(s.App, principal.Of(s)):
		w.Reason = "is being provisioned"
	case s.Status == engine.StatusPending && s.Pending != nil:
		w.Reason, w.Until = principal.Outstanding(s.Pending), s.Pending.Deadline
	case l.Suspension.Reason == engine.SuspensionPaused:
		w.Reason = "the app is paused"
	case l.Suspension.Reason != "":
		w.Reason, w.Until = string(l.Suspension.Reason), l.Suspension.Until
	case l.Hold.Kind != engine.HoldNone:
		w.Reason, w.Until = onHold(s, l.Hold)
	case s.Status == engine.StatusRetrying:
		w.Reason, w.Until = s.LastError, s.NextAt
	case s.NextAt.After(now):
		w.Reason, w.Until = "is scheduled for later", s.NextAt
	default:
		w.Reason = "is queued"
	}
	return w
}

// onHold returns the reason why a principal waits whose lane is on hold: the kind of the hold, and the last error of the principal if the
// principal is retried or the target has requested a pause, or else the reason of the hold. until is the end of the hold, or the end of the
// backoff of the principal if that is later.
func onHold(s engine.State, h engine.Hold) (reason string, until time.Time) {
	reason, until = h.Reason, h.Until
	if s.LastError != "" && (s.Status == engine.StatusRetrying || slices.Contains(throttleStatuses, s.LastStatus)) {
		reason = s.LastError
	}
	if s.Status == engine.StatusRetrying && s.NextAt.After(until) {
		until = s.NextAt
	}
	return fmt.Sprintf("on hold (%s): %s", h.Kind, reason), until
}

// throttleStatuses are the statuses with which a target requests a pause.
var throttleStatuses = []int{429, 503}
