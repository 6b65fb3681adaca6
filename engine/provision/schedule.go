package provision

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine/jobs"
)

// schedule is the scheduler of an engine.
type schedule struct {
	of      jobs.Scheduler
	missing error // set if the engine has no scheduler

	stopping chan struct{} // closed when Stop begins
	ended    chan struct{} // closed when the scheduler has stopped
	once     sync.Once     // closes stopping
	last     sync.Once     // closes ended
	starting sync.WaitGroup
}

// open selects the scheduler of the options, or the default one.
func (s *schedule) open(o Options, can capabilities) {
	s.stopping, s.ended = make(chan struct{}), make(chan struct{})
	if s.of = o.Jobs; s.of != nil {
		return
	}
	able, err := can.jobs.get()
	if err != nil {
		s.missing = err
		return
	}
	kept, err := able.Jobs()
	if err != nil {
		s.missing = fmt.Errorf("engine: Options.Jobs is not set: %w", err)
		return
	}
	s.of = jobs.New(jobs.Options{Store: kept, Logger: o.Logger})
}

// registerJobs registers the kinds of jobs.
func (e *Engine) registerJobs() error {
	if e.schedule.of == nil {
		return nil
	}
	var kinds []jobs.Kind
	if _, err := e.can.imports.get(); err == nil {
		kinds = append(kinds, e.imports.Job(), e.imports.Sweep())
	}
	if e.overdue != nil {
		kinds = append(kinds, e.overdue.Job())
	}
	return e.schedule.of.Register(kinds...)
}

// startPause is the time between two attempts to start the scheduler.
const startPause = time.Second

// startJobs starts the scheduler. After a failure it retries in the background, until Stop.
func (e *Engine) startJobs(ctx context.Context) {
	s := &e.schedule
	if s.of == nil {
		if e.overdue != nil {
			e.o.Logger.WarnContext(ctx, "overdue deactivations are not reported", "error", s.missing)
		}
		return
	}
	err := s.of.Start(ctx)
	if err == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	s.starting.Go(func() {
		for err != nil {
			e.o.Logger.WarnContext(ctx, "the scheduler of the jobs has not started yet", "error", err)
			pause := time.NewTimer(startPause)
			select {
			case <-s.stopping:
				pause.Stop()
				return
			case <-pause.C:
			}
			err = s.of.Start(ctx)
		}
	})
}

// stop stops the scheduler.
func (s *schedule) stop(ctx context.Context) error {
	s.once.Do(func() { close(s.stopping) })
	defer s.last.Do(func() { close(s.ended) })
	s.starting.Wait()
	if s.of == nil {
		return nil
	}
	return s.of.Stop(ctx)
}
