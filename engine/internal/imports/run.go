package imports

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/internal/listing"
	"github.com/scimwright/scimwright/engine/internal/plan"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/errtext"
)

const (
	importAttempts = 10 // consecutive attempts per page
	confirmBatch   = 200

	pausedDelay = 10 * time.Minute // delay of an import whose app is paused
	errorDelay  = time.Second      // delay of an import after a store error
)

// Store has the methods of package store that an import uses.
type Store interface {
	StartImport(ctx context.Context, app string, r engine.ImportRequest, now time.Time) (int64, error)
	ImportRun(ctx context.Context, id int64) (engine.ImportRun, error)
	SaveImportPage(ctx context.Context, l engine.Lease, p store.ImportPage) error
	CloseImport(ctx context.Context, l engine.Lease, now time.Time) error
	ConfirmMatched(ctx context.Context, l engine.Lease, now time.Time, limit int) (int, error)
	DelayImport(ctx context.Context, l engine.Lease, attempts int, message string) error
	EndImport(ctx context.Context, l engine.Lease, state engine.ImportState, message string, now time.Time) error
	StatesByID(ctx context.Context, app string, kind engine.Kind, ids []string) ([]engine.State, error)
	StatesByRemoteID(ctx context.Context, app string, kind engine.Kind, remoteIDs []string) ([]engine.State, error)
}

// Worker processes imports; all fields are required.
type Worker struct {
	Store     Store
	Directory engine.Directory
	Lists     listing.Deps
	Backoff   lane.Backoff
	Now       func() time.Time
	Logger    *slog.Logger
	Wake      func(apps ...string) // wakes the lanes, after links have requeued principals
}

// Work processes one run under its lease. It implements lane.Func for leases of runs.
func (w *Worker) Work(ctx context.Context, t *lane.Ownership) (engine.Hold, time.Time) {
	id, err := strconv.ParseInt(t.Lease.App, 10, 64)
	var run engine.ImportRun
	if err == nil {
		run, err = w.Store.ImportRun(ctx, id)
	}
	if err == nil {
		err = w.run(ctx, t, run)
	}
	if err == nil || ctx.Err() != nil || errors.Is(err, engine.ErrLeaseLost) || errors.Is(err, engine.ErrNotFound) {
		return engine.Hold{}, time.Time{}
	}
	if later, ok := errors.AsType[*delayed](err); ok {
		return engine.Hold{}, w.Now().Add(later.by)
	}
	w.Logger.ErrorContext(ctx, "import interrupted", "app", run.App, "run", id, "error", err)
	return engine.Hold{}, w.Now().Add(errorDelay)
}

// run reads the remaining pages, closes the list and confirms the matches. A failure of the target or the directory ends or delays the run.
// run then returns nil or an error of type *delayed. Any other error is an error of the store.
func (w *Worker) run(ctx context.Context, t *lane.Ownership, run engine.ImportRun) error {
	kept := w.Store
	for first := true; !run.Read; first = false {
		if t.Draining() || ctx.Err() != nil {
			return nil
		}
		page, err := w.page(ctx, run, first)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, engine.ErrPaused):
			return &delayed{pausedDelay}
		case err != nil:
			return w.failed(ctx, t, run, err)
		}
		err = kept.SaveImportPage(ctx, t.Lease, page)
		if errors.Is(err, store.ErrDuplicateObject) {
			err = &plan.ListError{Broken: true, Message: fmt.Sprintf(
				"the list %s cannot be read at startIndex %d: an object was listed before, so startIndex has no effect",
				listing.Endpoints[run.Request.Kind], run.Seen+1)}
			return w.failed(ctx, t, run, err)
		}
		if err != nil {
			return err
		}
		run.Seen, run.Total, run.Read, run.Attempts = page.Seen, page.Total, page.Last, 0
	}
	if err := kept.CloseImport(ctx, t.Lease, w.Now()); err != nil {
		return err
	}
	run, err := kept.ImportRun(ctx, run.ID)
	if err != nil || run.State != engine.ImportRunning {
		return err // CloseImport has stopped the run
	}
	for n := 1; run.Request.AutoConfirm && n > 0; {
		if n, err = kept.ConfirmMatched(ctx, t.Lease, w.Now(), confirmBatch); err != nil {
			return err
		}
	}
	if err := kept.EndImport(ctx, t.Lease, engine.ImportDone, "", w.Now()); err != nil {
		return err
	}
	w.Wake(run.App) // the links have requeued principals
	return nil
}

// failed ends a run, or delays the run, which then continues at the same page.
func (w *Worker) failed(ctx context.Context, t *lane.Ownership, run engine.ImportRun, failure error) error {
	run.Attempts++
	again, message := true, errtext.Plain(failure)
	if f, ok := errors.AsType[*plan.ListError](failure); ok {
		again = !f.Broken && f.Class.Info().Temporary
	}
	if !again || errors.Is(failure, engine.ErrUnknownApp) || errors.Is(failure, engine.ErrNoMatcher) || run.Attempts >= importAttempts {
		return w.Store.EndImport(ctx, t.Lease, engine.ImportFailed, message, w.Now())
	}
	if err := w.Store.DelayImport(ctx, t.Lease, run.Attempts, message); err != nil {
		return err
	}
	return &delayed{w.Backoff.Delay(run.Attempts)}
}

// page reads the next page of a run and matches its objects. Each call queries the directory for the target, so that new credentials and a
// pause take effect.
func (w *Worker) page(ctx context.Context, run engine.ImportRun, first bool) (store.ImportPage, error) {
	r, err := w.Lists.Open(ctx, run.App)
	if err == nil && first {
		_, err = r.Recall(ctx)
	}
	if err != nil {
		return store.ImportPage{}, err
	}
	p := &plan.Pages{Endpoint: listing.Endpoints[run.Request.Kind], Listed: run.Seen, Total: run.Total, Max: engine.MaxListed}
	p.FullPages = r.Target.Fallback == engine.FallbackNone
	page, last, err := r.Page(ctx, p)
	if err != nil {
		return store.ImportPage{}, err
	}
	objects, err := w.match(ctx, run, page)
	for i := range objects {
		if objects[i].Resource.Delete("password"); !run.Request.Keep {
			objects[i].Resource = nil
		}
	}
	return store.ImportPage{Objects: objects, Seen: p.Listed, Total: p.Total, Last: last}, err
}

// delayed is the error of a run that continues later.
type delayed struct{ by time.Duration }

func (d *delayed) Error() string { return "continue in " + d.by.String() }
