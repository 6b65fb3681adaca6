package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// clock returns the expression for the current time in milliseconds, by the clock of the database. On PostgreSQL it is the time of the
// statement: now() would be that of the beginning of the transaction, which may have waited. The processes of an SQLite database run on one
// machine.
func clock(d sqldb.Dialect) string {
	if d == sqldb.Postgres {
		return `CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`
	}
	return `CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS BIGINT)`
}

// validProcess returns the condition that a process is valid. Parameter: its id.
func validProcess(d sqldb.Dialect) string {
	if d == sqldb.Postgres {
		return `EXISTS (SELECT 1 FROM {process} p WHERE p.id = ? AND p.valid_until > ` + clock(d) + `)`
	}
	return `EXISTS (SELECT 1 FROM {process} p WHERE p.id = ?)`
}

// keepDead is the time for which a process is kept after its death. A claim that was sent before the death commits within this time, so
// that no lane belongs to a process that is not in the table.
const keepDead = time.Minute

// hasWork is the condition that a process p has lanes.
const hasWork = `EXISTS (SELECT 1 FROM {app_lane} l WHERE l.process = p.id AND l.process <> '')`

// Join implements store.Processes. On SQLite the process owns the database, so all others have ended.
func (s *Store) Join(ctx context.Context, j store.Joining) (p engine.Process, taken []store.Takeover, err error) {
	id, d := rand.Text(), s.db.Dialect()
	if d == sqldb.SQLite {
		if err := s.owner.take(ctx, s.db, id); err != nil {
			return p, nil, fmt.Errorf("sqlstore: join: %w", err)
		}
	}
	err = s.update(ctx, func(tx *sqldb.Tx) (err error) {
		if d == sqldb.SQLite {
			taken, err = takeEvery(ctx, tx, j.When, everyOwner)
			if err == nil {
				_, err = tx.Exec(ctx, `DELETE FROM {process}`)
			}
		} else if j.Replace {
			taken, err = replace(ctx, tx, j)
		}
		if err == nil && j.Replace {
			err = endOldLeases(ctx, tx, j.Name)
		}
		if err != nil {
			return err
		}
		until := `(SELECT now FROM c) + CAST(? AS BIGINT)`
		if d == sqldb.SQLite {
			until = `0 * ?` // no end
		}
		n, lease := lanesOf(taken), j.Lease.Milliseconds()
		var began, end int64
		err = tx.ExecReturning(ctx, []any{&began, &end}, `WITH c AS MATERIALIZED (SELECT `+clock(d)+` AS now) INSERT INTO {process}
			(id, name, lease, started_at, seen_at, valid_until, lanes, in_flight, takeovers, rechecks)
			VALUES (?, ?, ?, (SELECT now FROM c), (SELECT now FROM c), `+until+`, 0, 0, ?, 0) RETURNING started_at, valid_until`,
			id, text(j.Name), lease, lease, n)
		p = engine.Process{ID: id, Name: j.Name, Started: at(began), Seen: at(began), Until: at(end), Takeovers: n}
		return err
	})
	if err != nil {
		s.owner.leave(id)
		return engine.Process{}, nil, fmt.Errorf("sqlstore: join: %w", err)
	}
	return p, taken, nil
}

// replace ends the processes with the name, and takes their lanes over.
func replace(ctx context.Context, tx *sqldb.Tx, j store.Joining) ([]store.Takeover, error) {
	d := tx.Dialect()
	_, err := tx.Exec(ctx, `UPDATE {process} SET valid_until = `+clock(d)+` WHERE name = ? AND valid_until > `+clock(d), text(j.Name))
	if err != nil {
		return nil, err
	}
	return takeEvery(ctx, tx, j.When, `SELECT p.id, p.name FROM {process} p WHERE p.name = ? AND `+hasWork, text(j.Name))
}

func lanesOf(taken []store.Takeover) (n int64) {
	for _, t := range taken {
		n += int64(len(t.Apps))
	}
	return n
}

// endOldLeases ends the leases that an engine of an earlier version had under this name, as a restart of that version did.
func endOldLeases(ctx context.Context, tx *sqldb.Tx, name string) error {
	_, err := tx.Exec(ctx, `UPDATE {app_lane} SET epoch = epoch + 1, owner = '', lease_until = `+noLease+`
		WHERE owner = ? AND owner <> '' AND process = ''`, name)
	return err
}

// everyOwner selects the processes that have lanes, also those that are not in the table.
const everyOwner = `SELECT o.process, COALESCE(p.name, '')
	FROM (SELECT DISTINCT process FROM {app_lane} WHERE process <> '') o
	LEFT JOIN {process} p ON p.id = o.process`

// takeEvery takes over from the processes that a query selects: id and name.
func takeEvery(ctx context.Context, tx *sqldb.Tx, w store.When, query string, args ...any) (taken []store.Takeover, err error) {
	rows, err := tx.Query(ctx, query, args...)
	dead, err := collect(rows, err, func(r *sql.Rows, t *store.Takeover) error { return r.Scan(&t.Process, &t.Name) })
	if err != nil {
		return nil, err
	}
	for _, d := range dead {
		t, err := takeOver(ctx, tx, d.Process, d.Name, w)
		if err != nil {
			return nil, err
		}
		if len(t.Apps) > 0 {
			taken = append(taken, t)
		}
	}
	return taken, nil
}

// Beat implements store.Processes. It is one statement, on a connection of its own if possible. The time of the beat is read once; the
// condition that the process is valid reads the clock again after a wait for the row, so that a process that has ended stays so.
func (s *Store) Beat(ctx context.Context, id string, load store.Load) (store.Fleet, error) {
	if s.db.Dialect() == sqldb.SQLite {
		return s.beatAlone(ctx, id, load)
	}
	now := clock(sqldb.Postgres)
	statement := `WITH c AS MATERIALIZED (SELECT ` + now + ` AS now), beat AS (
			UPDATE {process} SET seen_at = c.now, valid_until = c.now + lease, lanes = ?, in_flight = ?
			FROM c WHERE id = ? AND valid_until > ` + now + ` RETURNING id)
		SELECT (SELECT COUNT(*) FROM beat), COUNT(*) FILTER (WHERE valid_until > c.now),
			CAST(COALESCE(SUM(lanes) FILTER (WHERE valid_until > c.now AND id <> ?), 0) AS BIGINT),
			COALESCE(MIN(lanes) FILTER (WHERE valid_until > c.now AND id <> ?), 0),
			COALESCE(MIN(valid_until) FILTER (WHERE valid_until > c.now AND id <> ?) - MIN(c.now), -1),
			COUNT(*) FILTER (WHERE valid_until <= c.now)
		FROM {process}, c`
	var f store.Fleet
	var found, others, least, next int64
	err := s.beat(ctx, id, func(tx *sqldb.Tx) error {
		return tx.QueryRow(ctx, statement, thousandths(load.Lanes), load.InFlight, id, id, id, id).
			Scan(&found, &f.Alive, &others, &least, &next, &f.Dead)
	})
	if err == nil && found == 0 {
		s.beats.drop(id)
		err = store.ErrEnded
	}
	if err != nil {
		return store.Fleet{}, fmt.Errorf("sqlstore: heartbeat: %w", err)
	}
	f.Others, f.Least = float64(others)/thousand, float64(least)/thousand
	f.Next = time.Duration(next) * time.Millisecond
	return f, nil
}

// The column lanes has the mean number of running lanes in thousandths, because the column is an integer.
const thousand = 1000

func thousandths(lanes float64) int64 { return int64(math.Round(lanes * thousand)) }

// beatAlone is Beat on SQLite, where one process owns the database. It stores the time and the load.
func (s *Store) beatAlone(ctx context.Context, id string, load store.Load) (store.Fleet, error) {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		res, err := tx.Exec(ctx, `UPDATE {process} SET seen_at = `+clock(tx.Dialect())+`, lanes = ?, in_flight = ? WHERE id = ?`,
			thousandths(load.Lanes), load.InFlight, id)
		if err := checkLease(res, err); errors.Is(err, engine.ErrLeaseLost) {
			return store.ErrEnded
		}
		return err
	})
	if err != nil {
		return store.Fleet{}, fmt.Errorf("sqlstore: heartbeat: %w", err)
	}
	return store.Fleet{Alive: 1, Next: -1}, nil
}

// Retire implements store.Processes.
func (s *Store) Retire(ctx context.Context, id string) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE {process} SET retired = 1 WHERE id = ?`, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlstore: retire: %w", err)
	}
	return nil
}

// Reap implements store.Processes.
func (s *Store) Reap(ctx context.Context, id string, w store.When) (taken []store.Takeover, err error) {
	if s.db.Dialect() == sqldb.SQLite {
		return nil, nil // the process owns the database
	}
	now := clock(sqldb.Postgres)
	err = s.update(ctx, func(tx *sqldb.Tx) (err error) {
		taken, err = takeEvery(ctx, tx, w, `SELECT p.id, p.name FROM {process} p WHERE p.valid_until <= `+now+` AND `+hasWork+` ORDER BY p.id`)
		if n := lanesOf(taken); err == nil && n > 0 {
			_, err = tx.Exec(ctx, `UPDATE {process} SET takeovers = takeovers + ? WHERE id = ?`, n, id)
		}
		if err == nil {
			_, err = tx.Exec(ctx, `DELETE FROM {process} WHERE id IN (
				SELECT p.id FROM {process} p WHERE p.valid_until < `+now+` - ? AND NOT `+hasWork+` FOR UPDATE SKIP LOCKED)`,
				keepDead.Milliseconds())
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: take over the lanes of dead processes: %w", err)
	}
	return taken, nil
}

// Leave implements store.Processes. On PostgreSQL the process stays in the table for some time if a lane is locked or a claim in flight.
func (s *Store) Leave(ctx context.Context, id string, w store.When) error {
	defer s.owner.leave(id)
	s.beats.drop(id)
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		d := tx.Dialect()
		if d == sqldb.Postgres {
			_, err := tx.Exec(ctx, `UPDATE {process} SET valid_until = `+clock(d)+` WHERE id = ? AND valid_until > `+clock(d), id)
			if err != nil {
				return err
			}
		}
		if _, err := takeOver(ctx, tx, id, "", w); err != nil || d == sqldb.Postgres {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM {process} WHERE id = ?`, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlstore: leave: %w", err)
	}
	return nil
}

// Processes implements store.Processes.
func (s *Store) Processes(ctx context.Context) ([]engine.Process, error) {
	rows, err := s.db.Reader().Query(ctx, `SELECT p.id, p.name, p.started_at, p.seen_at, p.valid_until, p.lease, `+clock(s.db.Dialect())+`,
			(SELECT COUNT(*) FROM {app_lane} l WHERE l.process = p.id AND l.process <> ''), p.lanes, p.in_flight, p.takeovers, p.rechecks
		FROM {process} p ORDER BY p.started_at, p.id`)
	out, err := collect(rows, err, func(r *sql.Rows, p *engine.Process) error {
		var started, seen, until, lease, now, running int64
		err := r.Scan(&p.ID, &p.Name, &started, &seen, &until, &lease, &now, &p.Lanes, &running, &p.InFlight, &p.Takeovers, &p.Rechecks)
		p.Started, p.Seen, p.Until, p.Now, p.Running = at(started), at(seen), at(until), at(now), float64(running)/thousand
		switch {
		case until == 0 || until > now:
			p.State = engine.ProcessAlive
		case until < seen+lease: // ended before it was dead
			p.State = engine.ProcessLeft
		case p.Lanes > 0:
			p.State = engine.ProcessDead
		default:
			p.State = engine.ProcessTaken
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: processes: %w", err)
	}
	return out, nil
}
