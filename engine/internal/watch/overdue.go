package watch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/jobs"
)

// Limits of the search for overdue deactivations.
const (
	// overdueInterval is the interval between two searches, or a fifth of OverdueOptions.Within if that is shorter.
	overdueInterval    = time.Minute
	overdueIntervalMin = 10 * time.Millisecond
	// overdueLimit is the maximum number of users per search for which the directory is queried. The next search continues with the following
	// users.
	overdueLimit = 1000
)

// OverdueStore has the methods of package store that find overdue deactivations.
type OverdueStore interface {
	Lane(ctx context.Context, app string) (engine.Lane, error)
	OverdueApps(ctx context.Context, before time.Time) ([]string, error)
	OverdueUsers(ctx context.Context, app string, before time.Time, after *engine.State, limit int) ([]engine.State, error)
	Overdue(ctx context.Context, app, user string, before, now time.Time) (bool, error)
}

// OverdueOptions configures Overdue; all fields are required.
type OverdueOptions struct {
	Store     OverdueStore
	Directory engine.Directory
	Observer  engine.Observer // receives overdue deactivations if it is an OverdueObserver
	Within    time.Duration   // time after which a deactivation is overdue
	Now       func() time.Time
	Logger    *slog.Logger
}

// Overdue finds overdue deactivations. It is used by one goroutine at a time. If several processes search in turn, each continues after the
// users that it has checked itself.
type Overdue struct {
	o OverdueOptions
	// after has the last checked user of each app with overdue users. The search of an app without an entry starts with its first user.
	after map[string]*engine.State
	last  string // the app that was searched last
}

// NewOverdue returns an Overdue.
func NewOverdue(o OverdueOptions) *Overdue { return &Overdue{o: o} }

// Kind is the name of the periodic job of this package.
const Kind = "engine.overdue"

// Job is the kind of the periodic job. A search that fails is repeated after a backoff.
func (w *Overdue) Job() jobs.Kind {
	return jobs.Kind{
		Name: Kind, Every: min(overdueInterval, max(w.o.Within/5, overdueIntervalMin)),
		Work: func(ctx context.Context, _ jobs.Job) error { return w.Look(ctx) },
	}
}

// Look checks a limited number of overdue users, the same number from each app.
//
// Invariant 22: DirtySince of a principal is the time of the first change that the target does not have yet. An overdue deactivation is
// reported once.
func (w *Overdue) Look(ctx context.Context) error {
	before := w.o.Now().Add(-w.o.Within)
	apps, err := w.o.Store.OverdueApps(ctx, before)
	if err != nil {
		return err
	}
	next, found := slices.BinarySearch(apps, w.last)
	if found {
		next++
	}
	after := map[string]*engine.State{}
	asks := max(overdueLimit/max(len(apps), 1), 1)
	for i, app := range slices.Concat(apps[next:], apps[:next]) {
		if i == overdueLimit {
			after[app] = w.after[app]
			continue
		}
		w.last = app
		page, err := w.o.Store.OverdueUsers(ctx, app, before, w.after[app], asks)
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

func (w *Overdue) app(ctx context.Context, app string, before time.Time, late []engine.State) error {
	t, err := w.o.Directory.Target(ctx, app)
	if errors.Is(err, engine.ErrUnknownApp) || err == nil && !t.DeactivateUsers {
		return nil
	}
	for _, row := range late {
		want := row.Want // the stored desired state, used if the directory is unavailable
		if u, err := w.o.Directory.User(ctx, app, row.ID); err == nil {
			want = u.Want
		}
		if want != engine.Inactive && want != engine.Absent {
			continue
		}
		first, err := w.o.Store.Overdue(ctx, app, row.ID, before, w.o.Now())
		if err != nil {
			return err
		}
		if first {
			w.report(ctx, row, want)
		}
	}
	return nil
}

func (w *Overdue) report(ctx context.Context, row engine.State, want engine.Want) {
	o := engine.Overdue{
		App: row.App, ID: row.ID, RemoteID: row.RemoteID, Since: row.DirtySince, Want: want, Status: row.Status, Error: row.LastError,
	}
	if l, err := w.o.Store.Lane(ctx, row.App); err == nil {
		o.Hold = l.Hold
	}
	w.o.Logger.WarnContext(ctx, "deactivation overdue", "app", o.App, "user", o.ID, "since", o.Since, "status", o.Status, "hold", o.Hold.Kind)
	if observer, ok := w.o.Observer.(engine.OverdueObserver); ok {
		observer.Overdue(context.WithoutCancel(ctx), o)
	}
}
