package provision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/principal"
)

// forever is later than anything is due.
var forever = time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC)

// Waiting lists principals of an app that are due now or later, at most so many, and says why they wait and until when. Those that failed
// for good or are held are not among them: Tasks lists those.
func (e *Engine) Waiting(ctx context.Context, app string, limit int) ([]engine.Waiting, error) {
	rows, err := e.o.Store.Due(ctx, app, forever, limit)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	l, err := e.lanesOf(ctx, rows)
	if err != nil {
		return nil, err
	}
	out := make([]engine.Waiting, len(rows))
	for i, s := range rows {
		out[i] = e.waiting(s, l[s.App])
	}
	return out, nil
}

// WaitingFor is Waiting for one principal: it has one element, or none when that principal is settled or was never marked.
func (e *Engine) WaitingFor(ctx context.Context, app string, kind engine.Kind, id string) ([]engine.Waiting, error) {
	s, err := principal.State(ctx, e.o.Store, app, kind, id)
	if errors.Is(err, engine.ErrNotFound) || err == nil && s.NextAt.IsZero() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l, err := e.lanesOf(ctx, []engine.State{s})
	if err != nil {
		return nil, err
	}
	return []engine.Waiting{e.waiting(s, l[app])}, nil
}

// lanesOf reads the lanes of principals, by app.
func (e *Engine) lanesOf(ctx context.Context, rows []engine.State) (map[string]engine.Lane, error) {
	all := map[string]engine.Lane{}
	for _, s := range rows {
		if _, known := all[s.App]; known {
			continue
		}
		l, err := e.o.Store.Lane(ctx, s.App)
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return nil, err
		}
		all[s.App] = l
	}
	return all, nil
}

func (e *Engine) waiting(s engine.State, l engine.Lane) engine.Waiting {
	now := e.o.Now()
	w := engine.Waiting{App: s.App, Kind: s.Kind, ID: s.ID, Status: s.Status, Since: s.DirtySince}
	switch {
	case e.Running(s.App, s.Kind, s.ID):
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
		w.Reason, w.Until = "is due later", s.NextAt
	default:
		w.Reason = "waits for its turn"
	}
	return w
}

// onHold says why a principal waits whose lane is held: in the words of the target, which it may have got itself. It is tried again when
// the hold ends, or at its own time after that.
func onHold(s engine.State, h engine.Hold) (reason string, until time.Time) {
	reason, until = h.Reason, h.Until
	if s.LastError != "" && (s.Status == engine.StatusRetrying || slices.Contains(throttles, s.LastStatus)) {
		reason = s.LastError
	}
	if s.Status == engine.StatusRetrying && s.NextAt.After(until) {
		until = s.NextAt
	}
	return fmt.Sprintf("on hold (%s): %s", h.Kind, reason), until
}

// throttles are the statuses with which a target asks for a pause.
var throttles = []int{429, 503}
