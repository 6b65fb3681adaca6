package serving

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// Closing collects the close functions of started services and runs the functions once, in reverse order.
type Closing struct {
	steps     []func(context.Context) error
	databases []*sqldb.DB
	once      sync.Once
	err       error
}

// OnClose adds a close function. The caller adds the function immediately after it has started the service that the function stops.
func (c *Closing) OnClose(f func(context.Context) error) { c.steps = append(c.steps, f) }

// CloseAll runs all close functions, even if one returns an error. A second call waits for the first and returns the same error.
func (c *Closing) CloseAll(ctx context.Context) error {
	c.once.Do(func() {
		for _, step := range slices.Backward(c.steps) {
			c.err = errors.Join(c.err, step(ctx))
		}
	})
	return c.err
}

// OpenDatabase opens a database, which CloseAll closes.
func (c *Closing) OpenDatabase(ctx context.Context, databaseURL string, log *slog.Logger) (*sqldb.DB, error) {
	db, err := sqlopen.Open(ctx, databaseURL, sqlopen.Options{Logger: log})
	if err != nil {
		return nil, err
	}
	c.databases = append(c.databases, db)
	c.OnClose(func(context.Context) error { return db.Close() })
	return db, nil
}

// ReleaseMemory returns to the system the memory that only the start has used. A server calls it once, some seconds after the start.
func (c *Closing) ReleaseMemory() {
	for _, db := range c.databases {
		if err := sqlopen.ReleaseMemory(db); err != nil {
			db.Logger().Warn("memory of the database not released", "error", err)
		}
	}
	debug.FreeOSMemory() // most of the heap is garbage of the start, which the runtime would return only after minutes
	returnProgram()
}
