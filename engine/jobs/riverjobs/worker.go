package riverjobs

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"github.com/scimwright/scimwright/engine/jobs"
)

// worker runs the jobs of one kind.
type worker struct {
	river.WorkerDefaults[args]
	s    *Scheduler
	kind jobs.Kind
}

// Timeout implements river.Worker.
func (w *worker) Timeout(*river.Job[args]) time.Duration {
	if w.kind.Timeout > 0 {
		return w.kind.Timeout
	}
	return -1
}

// NextRetry implements river.Worker.
func (w *worker) NextRetry(j *river.Job[args]) time.Time {
	return time.Now().Add(w.kind.Delay(j.Attempt))
}

// Work implements river.Worker.
func (w *worker) Work(ctx context.Context, j *river.Job[args]) error {
	ctx, release := w.s.held.add(ctx, j.ID, j.Attempt)
	defer release()
	err := w.kind.Work(ctx, jobs.Job{Kind: w.kind.Name, Key: j.Args.Key, Attempt: j.Attempt, Stopping: w.s.stopping})
	snooze, snoozed := errors.AsType[*jobs.SnoozeError](err)
	permanent, failed := errors.AsType[*jobs.PermanentError](err)
	switch {
	case errors.Is(context.Cause(ctx), errLost):
		// River stores a result of this attempt even if another one has begun. The result must not finish the job.
		return river.JobSnooze(w.s.o.Dead)
	case err == nil:
		return nil
	case snoozed:
		return river.JobSnooze(snooze.After)
	case failed: // River passes only errors after which it retries or discards a job to its error handler
		w.s.o.Logger.ErrorContext(ctx, "job failed", "kind", w.kind.Name, "key", j.Args.Key, "attempt", j.Attempt, "error", err)
		return river.JobCancel(permanent.Err)
	case ctx.Err() != nil && w.stops(): // Stop has canceled the job
		return river.JobSnooze(0)
	default:
		return err
	}
}

func (w *worker) stops() bool { return jobs.Job{Stopping: w.s.stopping}.Stops() }
