package provision

import (
	"context"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// Processes lists the engines that share the store, by start. An engine that has died is listed for about a minute, and as long as it still
// has lanes: its Until has then passed.
func (e *Engine) Processes(ctx context.Context) ([]engine.Process, error) {
	found, err := e.o.Store.Processes(ctx)
	if p := e.member.Process(); p != nil {
		for i := range found {
			if found[i].ID == p.ID() {
				found[i].InFlight = e.running.Count() // more recent than the last heartbeat
			}
		}
	}
	return found, err
}

// load returns the current work of the engine.
func (e *Engine) load() store.Load {
	return store.Load{Lanes: e.dispatcher.Running(), InFlight: e.running.Count()}
}
