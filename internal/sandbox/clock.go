package sandbox

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/sandboxapi"
)

// clock is the one clock of the sandbox: the real time and a distance that only grows. Whatever compares times or writes them down
// asks it: the management API, its documents and log, the engine with its leases and back-offs, the tokens and resources of the SCIM
// servers. What waits without comparing does not: time-outs of the network, the intervals of background work, which is woken instead
// when the clock is moved, and ids of SCIM resources, which only have to grow.
type clock struct {
	ahead atomic.Int64 // of the real time, in nanoseconds

	kept  docstore.Collection[keptClock]
	store *docstore.Store // nil before load
	// moved is told that the clock was.
	moved func()

	mu sync.Mutex // held while the clock is moved
}

var _ sandboxapi.Clock = (*clock)(nil)

// keptClock is how far the clock was moved, so that a later run does not go back behind what is stored.
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

// Now implements sandboxapi.Clock.
func (c *clock) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// lastYear is the last one that timestamps can show.
const lastYear = 9999

// Advance implements sandboxapi.Clock. The distance is stored before anybody sees the new time.
func (c *clock) Advance(ctx context.Context, by time.Duration) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ahead := c.ahead.Load()
	if by < 0 || ahead > math.MaxInt64-int64(by) || c.Now().Add(by).Year() > lastYear {
		return time.Time{}, sandboxapi.ErrClockRange
	}
	ahead += int64(by)
	err := c.store.Update(ctx, func(tx *docstore.Tx) error {
		_, err := c.kept.Update(ctx, tx, settingsID, 0, keptClock{Ahead: ahead})
		if errors.Is(err, docstore.ErrNotFound) {
			_, err = c.kept.Insert(ctx, tx, settingsID, keptClock{Ahead: ahead})
		}
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	c.ahead.Store(ahead)
	c.moved()
	return c.Now(), nil
}
