package provision

import (
	"context"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/lane"
	"github.com/scimwright/scimwright/engine/jobs"
)

// Processes lists the engines that share the store, by start. An engine that has died is listed for about a minute, and as long as it still
// has lanes: its Until has then passed.
func (e *Engine) Processes(ctx context.Context) ([]engine.Process, error) {
	found, err := e.o.Store.Processes(ctx)
	if p := e.member.Process(); p != nil {
		for i := range found {
			if found[i].ID == p.ID() {
				found[i].InFlight = e.running.Count() // more recent than the last heartbeat
				if found[i].Until.IsZero() {          // no heartbeats
					found[i].Running = float64(e.dispatcher.Load().Running)
				}
			}
		}
	}
	return found, err
}

// load returns the current work of the engine.
func (e *Engine) load() (lanes lane.Load, inFlight int) {
	return e.dispatcher.Load(), e.running.Count()
}

// taken tells the observer about a takeover.
func (e *Engine) taken(ctx context.Context, t engine.Takeover) {
	if o, ok := e.o.Observer.(engine.TakeoverObserver); ok {
		o.Takeover(ctx, t)
	}
}

// Jobs lists jobs of the scheduler, newest first. Without a scheduler it returns an error that wraps errors.ErrUnsupported.
func (e *Engine) Jobs(ctx context.Context, q jobs.Query) ([]jobs.Info, error) {
	if e.schedule.of == nil {
		return nil, e.schedule.missing
	}
	return e.schedule.of.List(ctx, q)
}
