package engine

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine/lane"
)

// Lag is how far the target of an app is behind the directory.
type Lag struct {
	App string
	// Due is how many principals wait to be provisioned, those in a back-off too; Oldest since when the first of them does, zero for
	// none.
	Due    int
	Oldest time.Time
	// Failed and Held are not due: they wait for a Mark or a decision.
	Failed, Held int
	Retrying     int // of those that are due, how many are in a back-off
	Accepted     int // of those that are due, how many have a change that the target has accepted and was not seen to have carried out
	Hold         lane.Hold
	LastSuccess  time.Time // the last sequence that brought a principal into its desired state, zero for none
}

// LagStore tells what has not arrived.
type LagStore interface {
	// Lags returns the lags of one app or (empty) of all that were ever marked, by app.
	Lags(ctx context.Context, app string) ([]Lag, error)
	// LateApps lists, by name, the apps that have users who may have an account (RemoteID or Tried), are dirty since an instant
	// not after before, and were not told about.
	LateApps(ctx context.Context, before time.Time) ([]string, error)
	// Late lists such users of an app, by DirtySince and id, after the given one (nil for the first page).
	Late(ctx context.Context, app string, before time.Time, after *State, limit int) ([]State, error)
	// Overdue notes at now that the deactivation of such a user was told about, so that it is not late again before it was synchronised. It
	// returns false, and notes nothing, when it is not late any more, or somebody else was quicker.
	Overdue(ctx context.Context, app, user string, before, now time.Time) (bool, error)
}

// Lags returns how far the targets of all apps are behind, by app.
func (e *Engine) Lags(ctx context.Context) ([]Lag, error) { return e.o.Store.Lags(ctx, "") }

// Lag returns how far the target of an app is behind, or ErrNotFound.
func (e *Engine) Lag(ctx context.Context, app string) (Lag, error) {
	if app == "" {
		return Lag{}, ErrNotFound // it would not restrict the query
	}
	found, err := e.o.Store.Lags(ctx, app)
	if err != nil {
		return Lag{}, err
	}
	if len(found) == 0 {
		return Lag{}, ErrNotFound
	}
	return found[0], nil
}
