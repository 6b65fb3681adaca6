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

// clock is the only clock of the sandbox: the real time plus an offset, which is never negative. All services that compare or store times
// use this clock: the management API for its documents and log, the engine for its leases and backoffs, the SCIM servers for their tokens
// and resources. Three things use the real time: network timeouts, the intervals of background work (which Move wakes), and ids of SCIM
// resources, which only have to increase.
//
// Several sandboxes on one PostgreSQL database have the same offset: that of the stored document, see following.
type clock struct {
	offset atomic.Int64 // offset to the real time, in nanoseconds

	stored docstore.Collection[storedClock]
	store  *docstore.Store // nil until load
	// moved is called after this sandbox has moved the clock, forward or backward.
	moved func(ctx context.Context, back bool) error

	mu sync.Mutex // held while the clock is moved

	applying sync.Mutex
	rev      int64 // revision of the document with the offset
}

var _ sandboxport.Clock = (*clock)(nil)

// storedClock is the stored offset of the clock to the real time. A later run uses the same offset, so that the clock of that run is not
// behind the stored times.
type storedClock struct {
	Ahead int64 `json:"ahead"`
}

func clockCollection() docstore.Collection[storedClock] {
	return docstore.NewCollection[storedClock]("sandbox_clock")
}

// load restores the offset of the last run with this database.
func (c *clock) load(ctx context.Context, store *docstore.Store) error {
	doc, err := c.stored.Get(ctx, store.Reader(), settingsID)
	if err != nil && !errors.Is(err, docstore.ErrNotFound) {
		return err
	}
	c.store = store
	c.apply(&doc)
	return nil
}

// create stores the document of the offset if it is missing, so that it has a version.
func (c *clock) create(ctx context.Context) error {
	return c.store.Update(ctx, func(tx *docstore.Tx) error {
		_, err := c.stored.Get(ctx, tx, settingsID)
		if errors.Is(err, docstore.ErrNotFound) {
			_, err = c.stored.Insert(ctx, tx, settingsID, storedClock{})
		}
		return err
	})
}

// read applies the stored offset and reports whether it has changed.
func (c *clock) read(ctx context.Context) (v docstore.Version, moved bool, err error) {
	doc, err := c.stored.Get(ctx, c.store.Reader(), settingsID)
	if err != nil {
		return v, false, err
	}
	return c.stored.Version(doc), c.apply(&doc), nil
}

// apply sets the offset, unless a later revision of the document was applied already. It reports whether the offset has changed.
func (c *clock) apply(doc *docstore.Doc[storedClock]) (moved bool) {
	c.applying.Lock()
	defer c.applying.Unlock()
	if doc.Rev < c.rev {
		return false
	}
	c.rev = doc.Rev
	return c.offset.Swap(doc.Value.Ahead) != doc.Value.Ahead
}

// Now implements sandboxport.Clock.
func (c *clock) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// lastYear is the last year that timestamps can represent.
const lastYear = 9999

// Real implements sandboxport.Clock.
func (c *clock) Real() time.Time { return time.Now() }

// Move implements sandboxport.Clock. The offset is stored before any caller reads the new time.
func (c *clock) Move(
	ctx context.Context, by time.Duration, before func(context.Context, sqldb.Execer, time.Time) error,
) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var doc docstore.Doc[storedClock]
	back := false
	err := c.store.Update(ctx, func(tx *docstore.Tx) error {
		stored, err := c.stored.Get(ctx, tx, settingsID)
		fresh := errors.Is(err, docstore.ErrNotFound)
		if err != nil && !fresh {
			return err
		}
		ahead := stored.Value.Ahead // not that of the memory, because another sandbox may have moved the clock
		// Reject the largest duration: time.Time.Sub returns it for differences that exceed the range of a duration.
		if by == math.MaxInt64 || by > 0 && ahead > math.MaxInt64-int64(by) || c.Now().Add(by).Year() > lastYear {
			return sandboxport.ErrClockRange
		}
		moved := storedClock{Ahead: max(0, ahead+int64(by))}
		back = moved.Ahead < ahead
		if err := before(ctx, tx.SQL().Execer(), time.Now().Add(time.Duration(moved.Ahead))); err != nil {
			return err
		}
		if fresh {
			doc, err = c.stored.Insert(ctx, tx, settingsID, moved)
		} else {
			doc, err = c.stored.Update(ctx, tx, settingsID, stored.Rev, moved)
		}
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	c.apply(&doc)
	return c.Now(), c.moved(ctx, back)
}

// clockMoved wakes all work that is scheduled for a time. After a step back, such a time may be years ahead. The engine then retries all
// scheduled principals, and discards the learned properties of targets, which would otherwise expire far too late.
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
