package engine

import (
	"context"
	"fmt"
	"time"
)

// MarkAll says that the desired state of many principals of an app may have changed: all that the engine was ever told about,
// or those of a kind or with a status.
type MarkAll struct {
	App string // required
	// Kind restricts it to users or groups. Defaults to both.
	Kind Kind
	// Status restricts it to principals with one of these. Defaults to all. «Retry all» is StatusFailed, StatusHeld and
	// StatusRetrying, with Retry.
	Status []Status
	// Retry and AllMembers are those of Mark. AllMembers is for the groups among them.
	Retry      bool
	AllMembers bool
}

// MarkStore marks by conditions.
type MarkStore interface {
	// MarkAll does, within the caller's transaction, what Mark would do to each principal that fits, and returns how many those
	// are. When there are none, the lane stays as it is.
	MarkAll(ctx context.Context, tx Execer, now time.Time, m MarkAll) (int64, error)
}

// MarkAll records, inside the caller's transaction, that the desired state of all principals of an app may have changed that fit,
// e.g. after a mapping was edited or a target was repaired, and returns how many there are. Principals that were never marked
// are not known and so not among them. Call Wake after the commit; without it the change is found at the next sweep.
func (e *Engine) MarkAll(ctx context.Context, tx Execer, m MarkAll) (int64, error) {
	if m.App == "" || m.Kind != "" && m.Kind != User && m.Kind != Group {
		return 0, fmt.Errorf("engine: mark all: app %q, kind %q do not name principals", m.App, m.Kind)
	}
	return e.o.Store.MarkAll(ctx, tx, e.o.Now(), m)
}
