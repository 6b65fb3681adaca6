package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/mgmtapi"
)

// drainPoll is the interval at which a drain checks whether work is left.
const drainPoll = 10 * time.Millisecond

// work reports the state of the engine's work to the sandbox API.
type work struct {
	engine *provision.Engine
	bridge *bridge
	names  control.Names
	// replicated reports whether engines of other processes may work on the same applications.
	replicated bool
	now        func() time.Time

	mu     sync.Mutex
	owners map[string]ownedLane // by app
}

// ownedLane is whether an engine has a lane, as a request has read it.
type ownedLane struct {
	owned   bool
	request string
}

var _ sandboxport.Work = (*work)(nil)

// poll calls done every drainPoll until done returns true or an error, or ctx ends.
func poll(ctx context.Context, done func() (bool, error)) error {
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	for {
		if yes, err := done(); err != nil || yes {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// syncing reports whether a sequence of a user is running, or the target has accepted a change and not yet carried it out. The second case
// requires a query, which is omitted for assignments without a pending result.
//
// The sequences of the engine of another replica are not visible here. With replicas, therefore, while an engine has the lane of the
// application, all users with work that it may start now count as syncing, on every replica.
func (w *work) syncing(ctx context.Context, a mgmtapi.Account) bool {
	if w.engine.Tasks().Running(a.App, engine.User, a.ID) {
		return true
	}
	owned := w.owned(ctx, a.App)
	if !a.Waiting && !owned {
		return false
	}
	s, err := w.engine.State(ctx, a.App, engine.User, a.ID)
	switch {
	case err != nil:
		return false
	case s.Status == engine.StatusPending:
		return true
	}
	return owned && !s.NextAt.IsZero() && !s.NextAt.After(w.now())
}

// owned reports whether the engine of a replica has the lane of an application. Without replicas, it returns false.
func (w *work) owned(ctx context.Context, app string) bool {
	if !w.replicated {
		return false
	}
	request := rest.RequestID(ctx)
	w.mu.Lock()
	known := w.owners[app]
	w.mu.Unlock()
	if known.request != request || request == "" { // a request reads the owner once, however many assignments its response has
		l, err := w.engine.Apps().Get(ctx, app)
		if err != nil {
			return false
		}
		known = ownedLane{l.Owner != "", request}
		w.mu.Lock()
		if w.owners == nil || len(w.owners) >= maxOwners {
			w.owners = map[string]ownedLane{}
		}
		w.owners[app] = known
		w.mu.Unlock()
	}
	return known.owned
}

// maxOwners is the maximum number of cached owners.
const maxOwners = 1000

// Drain implements sandboxport.Work. Work includes events in the outbox and background work of earlier requests. Drain first counts the
// pending work of the management API and then that of the engine, so that it also counts an event that the relay passes to the engine
// between the two counts.
func (w *work) Drain(ctx context.Context) (left sandboxport.Left, err error) {
	other := 0 // number of pending items outside the engine
	err = poll(ctx, func() (bool, error) {
		unfinished, err := w.bridge.wanted.Unfinished(ctx)
		if err != nil {
			return false, err
		}
		other = unfinished.Total()
		due, err := w.engine.Apps().Pending(ctx)
		if err != nil {
			return false, err
		}
		left.Pending = other + due
		return left.Pending == 0, nil
	})
	if err == nil {
		err = w.engine.Wait(ctx, "") // wait until the engine has stored the results of its last sequences
	}
	if err == nil && w.replicated {
		err = w.quiet(ctx)
	}
	if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return left, err
	}
	held, heldErr := w.held(context.WithoutCancel(ctx))
	if held = min(held, other); held > 0 {
		left.Waiting = append(left.Waiting,
			fmt.Sprintf("held: %d (users and applications with work on hold); PUT /sandbox/v1/work releases it", held))
	}
	if other -= held; other > 0 {
		left.Waiting = append(left.Waiting, strconv.Itoa(other)+" changes or imports are not processed yet")
	}
	waiting, err := control.DescribeWaiting(ctx, w.engine, w.names)
	left.Waiting = append(left.Waiting, waiting...)
	return left, errors.Join(ctx.Err(), heldErr, err)
}

// quietTime is the maximum time to wait for the release of lanes without pending work.
const quietTime = 10 * time.Second

// quiet waits until no engine has the lane of an application. An engine releases a lane after it has reported the results of the last
// sequences, so that the results of the engines of other replicas are also reported when quiet returns.
func (w *work) quiet(ctx context.Context) error {
	limit := time.Now().Add(quietTime)
	return poll(ctx, func() (bool, error) {
		busy := false
		err := w.bridge.wanted.Apps(ctx, func(a mgmtapi.App) error {
			l, err := w.engine.Apps().Get(ctx, a.ID)
			if errors.Is(err, engine.ErrNotFound) {
				return nil
			}
			busy = busy || l.Owner != ""
			return err
		})
		return !busy || time.Now().After(limit), err
	})
}

// waitTime is the maximum time to describe the remaining work after the caller's deadline.
const waitTime = 5 * time.Second

// held returns the number of users and applications with work on hold if PUT /sandbox/v1/work has put work on hold, otherwise 0.
func (w *work) held(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, waitTime)
	defer cancel()
	unfinished, err := w.bridge.wanted.Unfinished(ctx)
	if err != nil || !unfinished.Held {
		return 0, err
	}
	return unfinished.Requests, nil
}
