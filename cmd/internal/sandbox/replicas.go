package sandbox

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/internal/sqldb"
)

const (
	// replicaBeat is the interval at which a replica records that it runs. Without a request, it follows the changes of the others at the same
	// interval.
	replicaBeat = 2 * time.Second
	// replicaLife is the time after its last record after which a replica counts as dead.
	replicaLife = 10 * time.Second
	// leaseWait is the interval at which a replica that waits for a lease checks it.
	leaseWait = 100 * time.Millisecond
)

// replicas are the processes that run on one PostgreSQL database. All times are those of the database. It is nil on SQLite, which one
// process uses.
type replicas struct {
	db   *sqldb.DB
	kind string // prefix of the names of the tables
	log  *slog.Logger
	id   string
	// address is the base URL with the address of the listener; public is the base URL of links and issuers.
	address, public string
	// first reports whether no other replica was alive when this one joined.
	first bool
	// dead is the number of replicas that ended without leaving and that this replica has not handled yet.
	dead atomic.Int64
}

const replicaTablesSQL = `CREATE TABLE IF NOT EXISTS {%[1]s_replicas}
		(id TEXT PRIMARY KEY, address TEXT NOT NULL, public TEXT NOT NULL, seen TIMESTAMPTZ NOT NULL);
	CREATE TABLE IF NOT EXISTS {%[1]s_lease} (name TEXT PRIMARY KEY, holder TEXT NOT NULL, until TIMESTAMPTZ NOT NULL);
	CREATE UNLOGGED TABLE IF NOT EXISTS {%[1]s_quirk_state}
		(key TEXT NOT NULL, item TEXT NOT NULL, n BIGINT NOT NULL, until TIMESTAMPTZ NOT NULL, PRIMARY KEY (key, item)) WITH (fillfactor = 50)`

// join adds this process to the replicas of a database. alone is called in the transaction if no other replica is alive.
func (r *replicas) join(ctx context.Context, alone func(ctx context.Context, tx *sqldb.Tx) error) error {
	r.id = rand.Text()
	err := r.db.Update(ctx, func(tx *sqldb.Tx) error {
		if err := tx.LockTables(ctx); err != nil {
			return err
		}
		if err := tx.Apply(ctx, fmt.Sprintf(replicaTablesSQL, r.kind)); err != nil {
			return err
		}
		// Two processes that start at the same time must not both be the first one.
		if err := tx.Lock(ctx, r.kind+".replicas"); err != nil {
			return err
		}
		var others int
		err := tx.QueryRow(ctx, r.sql("SELECT count(*) FROM {%s_replicas} WHERE seen > clock_timestamp() - ?::interval"), life()).Scan(&others)
		if err != nil {
			return err
		}
		if r.first = others == 0; r.first {
			if _, err := tx.Exec(ctx, r.sql("DELETE FROM {%s_quirk_state}")); err != nil {
				return err
			}
			if err := alone(ctx, tx); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, r.sql("INSERT INTO {%s_replicas} (id, address, public, seen) VALUES (?, ?, ?, clock_timestamp())"),
			r.id, r.address, r.public)
		return err
	})
	if err != nil {
		return fmt.Errorf("join the replicas: %w", err)
	}
	return r.compare(ctx)
}

func (r *replicas) sql(text string) string { return fmt.Sprintf(text, r.kind) }

// life returns replicaLife as an interval of PostgreSQL.
func life() string { return fmt.Sprintf("%d milliseconds", replicaLife.Milliseconds()) }

// compare logs a warning if another replica has another public base URL.
func (r *replicas) compare(ctx context.Context) error {
	others, err := r.list(ctx, "public")
	if err != nil {
		return err
	}
	for _, other := range others {
		if r.public != other {
			r.log.WarnContext(ctx, "replicas on one database have different base URLs, so that tokens of one are not valid on the other: "+
				"set the same --base-url for all of them", "own", r.public, "other", other)
			break
		}
	}
	return nil
}

// list returns the values of a column for the replicas that are alive.
func (r *replicas) list(ctx context.Context, column string) (all []string, err error) {
	rows, err := r.db.Reader().Query(ctx,
		r.sql("SELECT "+column+" FROM {%s_replicas} WHERE seen > clock_timestamp() - ?::interval"), life())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, rows.Err()
}

// beat records that this replica runs, and removes dead replicas. It returns their number. At most one replica counts each of them.
func (r *replicas) beat(ctx context.Context) (dead int, err error) {
	err = r.db.Update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, r.sql(`INSERT INTO {%s_replicas} (id, address, public, seen) VALUES (?, ?, ?, clock_timestamp())
			ON CONFLICT (id) DO UPDATE SET seen = excluded.seen`), r.id, r.address, r.public)
		if err != nil {
			return err
		}
		gone, err := tx.Exec(ctx, r.sql("DELETE FROM {%s_replicas} WHERE seen < clock_timestamp() - ?::interval"), life())
		if err != nil {
			return err
		}
		n, err := gone.RowsAffected()
		dead = int(n)
		return err
	})
	return dead, err
}

// leave removes this replica.
func (r *replicas) leave(ctx context.Context) error {
	return r.db.Update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, r.sql("DELETE FROM {%s_replicas} WHERE id = ?"), r.id)
		return err
	})
}

// start records that this replica runs, at intervals of replicaBeat, until end is called. end also removes the replica.
func (r *replicas) start(ctx context.Context) (end func(context.Context) error) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		each(ctx, replicaBeat, func() {
			dead, err := r.beat(ctx)
			if err != nil && ctx.Err() == nil {
				r.log.ErrorContext(ctx, "the heartbeat of this replica failed", "err", err)
			}
			r.dead.Add(int64(dead))
		})
	}()
	return func(ctx context.Context) error {
		stop()
		<-ended
		return r.leave(ctx)
	}
}

// each calls fn at an interval until ctx ends.
func each(ctx context.Context, interval time.Duration, fn func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			fn()
		}
	}
}

// lease is the right to seed or reset the organization. At most one replica has it.
type lease struct {
	replicas *replicas // nil on SQLite
	holder   string
	release  func()
}

const leaseName = "change"

// errLeaseLost is the cause of a change that is canceled because another replica has the lease.
var errLeaseLost = errors.New("another replica has taken over the change of the organization")

// acquire waits for the lease. The returned context ends when the lease is lost; release ends the lease. On SQLite it does nothing.
func (r *replicas) acquire(ctx context.Context) (context.Context, *lease, error) {
	if r == nil {
		return ctx, &lease{release: func() {}}, nil
	}
	l := &lease{replicas: r, holder: rand.Text()}
	for {
		switch held, err := l.extend(ctx); {
		case err != nil:
			return ctx, nil, fmt.Errorf("acquire the lease: %w", err)
		case held:
			holding, lost := context.WithCancelCause(ctx)
			ended := make(chan struct{})
			go func() { defer close(ended); l.keep(holding, lost) }()
			l.release = func() {
				lost(context.Canceled)
				<-ended
				l.end(context.WithoutCancel(ctx))
			}
			return holding, l, nil
		}
		wait := time.NewTimer(leaseWait)
		select {
		case <-ctx.Done():
			wait.Stop()
			return ctx, nil, ctx.Err()
		case <-wait.C:
		}
	}
}

// extend takes the lease, or extends it, and reports whether this holder has it.
func (l *lease) extend(ctx context.Context) (held bool, err error) {
	r := l.replicas
	err = r.db.Update(ctx, func(tx *sqldb.Tx) error {
		res, err := tx.Exec(ctx, r.sql(`INSERT INTO {%[1]s_lease} AS l (name, holder, until) VALUES (?, ?, clock_timestamp() + ?::interval)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
			WHERE l.holder = excluded.holder OR l.until < clock_timestamp()`), leaseName, l.holder, life())
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		held = n > 0
		return err
	})
	return held, err
}

// keep extends the lease until ctx ends. If the lease is lost, or cannot be extended in time, it calls lost.
func (l *lease) keep(ctx context.Context, lost context.CancelCauseFunc) {
	tick := time.NewTicker(replicaLife / 4)
	defer tick.Stop()
	extended := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		held, err := l.extend(ctx)
		switch {
		case err == nil && held:
			extended = time.Now()
		case err == nil || time.Since(extended) > replicaLife*3/4:
			lost(errLeaseLost)
			return
		}
	}
}

func (l *lease) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, replicaLife)
	defer cancel()
	r := l.replicas
	err := r.db.Update(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, r.sql("DELETE FROM {%s_lease} WHERE name = ? AND holder = ?"), leaseName, l.holder)
		return err
	})
	if err != nil {
		r.log.WarnContext(ctx, "the lease was not released; it expires without a release", "err", err)
	}
}

// check returns errLeaseLost unless this holder has the lease. It does not lock the row, so that a long transaction does not prevent keep
// from extending the lease.
func (l *lease) check(ctx context.Context, tx *sqldb.Tx) error {
	if l.replicas == nil {
		return nil
	}
	var held bool
	err := tx.QueryRow(ctx, l.replicas.sql(
		"SELECT holder = ? AND until > clock_timestamp() FROM {%s_lease} WHERE name = ?"), l.holder, leaseName).Scan(&held)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !held {
		return errLeaseLost
	}
	return err
}
