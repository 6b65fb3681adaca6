package imports

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/appprofile"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
)

// Options are the dependencies of the service.
type Options struct {
	Engine Engine
	// Hook calls the inline hook of imports.
	Hook *calls.Caller
	// Create creates a user of the default type. Update changes attributes of a user, where nil removes one, and reports whether the user
	// changed.
	Create func(ctx context.Context, tx *docstore.Tx, profile map[string]any, activate bool) (docstore.Doc[model.User], error)
	Update func(ctx context.Context, tx *docstore.Tx, user docstore.Doc[model.User], profile map[string]any) (bool, error)
	// TakeOver assigns an account to a user, and assigns the application to the user if necessary.
	TakeOver func(ctx context.Context, tx *docstore.Tx, app, user string, a TakenOver) error
}

// TakenOver is an account that is assigned to a user.
type TakenOver struct {
	ID, UserName string
	// Profile is the desired profile of the account, Shown its profile on the target.
	Profile, Shown map[string]any
}

// Service runs imports.
type Service struct {
	model.Deps
	o        Options
	programs appprofile.Programs
	worker   string // random name of this process, for claims of jobs
}

// New returns the service and registers its event handlers.
func New(d model.Deps, o Options) *Service {
	s := &Service{Deps: d, o: o, worker: rand.Text()}
	model.On(d.Feed, func(ctx context.Context, tx *docstore.Tx, e model.AppChanged) error {
		if e.Ended {
			return s.drop(ctx, tx, e.App)
		}
		if !e.Deleted {
			return nil
		}
		if _, err := s.ImportDecisions.DeleteWhere(ctx, tx, docstore.Eq(model.ImportDecisionByApp, e.App)); err != nil {
			return err
		}
		if _, err := s.DueImports.DeleteWhere(ctx, tx, docstore.IDs(e.App)); err != nil {
			return err
		}
		_, err := s.ImportJobs.DeleteWhere(ctx, tx, docstore.Eq(model.ImportJobByApp, e.App))
		return err
	})
	return s
}

// Begin starts an import of the users, or the groups, of an app and returns its run.
func (s *Service) Begin(ctx context.Context, app string, groups bool) (run string, err error) {
	return s.start(ctx, app, groups, nil)
}

// start starts an import. due is the claim of a scheduled import, nil for an import on request.
func (s *Service) start(ctx context.Context, app string, groups bool, due *model.DueImport) (run string, err error) {
	open, err := s.ImportJobs.Count(ctx, s.Store.Reader(), docstore.Eq(model.ImportJobByOpen, app))
	if err != nil {
		return "", err
	}
	if open > 0 && !groups {
		return "", rest.Failf(rest.CodeMoved, "An import of the application is running.")
	}
	conn, err := model.Optional(ctx, s.Store.Reader(), s.Connections, app)
	if err != nil {
		return "", err
	}
	if conn != nil && !conn.Value.Enabled {
		return "", rest.Invalid("feature", model.ConnectionOff)
	}
	settings := model.DefaultImport
	if conn != nil {
		settings = conn.Value.ImportSettings()
	}
	if run, err = s.o.Engine.Import(ctx, app, groups, settings); err != nil {
		return "", err
	}
	return run, s.Deps.Update(ctx, func(tx *docstore.Tx) error {
		if due != nil {
			if err := s.finishClaim(ctx, tx, app, due); err != nil {
				return err
			}
		}
		if !groups {
			if _, err := s.ImportDecisions.DeleteWhere(ctx, tx, docstore.Eq(model.ImportDecisionByApp, app)); err != nil {
				return err
			}
		}
		_, err := s.ImportJobs.Insert(ctx, tx, model.ImportJobID(app, run),
			model.ImportJob{App: app, Run: run, Groups: groups, Base: rest.URL(ctx), Open: true})
		return err
	})
}

// Job returns the state and the counts of an import, nil if this service did not start the run.
func (s *Service) Job(ctx context.Context, app, run string) (*model.ImportJob, error) {
	job, err := model.Optional(ctx, s.Store.Reader(), s.ImportJobs, model.ImportJobID(app, run))
	if err != nil || job == nil {
		return nil, err
	}
	return &job.Value, nil
}

// Work starts the imports that are due by a schedule, processes one batch of each open import, and reports whether there may be more. It
// may call an inline hook, which can take some seconds.
func (s *Service) Work(ctx context.Context) (more bool, err error) {
	ready, next, err := s.Sweep(ctx)
	more = next == 0
	failures := []error{err}
	for _, id := range ready {
		if mine, err := s.claimJob(ctx, id); err != nil || !mine {
			failures = append(failures, err)
			continue
		}
		left, err := s.Step(ctx, id)
		more = more || left
		failures = append(failures, err) // report the error at the end, so that the other imports continue
	}
	return more, errors.Join(failures...)
}

const (
	// sweepInterval is the maximum time between two calls of Sweep.
	sweepInterval = time.Minute
	// readInterval is the time between two calls of Sweep while the engine reads a list.
	readInterval = time.Second
)

// Sweep starts the imports that are due by a schedule. It returns the ids of the open imports whose list the engine has read, for Step, and
// the time after which Sweep is to be called again.
func (s *Service) Sweep(ctx context.Context) (ready []string, next time.Duration, err error) {
	next, failed := s.startDue(ctx)
	failures := []error{failed}
	err = model.Each(ctx, s.Store.Reader(), s.ImportJobs, docstore.NotNull(model.ImportJobByOpen),
		func(job docstore.Doc[model.ImportJob]) error {
			run, err := s.state(ctx, job.Value)
			switch {
			case err != nil:
				failures = append(failures, err)
			case run.State == Running:
				next = min(next, readInterval)
			default:
				ready = append(ready, job.ID)
			}
			return nil
		})
	return ready, next, errors.Join(append(failures, err)...)
}

// Step processes the next batch of an open import whose list the engine has read. It reports whether there may be more.
func (s *Service) Step(ctx context.Context, id string) (more bool, err error) {
	job, err := model.Optional(ctx, s.Store.Reader(), s.ImportJobs, id)
	if err != nil || job == nil || !job.Value.Open {
		return false, err
	}
	run, err := s.state(ctx, job.Value)
	if err != nil || run.State == Running {
		return false, err
	}
	if err := s.processBatch(rest.WithBaseURL(ctx, job.Value.Base), *job, run); err != nil {
		return false, fmt.Errorf("import %s of %s: %w", job.Value.Run, job.Value.App, err)
	}
	return true, nil
}

// state returns the progress of an import in the engine.
func (s *Service) state(ctx context.Context, job model.ImportJob) (Run, error) {
	run, err := s.o.Engine.State(ctx, job.App, job.Run)
	if missing, ok := errors.AsType[*rest.Error](err); ok && missing.Code == rest.CodeNotFound {
		return Run{State: Failed, Error: "The engine has no record of the import"}, nil
	}
	if err != nil {
		return run, fmt.Errorf("import %s of %s: %w", job.Run, job.App, err)
	}
	return run, nil
}

// claimJob claims an open job for jobClaim and reports whether it succeeded, so that no other process that calls Work calls the hooks for
// the same accounts. If the processes cannot share the database, it claims nothing.
func (s *Service) claimJob(ctx context.Context, id string) (mine bool, err error) {
	if !s.Store.Shared() {
		return true, nil
	}
	err = s.Deps.Update(ctx, func(tx *docstore.Tx) error {
		mine = false
		doc, err := model.Optional(ctx, tx, s.ImportJobs, id)
		if err != nil || doc == nil || !doc.Value.Open {
			return err
		}
		now, job := s.Now(), doc.Value
		left := job.Claimed.Sub(now)
		switch current := left > 0 && left <= jobClaim; { // the clock may have been set back
		case current && job.Worker != s.worker:
			return nil
		case current && left > jobClaim/2:
			mine = true
			return nil
		}
		job.Worker, job.Claimed = s.worker, now.Add(jobClaim)
		_, err = s.ImportJobs.Update(ctx, tx, id, doc.Rev, job)
		mine = err == nil
		return err
	})
	if err != nil {
		return false, fmt.Errorf("claim import %s: %w", id, err)
	}
	return mine, nil
}

// jobClaim is longer than the calls of hooks for one batch usually take. After it, another process continues the job of a process that has
// ended.
const jobClaim = time.Minute

// processBatch processes the next batch of a job. It closes the job if the list of accounts could not be read or is completely processed.
func (s *Service) processBatch(ctx context.Context, job docstore.Doc[model.ImportJob], run Run) error {
	if run.State != Done || job.Value.Groups {
		return s.end(ctx, job, run)
	}
	accounts, err := s.o.Engine.Accounts(ctx, job.Value.App, job.Value.Run, Query{After: job.Value.After, Limit: batch})
	if err != nil {
		return err
	}
	if len(accounts) == 0 {
		return s.end(ctx, job, run)
	}
	about, err := s.loadContext(ctx, s.Store.Reader(), job.Value.App)
	if err != nil {
		return err
	}
	if about == nil { // the application was deleted during the import
		return s.end(ctx, job, Run{State: Failed, Error: "The application was deleted"})
	}
	steps := make([]*step, 0, len(accounts))
	for _, a := range accounts {
		made, err := s.prepare(ctx, about, job.Value.Run, a)
		if err != nil {
			return err
		}
		steps = append(steps, made)
	}
	after := job.Value.After
	if err = s.apply(ctx, job.ID, after, about, steps); !isRejection(err) {
		return err
	}
	for _, one := range steps { // the transaction rejected one of the accounts: process each account in its own transaction
		err := s.apply(ctx, job.ID, after, about, []*step{one})
		if isRejection(err) {
			one.problem = rejectionText(err)
			err = s.apply(ctx, job.ID, after, about, []*step{one})
		}
		if err != nil {
			return err
		}
		after = one.account.ID
	}
	return nil
}

// batch is the number of accounts per transaction.
const batch = 50

// drop closes the open imports of an app whose connection was deactivated. Users that were created already remain.
func (s *Service) drop(ctx context.Context, tx *docstore.Tx, app string) error {
	return model.Each(ctx, tx, s.ImportJobs, docstore.Eq(model.ImportJobByOpen, app), func(job docstore.Doc[model.ImportJob]) error {
		const why = "The connection was deactivated before all accounts were processed"
		job.Value.Note(why)
		return s.close(ctx, tx, job, Run{State: Failed, Error: why})
	})
}

// end closes a job if it is open.
func (s *Service) end(ctx context.Context, job docstore.Doc[model.ImportJob], run Run) error {
	return s.Deps.Update(ctx, func(tx *docstore.Tx) error {
		now, err := model.Optional(ctx, tx, s.ImportJobs, job.ID)
		if err != nil || now == nil || !now.Value.Open {
			return err
		}
		return s.close(ctx, tx, *now, run)
	})
}

func (s *Service) close(ctx context.Context, tx *docstore.Tx, job docstore.Doc[model.ImportJob], run Run) error {
	job.Value.Open, job.Value.Ended = false, s.Now()
	if _, err := s.ImportJobs.Update(ctx, tx, job.ID, job.Rev, job.Value); err != nil {
		return err
	}
	app, err := model.Optional(ctx, tx, s.Apps, job.Value.App)
	if err != nil || app == nil {
		return err
	}
	entry := audit.Entry{Type: audit.AppUserImport, Targets: []model.LogParty{audit.App(app.ID, &app.Value)},
		Debug: map[string]string{"importId": job.Value.Run}}
	switch {
	case run.State != Done:
		entry.Failure = run.Error
		if entry.Failure == "" {
			entry.Failure = "The import has failed"
		}
		if job.Value.Groups {
			entry.Type = audit.GroupImport
		}
	case job.Value.Groups:
		entry.Type = audit.GroupImport
	default:
		return nil // a completed import of users has no entry of its own: each account has one
	}
	return audit.Write(ctx, tx, s.Deps, entry)
}

// isRejection reports whether an error means that the change is invalid, not that the service failed.
func isRejection(err error) bool {
	if e, ok := errors.AsType[*rest.Error](err); ok {
		return e.Status() < 500
	}
	_, unique := errors.AsType[*docstore.UniqueError](err)
	return unique
}

// rejectionText returns a rejection worded for administrators.
func rejectionText(err error) string {
	if e, ok := errors.AsType[*rest.Error](err); ok {
		return e.Text()
	}
	if e, ok := errors.AsType[*docstore.UniqueError](err); ok {
		return e.Index + ": Another object has the value"
	}
	return err.Error()
}
