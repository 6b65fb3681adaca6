package docstore

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// Windows counts events in fixed windows of time, for example requests for a rate limit. On PostgreSQL, all processes that use the database
// count in the same windows. A program passes it to Open like a collection. On SQLite, which one process uses, the table does not exist.
//
// The table is not logged: a count waits for no disk. A crash or a failover of PostgreSQL therefore starts new windows.
type Windows struct{ name string }

var _ Table = Windows{}

// NewWindows declares windows that are stored in a table of this name.
func NewWindows(name string) Windows { return Windows{name} }

// Window is the state of a window after an event.
type Window struct {
	Ends    time.Time
	Count   int // number of accepted events in the window
	Refused int // number of rejected events in the window; unless it is 0, this event was rejected
}

const windowsSchemaSQL = `CREATE UNLOGGED TABLE IF NOT EXISTS {%s} (
	name TEXT COLLATE "C" PRIMARY KEY, ends BIGINT NOT NULL, count BIGINT NOT NULL, refused BIGINT NOT NULL) WITH (fillfactor = 50)`

// countSQL counts an event in one statement. A window is over if it has ended, and also if it would end clearly later than a window that
// starts now: the clock was then set back. Times are in milliseconds.
const countSQL = `INSERT INTO {%[1]s} AS w (name, ends, count, refused) VALUES (?, CAST(? AS BIGINT) + CAST(? AS BIGINT), 1, 0)
	ON CONFLICT (name) DO UPDATE SET
		ends = CASE WHEN w.ends <= excluded.ends - ? OR w.ends > excluded.ends + ? THEN excluded.ends ELSE w.ends END,
		count = CASE WHEN w.ends <= excluded.ends - ? OR w.ends > excluded.ends + ? THEN 1 WHEN w.count >= ? THEN w.count ELSE w.count + 1 END,
		refused = CASE WHEN w.ends <= excluded.ends - ? OR w.ends > excluded.ends + ? THEN 0 WHEN w.count >= ? THEN w.refused + 1 ELSE 0 END
	RETURNING ends, count, refused`

// ClockDifference returns by how much the times of two events of one window may seem to run backwards: the clocks of two processes differ,
// and an event can be counted before an earlier one. A larger step means that the clock was set back.
func ClockDifference(length time.Duration) time.Duration { return length / 10 }

// Count counts an event at the time now in the window of a name, with one statement. A window has the given length and accepts at most
// limit events; limit is at least 1. The store must be Shared.
func (w Windows) Count(ctx context.Context, s *Store, name string, limit int, length time.Duration, now time.Time) (Window, error) {
	var out Window
	var ends int64
	millis, difference := length.Milliseconds(), ClockDifference(length).Milliseconds()
	err := s.db.Wrap(s.db.Writer()).QueryRow(ctx, fmt.Sprintf(countSQL, w.name),
		name, now.UnixMilli(), millis, millis, difference, millis, difference, limit, millis, difference, limit).
		Scan(&ends, &out.Count, &out.Refused)
	if err != nil {
		return out, fmt.Errorf("docstore: count in %s: %w", w.name, err)
	}
	out.Ends = time.UnixMilli(ends)
	return out, nil
}

// Name implements Table.
func (w Windows) Name() string { return w.name }

func (w Windows) core() *table { return newTable(w.name, nil) }

func (w Windows) open(ctx context.Context, tx *sqldb.Tx, _ *slog.Logger) error {
	if tx.Dialect() != sqldb.Postgres {
		return nil
	}
	if err := checkOwn(ctx, tx, w.name, []string{"name", "ends", "count", "refused"}); err != nil {
		return err
	}
	return execAll(ctx, tx, fmt.Sprintf(windowsSchemaSQL, w.name))
}

func (w Windows) drop(ctx context.Context, tx *sqldb.Tx) error {
	return execAll(ctx, tx, "DROP TABLE IF EXISTS {"+w.name+"}")
}

// clear implements Table. Windows are not part of the content: they continue.
func (w Windows) clear(context.Context, *Tx) error { return nil }
