package docstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// Event is a committed event. It stays in the outbox until a Relay has handled it.
type Event struct {
	Seq   int64           // set by Emit, ascending
	Topic string          // the kind of event, such as "user.changed"
	Key   string          // the object that the event is about
	Data  json.RawMessage // details, may be nil
	At    time.Time       // UTC, in milliseconds; set by Emit
}

func openOutbox(ctx context.Context, tx *sqldb.Tx) error {
	d := tx.Dialect()
	return execAll(ctx, tx, "CREATE TABLE IF NOT EXISTS {docstore_outbox} (seq "+d.SerialKey()+", topic "+d.TextType()+" NOT NULL, "+
		"key "+d.TextType()+" NOT NULL, data "+d.BytesType()+", at BIGINT NOT NULL)")
}

// Emit adds an event to the outbox. It becomes visible with the commit of tx and is removed by a rollback. Emit sets Seq and At. If each
// transaction emits after it writes the document that the event is about, the events of one document have the order of its changes.
//
// The events of a transaction are written in batches. The last batch is written after the function of the transaction has returned; if that
// write fails, the transaction fails.
func (s *Store) Emit(ctx context.Context, tx *Tx, e Event) error {
	if !tx.emitted {
		tx.emitted = true
		tx.AfterCommit(s.wake)
	}
	tx.emits = append(tx.emits, e.Topic, e.Key, []byte(e.Data), tx.began.UnixMilli())
	if len(tx.emits) < emitBatch*emitColumns {
		return nil
	}
	return tx.flush(ctx)
}

const (
	emitBatch   = 32 // number of events that one statement writes
	emitColumns = 4  // per event
)

// flush writes the pending events.
func (tx *Tx) flush(ctx context.Context) error {
	if len(tx.emits) == 0 {
		return nil
	}
	rows := strings.Repeat(", (?, ?, ?, ?)", len(tx.emits)/emitColumns)
	_, err := tx.sql.Exec(ctx, "INSERT INTO {docstore_outbox} (topic, key, data, at) VALUES"+rows[1:], tx.emits...)
	tx.emits = tx.emits[:0]
	if err != nil {
		return fmt.Errorf("docstore: emit: %w", err)
	}
	return nil
}

// run calls fn and writes the events that it emitted.
func (tx *Tx) run(ctx context.Context, fn func() error) error {
	if err := fn(); err != nil {
		return err
	}
	return tx.flush(ctx)
}

// OnEmit registers f to be called after each commit of this store that emitted, in the goroutine that committed. f must return quickly, for
// example after it wakes the relay. Commits of other processes do not call it, so a relay must also poll.
func (s *Store) OnEmit(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onEmit = append(s.onEmit, f)
}

func (s *Store) wake() {
	s.mu.Lock()
	listeners := slices.Clone(s.onEmit)
	s.mu.Unlock()
	for _, f := range listeners {
		f()
	}
}

// relayLock prevents relays of several processes from running at the same time.
const relayLock = "docstore.relay"

// Waiting returns the number of committed events that no relay has handled yet, including events that a relay is handling.
func (s *Store) Waiting(ctx context.Context) (n int, err error) {
	if err = s.Reader().QueryRow(ctx, "SELECT COUNT(*) FROM {docstore_outbox}").Scan(&n); err != nil {
		return 0, fmt.Errorf("docstore: waiting events: %w", err)
	}
	return n, nil
}

// Relay passes the oldest events, at most batch of them, to fn in one transaction that also removes them, and returns their number. If fn
// returns an error, everything is rolled back, the events stay, and the error is returned: the writes of fn in tx happen exactly once. One
// relay runs at a time on a database; other relays wait. fn may run more than once, see sqldb.DB.Update.
//
// Unlike Update, Relay runs its transaction at READ COMMITTED on PostgreSQL. This is sufficient, because a lock prevents concurrent relays.
// At SERIALIZABLE, the transaction would fail again and again if other transactions continuously write to the tables that fn uses.
func (s *Store) Relay(ctx context.Context, batch int, fn func(tx *Tx, events []Event) error) (n int, err error) {
	// Most calls find no event, and then need no writing transaction.
	var some int
	err = s.Reader().QueryRow(ctx, "SELECT 1 FROM {docstore_outbox} LIMIT 1").Scan(&some)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("docstore: relay: %w", err)
	}
	err = s.db.Update(ctx, func(sqlTx *sqldb.Tx) error {
		tx := &Tx{sql: sqlTx, store: s, began: s.now()}
		if err := tx.sql.Lock(ctx, relayLock); err != nil {
			return fmt.Errorf("docstore: relay: %w", err)
		}
		events, err := claim(ctx, tx.sql, batch)
		if err != nil {
			return fmt.Errorf("docstore: relay: %w", err)
		}
		n = len(events)
		if n == 0 {
			return nil
		}
		return tx.run(ctx, func() error { return fn(tx, events) })
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// claim removes the oldest events and returns them in order.
func claim(ctx context.Context, tx *sqldb.Tx, batch int) ([]Event, error) {
	rows, err := tx.Query(ctx, `DELETE FROM {docstore_outbox}
		WHERE seq IN (SELECT seq FROM {docstore_outbox} ORDER BY seq`+sqldb.Limit+`) RETURNING seq, topic, key, data, at`, batch)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var events []Event
	for rows.Next() {
		var e Event
		var data []byte
		var at int64
		if err := rows.Scan(&e.Seq, &e.Topic, &e.Key, &data, &at); err != nil {
			return nil, err
		}
		e.Data, e.At = data, time.UnixMilli(at).UTC()
		events = append(events, e)
	}
	slices.SortFunc(events, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) }) // RETURNING may return the rows in any order
	return events, rows.Err()
}
