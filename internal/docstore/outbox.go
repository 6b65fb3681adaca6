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

// Event tells of something that was committed. It stays in the outbox until a Relay has handled it.
type Event struct {
	Seq   int64           // given by Emit, ascending
	Topic string          // what happened, as "user.changed"
	Key   string          // whom it concerns
	Data  json.RawMessage // details, may be nil
	At    time.Time       // UTC, in milliseconds; given by Emit
}

func openOutbox(ctx context.Context, tx *sqldb.Tx) error {
	d := tx.Dialect()
	return execAll(ctx, tx, "CREATE TABLE IF NOT EXISTS {docstore_outbox} (seq "+d.SerialKey()+", topic "+d.TextType()+" NOT NULL, "+
		"key "+d.TextType()+" NOT NULL, data "+d.BytesType()+", at BIGINT NOT NULL)")
}

// Emit puts an event into the outbox; it becomes visible with the commit of tx and vanishes with its rollback. Seq and At are
// set by Emit. Who emits after writing the document that the event is about gets the events of one document in the order of
// its changes.
//
// The events of a transaction are written together: the last ones when its function has returned, which may then fail.
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
	emitBatch   = 32 // events that are written by one statement
	emitColumns = 4  // of each
)

// flush writes the events that wait for it.
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

// run calls fn and writes what it has emitted.
func (tx *Tx) run(ctx context.Context, fn func() error) error {
	if err := fn(); err != nil {
		return err
	}
	return tx.flush(ctx)
}

// OnEmit registers f to be called after each commit of this store that emitted, in the goroutine that committed: f is quick and
// wakes the relay. Commits of other processes are not noticed; a relay also looks from time to time.
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

// relayLock keeps relays of several processes apart.
const relayLock = "docstore.relay"

// Waiting returns how many committed events no relay has handled yet; those that one is handling count.
func (s *Store) Waiting(ctx context.Context) (n int, err error) {
	if err = s.Reader().QueryRow(ctx, "SELECT COUNT(*) FROM {docstore_outbox}").Scan(&n); err != nil {
		return 0, fmt.Errorf("docstore: waiting events: %w", err)
	}
	return n, nil
}

// Relay hands the oldest events, at most batch of them, to fn in one transaction that also removes them, and returns how many
// there were. When fn returns an error, everything is rolled back, the events stay, and the error is returned: what fn does in
// tx happens exactly once. One relay runs at a time on a database; others wait. fn may run more than once, see sqldb.DB.Update.
//
// Unlike Update it runs at READ COMMITTED on PostgreSQL: the lock keeps relays apart, and whom fn tells may write its own rows
// all the time, which would fail a serializable batch again and again.
func (s *Store) Relay(ctx context.Context, batch int, fn func(tx *Tx, events []Event) error) (n int, err error) {
	// Most calls find nothing, and that needs no writing transaction.
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
	slices.SortFunc(events, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) }) // RETURNING promises no order
	return events, rows.Err()
}
