package sandbox

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sandboxport"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/mgmtapi"
)

// clock is the one clock of the sandbox: the real time and a distance, never a negative one. Whatever compares times or writes them down
// asks it: the management API, its documents and log, the engine with its leases and back-offs, the tokens and resources of the SCIM
// servers. What waits without comparing does not: time-outs of the network, the intervals of background work, which is woken instead
// when the clock is moved, and ids of SCIM resources, which only have to grow.
type clock struct {
	ahead atomic.Int64 // of the real time, in nanoseconds

	kept  docstore.Collection[keptClock]
	store *docstore.Store // nil before load
	// moved is called after the clock was moved, forward or back.
	moved func(ctx context.Context, back bool) error

	mu sync.Mutex // held while the clock is moved
}

var _ sandboxport.Clock = (*clock)(nil)

// keptClock is the distance of the clock to the real time. A later run continues with it, so as not to be behind what is stored.
type keptClock struct {
	Ahead int64 `json:"ahead"`
}

func clockCollection() docstore.Collection[keptClock] {
	return docstore.NewCollection[keptClock]("sandbox_clock")
}

// load goes on where the last run with the database was.
func (c *clock) load(ctx context.Context, store *docstore.Store) error {
	doc, err := c.kept.Get(ctx, store.Reader(), settingsID)
	if err != nil && !errors.Is(err, docstore.ErrNotFound) {
		return err
	}
	c.store = store
	c.ahead.Store(doc.Value.Ahead)
	return nil
}

// Now implements sandboxport.Clock.
func (c *clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// lastYear is the last one that timestamps can show.
const lastYear = 9999

// Real implements sandboxport.Clock.
func (c *clock) Real() time.Time { return time.Now() }

// Move implements sandboxport.Clock. The distance is stored before any caller sees the new time.
func (c *clock) Move(
	ctx context.Context, by time.Duration, before func(context.Context, sqldb.Execer, time.Time) error,
) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ahead := c.ahead.Load()
	if by > 0 && ahead > math.MaxInt64-int64(by) || c.Now().Add(by).Year() > lastYear {
		return time.Time{}, sandboxport.ErrClockRange
	}
	ahead = max(0, ahead+int64(by))
	err := c.store.Update(ctx, func(tx *docstore.Tx) error {
		if err := before(ctx, tx.SQL().Execer(), time.Now().Add(time.Duration(ahead))); err != nil {
			return err
		}
		_, err := c.kept.Update(ctx, tx, settingsID, 0, keptClock{Ahead: ahead})
		if errors.Is(err, docstore.ErrNotFound) {
			_, err = c.kept.Insert(ctx, tx, settingsID, keptClock{Ahead: ahead})
		}
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	back := ahead < c.ahead.Swap(ahead)
	return c.Now(), c.moved(ctx, back)
}

// clockMoved wakes what waits for a time. Before a step back that time may have been years ahead: the engine then tries again what waits,
// and forgets what it has learned about targets, because it would use that for too long.
func (p *parts) clockMoved(ctx context.Context, now time.Time, back bool) error {
	defer p.api.Wake()
	defer p.engine.Wake()
	if !back {
		return nil
	}
	return p.api.Wanted().Apps(ctx, func(app mgmtapi.App) error {
		query := engine.StateQuery{App: app.ID}
		for more := true; more; {
			page, err := p.engine.States(ctx, query)
			if err != nil {
				return err
			}
			for _, state := range page {
				if !state.NextAt.After(now) {
					continue
				}
				if err := p.engine.Tasks().Retry(ctx, app.ID, state.Kind, state.ID); err != nil && !errors.Is(err, engine.ErrNotFound) {
					return err
				}
			}
			if more = len(page) > 0; more {
				query.After = &page[len(page)-1]
			}
		}
		if err := p.engine.Targets().ResetLearned(ctx, app.ID); err != nil {
			return err
		}
		return p.engine.Apps().Kick(ctx, app.ID)
	})
}
