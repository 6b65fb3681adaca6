package sandbox

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/mgmtapi"
)

const (
	// relayBatch is the maximum number of events that one transaction of the relay takes.
	relayBatch = 500
	// relayTick is the interval at which the relay checks for events without a notification, such as those of another process.
	relayTick = time.Second
)

// relay turns the events of the management API into marks of the engine. It writes the marks in the transaction that removes the events
// from the outbox, so each event is marked exactly once.
type relay struct {
	wanted *mgmtapi.Wanted
	engine *provision.Engine
	log    *slog.Logger
	// appDeleted, if set, is called with each deleted app.
	appDeleted func(app string)
	wake       chan struct{}
	done       chan struct{}
}

func newRelay(wanted *mgmtapi.Wanted, eng *provision.Engine, log *slog.Logger) *relay {
	r := &relay{wanted: wanted, engine: eng, log: log, wake: make(chan struct{}, 1), done: make(chan struct{})}
	wanted.Notify(func() {
		select {
		case r.wake <- struct{}{}:
		default: // a wake-up is pending already
		}
	})
	return r
}

// run relays events until ctx ends.
func (r *relay) run(ctx context.Context) {
	defer close(r.done)
	tick := time.NewTicker(relayTick)
	defer tick.Stop()
	for {
		n, err := r.step(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			r.log.ErrorContext(ctx, "relay", "err", err)
		}
		if n == relayBatch {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-tick.C:
		}
	}
}

// drain relays all pending events. The sandbox calls it once at its start, before run.
func (r *relay) drain(ctx context.Context) error {
	for {
		if n, err := r.step(ctx); err != nil || n == 0 {
			return err
		}
	}
}

// connectionEnded is the error of an import that was running when the connection of its app was deactivated.
const connectionEnded = "The connection was deactivated"

// step relays one batch of events and wakes the lanes of their apps.
func (r *relay) step(ctx context.Context) (int, error) {
	var c changeEffects
	n, err := r.wanted.Changes(ctx, relayBatch, func(ctx context.Context, tx mgmtapi.Tx, changes []mgmtapi.Change) error {
		c = effectsOf(changes)
		for _, app := range c.ended {
			if err := r.engine.Tasks().Drop(ctx, tx, app, connectionEnded); err != nil {
				return err
			}
		}
		if len(c.marks) > 0 {
			if err := r.engine.Mark(ctx, tx, c.marks...); err != nil {
				return err
			}
		}
		// Forget runs after Mark, so that it also deletes the new marks of a deleted app. The engine would never process these marks.
		for _, app := range c.deleted {
			if err := r.engine.Forget(ctx, tx, app); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || n == 0 {
		return n, err
	}
	for _, app := range c.deleted {
		if r.appDeleted != nil {
			r.appDeleted(app)
		}
	}
	// A crash before this line only causes a delay: the engine checks all lanes periodically, and a lane on hold probes its target without a
	// notification.
	if len(c.kick) > 0 {
		if err := r.engine.Apps().Kick(ctx, c.kick...); err != nil {
			return n, err
		}
	}
	r.engine.Wake(c.apps()...)
	return n, nil
}

// changeEffects is the effect of a batch of events.
type changeEffects struct {
	marks []engine.Mark
	kick  []string // apps whose connection or options may have changed: their holds are released
	// ended are apps whose connection was deactivated. For these apps, marks contains only the marks of events after the deactivation.
	ended []string
	// deleted are apps that were deleted.
	deleted []string
}

func (c changeEffects) apps() []string {
	apps := slices.Clone(c.kick)
	for _, m := range c.marks {
		apps = append(apps, m.App)
	}
	slices.Sort(apps)
	return slices.Compact(apps)
}

func effectsOf(changes []mgmtapi.Change) (all changeEffects) {
	for _, c := range changes {
		switch {
		case c.Kind == mgmtapi.User:
			all.marks = append(all.marks, engine.Mark{App: c.App, Kind: engine.User, ID: c.ID})
		case c.Kind == mgmtapi.Group:
			all.marks = append(all.marks, engine.Mark{App: c.App, Kind: engine.Group, ID: c.ID, Members: c.Members, AllMembers: c.AllMembers})
		case c.Deleted:
			all.deleted = append(all.deleted, c.App)
		default:
			if c.Ended {
				all.ended = append(all.ended, c.App)
				all.marks = slices.DeleteFunc(all.marks, func(m engine.Mark) bool { return m.App == c.App })
			}
			all.kick = append(all.kick, c.App)
		}
	}
	return all
}
