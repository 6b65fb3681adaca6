package daemon

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// entry is an entry of the audit log.
type entry struct {
	Seq       int64
	At        time.Time
	Tenant    string
	Caller    string // id of the token
	Name      string // of the token
	Operation string
	Object    string
	Request   string
	Status    int // 0: not stored yet, or never, because the process ended
}

// recorder writes the audit log. One goroutine writes the waiting entries together, so that concurrent requests share a commit. An entry
// is committed before its operation runs; the status of the response follows later.
type recorder struct {
	db  *database
	log *slog.Logger

	mu      sync.Mutex
	waiting []*pendingEntry
	results map[int64]int        // status by number
	uses    map[string]time.Time // last use by token
	closed  bool
	failed  bool // the last transaction was not committed
	wake    chan struct{}
	done    chan struct{}
	stop    context.CancelFunc
}

type pendingEntry struct {
	entry
	written chan error
}

// writeTime is the time limit of one transaction of a recorder, and delay is the maximum time until a status is written.
const (
	writeTime = 30 * time.Second
	delay     = 100 * time.Millisecond
)

var errStopping = errors.New("the daemon is stopping")

func newRecorder(db *database, log *slog.Logger) *recorder {
	ctx, stop := context.WithCancel(context.Background())
	r := &recorder{
		db: db, log: log, results: map[int64]int{}, uses: map[string]time.Time{},
		wake: make(chan struct{}, 1), done: make(chan struct{}), stop: stop,
	}
	go r.run(ctx)
	return r
}

// begin stores an entry and returns its number.
func (r *recorder) begin(ctx context.Context, e entry) (int64, error) {
	p := &pendingEntry{entry: e, written: make(chan error, 1)}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return 0, errStopping
	}
	r.waiting = append(r.waiting, p)
	r.mu.Unlock()
	r.notify()
	select {
	case err := <-p.written:
		return p.Seq, err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// end stores the status of an entry later.
func (r *recorder) end(seq int64, status int) {
	r.mu.Lock()
	r.results[seq] = status
	r.mu.Unlock()
	r.notify()
}

// used stores the last use of a token later.
func (r *recorder) used(id string, at time.Time) {
	r.mu.Lock()
	r.uses[id] = at
	r.mu.Unlock()
	r.notify()
}

func (r *recorder) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// close writes what is waiting and ends the goroutine.
func (r *recorder) close(context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop()
	<-r.done
	return nil
}

func (r *recorder) run(ctx context.Context) {
	defer close(r.done)
	var later <-chan time.Time // when statuses are written
	for {
		select {
		case <-ctx.Done():
			r.write()
			return
		case <-later:
			later = nil
			r.write()
		case <-r.wake:
			if r.urgent() {
				later = nil
				r.write()
			} else if later == nil {
				later = time.After(delay)
			}
		}
	}
}

// urgent reports whether a request waits for its entry.
func (r *recorder) urgent() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.waiting) > 0
}

// write stores everything that is waiting in one transaction.
func (r *recorder) write() {
	r.mu.Lock()
	waiting, results, uses := r.waiting, r.results, r.uses
	r.waiting, r.results, r.uses = nil, map[int64]int{}, map[string]time.Time{}
	r.mu.Unlock()
	if len(waiting)+len(results)+len(uses) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTime)
	defer cancel()
	err := r.db.update(ctx, func(tx *sqldb.Tx) error {
		if err := insertEntries(ctx, tx, waiting); err != nil {
			return err
		}
		for seq, status := range results {
			if _, err := tx.Exec(ctx, `UPDATE {daemon_audit} SET status = ? WHERE seq = ?`, status, seq); err != nil {
				return err
			}
		}
		for id, at := range uses {
			if _, err := tx.Exec(ctx, `UPDATE {daemon_token} SET last_used = ? WHERE id = ?`, millis(at), id); err != nil {
				return err
			}
		}
		return nil
	})
	r.mu.Lock()
	if r.failed = err != nil; r.failed {
		maps.Copy(r.results, results) // for the next transaction
	}
	r.mu.Unlock()
	if err != nil {
		r.log.Error("the audit log was not written", "entries", len(waiting), "statuses", len(results), "error", err)
	}
	for _, p := range waiting {
		p.written <- err
	}
}

// trialEntry is the number of the entry that writable stores and removes in one transaction.
const trialEntry = -1

// writable returns an error if the database cannot store an entry. After a failed transaction, it tries to store one: a daemon that is not
// ready may get no further request, so that no other entry shows that the database stores data again.
func (r *recorder) writable(ctx context.Context) error {
	r.mu.Lock()
	failed := r.failed
	r.mu.Unlock()
	if !failed {
		return nil
	}
	err := r.db.update(ctx, func(tx *sqldb.Tx) error {
		if err := insertEntry(ctx, tx, &entry{Seq: trialEntry}); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM {daemon_audit} WHERE seq = ?`, trialEntry)
		return err
	})
	if err == nil {
		r.mu.Lock()
		r.failed = false
		r.mu.Unlock()
	}
	return err
}

// insertEntries stores entries with the next numbers. The lock makes the numbers ascend in the order of the commits, so that a reader that
// continues after the last number misses no entry.
func insertEntries(ctx context.Context, tx *sqldb.Tx, entries []*pendingEntry) error {
	if len(entries) == 0 {
		return nil
	}
	if err := tx.Lock(ctx, "daemon/audit"); err != nil {
		return err
	}
	var last int64
	if err := tx.QueryRow(ctx, `SELECT COALESCE(MAX(seq), 0) FROM {daemon_audit}`).Scan(&last); err != nil {
		return err
	}
	for _, p := range entries {
		last++
		p.Seq = last
		if err := insertEntry(ctx, tx, &p.entry); err != nil {
			return err
		}
	}
	return nil
}

func insertEntry(ctx context.Context, tx *sqldb.Tx, e *entry) error {
	_, err := tx.Exec(ctx, `INSERT INTO {daemon_audit} (seq, at, tenant, caller, name, operation, object, request, status)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, e.Seq, millis(e.At), e.Tenant, e.Caller, e.Name, e.Operation, e.Object, e.Request, e.Status)
	return err
}

// entries returns up to n entries of a tenant after a number. An empty tenant selects all tenants.
func (d *database) entries(ctx context.Context, tenant string, after int64, n int) (all []entry, err error) {
	rows, err := d.reader().Query(ctx, `SELECT seq, at, tenant, caller, name, operation, object, request, status FROM {daemon_audit}
		WHERE seq > ? AND (tenant = ? OR ? = '') ORDER BY seq`+sqldb.Limit, after, tenant, tenant, n)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var e entry
		var at int64
		if err := rows.Scan(&e.Seq, &at, &e.Tenant, &e.Caller, &e.Name, &e.Operation, &e.Object, &e.Request, &e.Status); err != nil {
			return nil, err
		}
		e.At = timeOf(at)
		all = append(all, e)
	}
	return all, rows.Err()
}
