package mgmtapi

import (
	"context"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/mgmtapi/internal/apps/imports"
)

// Jobs runs jobs for an API. Each job runs in one process at a time of those that share the database. A job whose process was killed starts
// again in another process. A scheduler of package engine/jobs has these methods, except for the types.
type Jobs interface {
	// Register adds a kind of jobs. Open calls it, before the first job runs.
	Register(k JobKind) error
	// Insert stores a job that starts immediately. A kind has at most one unfinished job with a key: if there is one, Insert adds none, and
	// the waiting job starts immediately.
	Insert(ctx context.Context, kind, key string) error
}

// JobKind is a kind of jobs.
type JobKind struct {
	Name string
	// Every is the interval at which a job with an empty key runs, in addition to the jobs that Insert adds. Zero means that the kind is not
	// periodic.
	Every time.Duration
	// Long reports whether jobs may run for hours. They must not delay others.
	Long bool
	// Work runs a job. If again is not zero, the job continues after this time, and in the case of a periodic job, again replaces the
	// interval. After an error the job starts again after a backoff. Work returns early after stopping was closed.
	Work func(ctx context.Context, key string, stopping <-chan struct{}) (again time.Duration, err error)
}

// The names of the kinds of jobs.
const (
	importsKind = "management.imports" // starts scheduled imports, and inserts jobs for imports whose list was read
	importKind  = "management.import"  // creates users from the accounts of one import; the key is the id of the import
	logKind     = "management.log"     // removes old events of the system log
)

const (
	// importsInterval is the maximum interval of the job that starts scheduled imports. Each run of the job returns the time of the next run.
	importsInterval = time.Minute
	// soon is the delay of a job that is to continue immediately.
	soon = time.Nanosecond
	// wakeAgain is the time after which a job that was woken is woken again. The first call has no effect if the job is running, and that
	// run may have read the documents before their change.
	wakeAgain = 3 * time.Second
	// wakeTimeout limits one call of Jobs.Insert in the background.
	wakeTimeout = 30 * time.Second
)

// registerJobs registers the jobs of the API.
func (a *API) registerJobs() error {
	kinds := []JobKind{{Name: logKind, Every: purgeInterval, Work: a.purgeLog}}
	if service := a.inner.Importing(); service != nil {
		kinds = append(kinds,
			JobKind{Name: importsKind, Every: importsInterval, Work: a.importsJob(service)},
			JobKind{Name: importKind, Long: true, Work: importJob(service)})
	}
	for _, k := range kinds {
		if err := a.jobs.Register(k); err != nil {
			return fmt.Errorf("mgmtapi: %w", err)
		}
	}
	return nil
}

func (a *API) purgeLog(ctx context.Context, _ string, _ <-chan struct{}) (time.Duration, error) {
	n, err := a.inner.PurgeLog(ctx)
	if n > 0 {
		a.logger.InfoContext(ctx, purgedMessage, "events", n)
	}
	return 0, err
}

func (a *API) importsJob(service *imports.Service) func(context.Context, string, <-chan struct{}) (time.Duration, error) {
	return func(ctx context.Context, _ string, _ <-chan struct{}) (time.Duration, error) {
		ready, next, err := service.Sweep(ctx)
		for _, id := range ready {
			if failed := a.jobs.Insert(ctx, importKind, id); failed != nil {
				err = failed
			}
		}
		return max(next, soon), err
	}
}

func importJob(service *imports.Service) func(context.Context, string, <-chan struct{}) (time.Duration, error) {
	return func(ctx context.Context, id string, stopping <-chan struct{}) (time.Duration, error) {
		for more := true; more; {
			select {
			case <-stopping:
				return soon, nil
			default:
			}
			var err error
			if more, err = service.Step(ctx, id); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}
}

// wakeImports inserts the job that starts imports whenever the worker is woken, until ctx ends.
func (a *API) wakeImports(ctx context.Context) {
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.importer.wake:
			again = time.After(wakeAgain)
		case <-again:
			again = nil
		}
		call, stop := context.WithTimeout(ctx, wakeTimeout)
		err := a.jobs.Insert(call, importsKind, "")
		stop()
		if err != nil && ctx.Err() == nil {
			a.logger.WarnContext(ctx, "scheduled imports were not started: the next attempt is within a minute", "err", err)
		}
	}
}
