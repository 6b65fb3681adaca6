package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/mgmtapi"
)

// drainPoll is how often a drain looks whether work is left.
const drainPoll = 10 * time.Millisecond

// work gives the management API's sandbox surface its view of the engine.
type work struct {
	engine *provision.Engine
	bridge *bridge
	names  control.Names
}

var _ sandboxport.Work = (*work)(nil)

// poll asks until the answer is yes.
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

// syncing reports whether a sequence of a user is running, or the target has accepted a change and not carried it out yet. The latter is
// a query, which is not made for an assignment that has nothing to wait for.
func (w *work) syncing(ctx context.Context, a mgmtapi.Account) bool {
	if w.engine.Tasks().Running(a.App, engine.User, a.ID) {
		return true
	}
	if !a.Waiting {
		return false
	}
	s, err := w.engine.State(ctx, a.App, engine.User, a.ID)
	return err == nil && s.Status == engine.StatusPending
}

// Drain implements sandboxport.Work. An event that is still in the outbox counts as work, and so does what requests have left
// to do. They are counted in the order in which one becomes the other, so that none is missed.
func (w *work) Drain(ctx context.Context) (left sandboxport.Left, err error) {
	other := 0 // work that is not the engine's
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
		err = w.engine.Wait(ctx, "") // until the last results are written down, too
	}
	if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return left, err
	}
	held, told := w.held(context.WithoutCancel(ctx))
	if held = min(held, other); held > 0 {
		left.Waiting = append(left.Waiting,
			fmt.Sprintf("held: %d (users and applications with work that is held); PUT /sandbox/v1/work releases it", held))
	}
	if other -= held; other > 0 {
		left.Waiting = append(left.Waiting, strconv.Itoa(other)+" changes or imports were not taken up yet")
	}
	waiting, err := control.DescribeWaiting(ctx, w.engine, w.names)
	left.Waiting = append(left.Waiting, waiting...)
	return left, errors.Join(ctx.Err(), told, err)
}

// waitTime bounds the look at who waits, after the time of the caller was up.
const waitTime = 5 * time.Second

// held counts the users and applications with work while /sandbox/v1/work holds that work, and 0 otherwise.
func (w *work) held(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, waitTime)
	defer cancel()
	unfinished, err := w.bridge.wanted.Unfinished(ctx)
	if err != nil || !unfinished.Held {
		return 0, err
	}
	return unfinished.Requests, nil
}
