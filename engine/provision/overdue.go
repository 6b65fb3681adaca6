package provision

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// Bounds of the look for overdue deactivations.
const (
	// lateEvery is how often it is looked, or a fifth of Options.DeactivateWithin where that is less.
	lateEvery    = time.Minute
	lateEveryMin = 10 * time.Millisecond
	// lateAsks is how many users the directory is asked about in one look. They take turns.
	lateAsks = 1000
)

// watcher looks for overdue deactivations.
type watcher struct {
	e *Engine
	// after is how far the users of each late app were asked about, nil for the whole list.
	after map[string]*engine.State
	last  string // the app that was looked at last
}

func (w *watcher) run(ctx context.Context) {
	every := min(lateEvery, max(w.e.o.DeactivateWithin/5, lateEveryMin))
	for {
		if err := w.look(ctx); err != nil && ctx.Err() == nil {
			w.e.o.Logger.ErrorContext(ctx, "overdue deactivations could not be looked for", "error", err)
		}
		timer := time.NewTimer(every)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// look asks about as many late users as it may, from each app the same number.
func (w *watcher) look(ctx context.Context) error {
	before := w.e.o.Now().Add(-w.e.o.DeactivateWithin)
	apps, err := w.e.o.Store.OverdueApps(ctx, before)
	if err != nil {
		return err
	}
	next, found := slices.BinarySearch(apps, w.last)
	if found {
		next++
	}
	after := map[string]*engine.State{}
	asks := max(lateAsks/max(len(apps), 1), 1)
	for i, app := range slices.Concat(apps[next:], apps[:next]) {
		if i == lateAsks {
			after[app] = w.after[app]
			continue
		}
		w.last = app
		page, err := w.e.o.Store.OverdueUsers(ctx, app, before, w.after[app], asks)
		if err != nil {
			return err
		}
		if len(page) == asks {
			after[app] = &page[asks-1]
		}
		if err := w.app(ctx, app, before, page); err != nil {
			return err
		}
	}
	w.after = after
	return nil
}

func (w *watcher) app(ctx context.Context, app string, before time.Time, late []engine.State) error {
	t, err := w.e.o.Directory.Target(ctx, app)
	if errors.Is(err, engine.ErrUnknownApp) || err == nil && !t.DeactivateUsers {
		return nil
	}
	for _, row := range late {
		want := row.Want // where the directory cannot say, what it said last
		if u, err := w.e.o.Directory.User(ctx, app, row.ID); err == nil {
			want = u.Want
		}
		if want != engine.Inactive && want != engine.Absent {
			continue
		}
		first, err := w.e.o.Store.Overdue(ctx, app, row.ID, before, w.e.o.Now())
		if err != nil {
			return err
		}
		if first {
			w.tell(ctx, row, want)
		}
	}
	return nil
}

func (w *watcher) tell(ctx context.Context, row engine.State, want engine.Want) {
	o := engine.Overdue{App: row.App, ID: row.ID, RemoteID: row.RemoteID, Since: row.DirtySince, Want: want, Status: row.Status, Error: row.LastError}
	if l, err := w.e.o.Store.Lane(ctx, row.App); err == nil {
		o.Hold = l.Hold
	}
	w.e.o.Logger.WarnContext(ctx, "deactivation overdue", "app", o.App, "user", o.ID, "since", o.Since, "status", o.Status, "hold", o.Hold.Kind)
	if observer, ok := w.e.o.Observer.(engine.OverdueObserver); ok {
		observer.Overdue(context.WithoutCancel(ctx), o)
	}
}
