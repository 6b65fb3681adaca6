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
	"github.com/scimwright/scimwright/engine/jobs"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/errtext"
)

const (
	importAttempts = 10 // consecutive attempts per page
	confirmBatch   = 200

	pausedDelay   = 10 * time.Minute // delay of an import whose app is paused
	maxErrorDelay = 10 * time.Second // maximum delay of an import after a store error
)

// Store has the methods of package store that an import uses.
type Store interface {
	StartImport(ctx context.Context, app string, r engine.ImportRequest, now time.Time) (int64, error)
	ImportRun(ctx context.Context, id int64) (engine.ImportRun, error)
	RunningImports(ctx context.Context) ([]int64, error)
	BeginImport(ctx context.Context, id int64) (store.ImportAttempt, engine.ImportRun, error)
	SaveImportPage(ctx context.Context, a store.ImportAttempt, p store.ImportPage) error
	CloseImport(ctx context.Context, a store.ImportAttempt, now time.Time) error
	ConfirmMatched(ctx context.Context, a store.ImportAttempt, now time.Time, limit int) (int, error)
	DelayImport(ctx context.Context, a store.ImportAttempt, attempts int, message string) error
	EndImport(ctx context.Context, a store.ImportAttempt, state engine.ImportState, message string, now time.Time) error
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
	// Insert inserts a job. It is Insert of a jobs.Scheduler.
	Insert func(ctx context.Context, kind, key string, after time.Duration) error
	Wake   func(apps ...string) // wakes the lanes, after links have requeued principals
}

// Kind is the name of the jobs of this package. The key of a job is the id of its run.
const Kind = "engine.import"

// Job is the kind of the jobs that process one run each.
func (w *Worker) Job() jobs.Kind {
	return jobs.Kind{Name: Kind, Work: w.Work, Long: true, BackoffMax: maxErrorDelay}
}

// SweepKind is the name of the periodic job that inserts missing jobs.
const SweepKind = "engine.imports"

// sweepInterval is the interval of the periodic job.
const sweepInterval = time.Minute

// Sweep is the kind of the periodic job that inserts a job for each running import without one. A process may end between the start of a
// run and the insertion of its job, and a job fails after too many attempts.
func (w *Worker) Sweep() jobs.Kind {
	return jobs.Kind{Name: SweepKind, Every: sweepInterval, Work: func(ctx context.Context, _ jobs.Job) error {
		running, err := w.Store.RunningImports(ctx)
		for _, run := range running {
			err = errors.Join(err, w.Insert(ctx, Kind, strconv.FormatInt(run, 10), 0))
		}
		return err
	}}
}

// Work is one attempt at an import run. A run has several attempts if the process stops, the app is paused, or the target or the store
// fails. Work returns nil if the run has ended or another attempt works on it, and a snooze if the next attempt is to follow after a delay.
// Any other error is that of an invalid key, of the store or of ctx; after the last two, the scheduler starts another attempt after a
// backoff. When an attempt starts, the store rejects further writes of the previous attempts.
func (w *Worker) Work(ctx context.Context, j jobs.Job) error {
	id, err := strconv.ParseInt(j.Key, 10, 64)
	if err != nil {
		return jobs.Permanent(err)
	}
	attempt, run, err := w.Store.BeginImport(ctx, id)
	if err == nil {
		err = w.run(ctx, j, attempt, run)
	}
	switch {
	case errors.Is(err, engine.ErrLeaseLost), errors.Is(err, engine.ErrNotFound): // another attempt works on the run, or it has ended
		return nil
	case err != nil && ctx.Err() == nil:
		return fmt.Errorf("import %d of %s: %w", id, run.App, err)
	}
	return err
}

// run reads the remaining pages, closes the list and confirms the matches. A failure of the target or the directory ends or delays the run.
// run then returns nil or a snooze. Any other error is an error of the store.
func (w *Worker) run(ctx context.Context, j jobs.Job, attempt store.ImportAttempt, run engine.ImportRun) error {
	kept := w.Store
	for first := true; !run.Read; first = false {
		if j.Stops() {
			return jobs.Snooze(0)
		}
		page, err := w.page(ctx, run, first)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, engine.ErrPaused):
			return jobs.Snooze(pausedDelay)
		case err != nil:
			return w.failed(ctx, attempt, run, err)
		}
		err = kept.SaveImportPage(ctx, attempt, page)
		if errors.Is(err, store.ErrDuplicateObject) {
			err = &plan.ListError{Broken: true, Message: fmt.Sprintf(
				"the list %s cannot be read at startIndex %d: an object was listed before, so startIndex has no effect",
				listing.Endpoints[run.Request.Kind], run.Seen+1)}
			return w.failed(ctx, attempt, run, err)
		}
		if err != nil {
			return err
		}
		run.Seen, run.Total, run.Read, run.Attempts = page.Seen, page.Total, page.Last, 0
	}
	if err := kept.CloseImport(ctx, attempt, w.Now()); err != nil {
		return err
	}
	run, err := kept.ImportRun(ctx, run.ID)
	if err != nil || run.State != engine.ImportRunning {
		return err // CloseImport has stopped the run
	}
	for n := 1; run.Request.AutoConfirm && n > 0; {
		if n, err = kept.ConfirmMatched(ctx, attempt, w.Now(), confirmBatch); err != nil {
			return err
		}
	}
	if err := kept.EndImport(ctx, attempt, engine.ImportDone, "", w.Now()); err != nil {
		return err
	}
	w.Wake(run.App) // the links have requeued principals
	return nil
}

// failed ends a run, or delays the run, which then continues at the same page.
func (w *Worker) failed(ctx context.Context, attempt store.ImportAttempt, run engine.ImportRun, failure error) error {
	run.Attempts++
	again, message := true, errtext.Plain(failure)
	if f, ok := errors.AsType[*plan.ListError](failure); ok {
		again = !f.Broken && f.Class.Info().Temporary
	}
	if !again || errors.Is(failure, engine.ErrUnknownApp) || errors.Is(failure, engine.ErrNoMatcher) || run.Attempts >= importAttempts {
		return w.Store.EndImport(ctx, attempt, engine.ImportFailed, message, w.Now())
	}
	if err := w.Store.DelayImport(ctx, attempt, run.Attempts, message); err != nil {
		return err
	}
	return jobs.Snooze(w.Backoff.Delay(run.Attempts))
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
