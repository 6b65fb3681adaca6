package docstore

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// Steady marks a collection of settings: documents that very many updates read and hardly any changes. What an update of the store reads of
// them is kept in memory, as it is stored, for the updates that follow.
//
// It stays the truth: all steady collections of a database have one state, a number that is drawn anew by whoever changes any of them, in
// the same transaction. An update reads that number once, and what was read under another one is not used. So a change by another
// process counts at once, and one that is rolled back never did.
func (c *Collection[T]) Steady() *Collection[T] {
	c.table.steady = true
	return c
}

const (
	steadySchemaSQL = "CREATE TABLE IF NOT EXISTS docstore_steady (one BIGINT PRIMARY KEY, state BIGINT NOT NULL)"
	steadyEnterSQL  = "INSERT INTO docstore_steady (one, state) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET state = excluded.state"
	steadyReadSQL   = "SELECT state FROM docstore_steady WHERE one = 1"
)

// openSteady begins a new state: opening collections may have changed what a query finds in them.
func openSteady(ctx context.Context, tx *sqldb.Tx) error {
	if _, err := tx.Exec(ctx, steadySchemaSQL); err != nil {
		return err
	}
	return enterState(ctx, tx)
}

func enterState(ctx context.Context, tx *sqldb.Tx) error {
	_, err := tx.Exec(ctx, steadyEnterSQL, rand.Int64())
	return err
}

// changes notes that the transaction is about to change a collection. From then on it reads no steady ones from memory, and keeps
// nothing: until the commit, the new state stands for what it may still change.
func (tx *Tx) changes(ctx context.Context, t *table) error {
	if !t.steady || tx.unsteady {
		return nil
	}
	tx.unsteady = true
	return enterState(ctx, tx.sql)
}

// steadyTx returns q when what it reads of the table may be kept, and what is kept used. A transaction that sees the changes of others
// while it runs is none of these, and no more is one that has changed something itself.
func steadyTx(q Reader, t *table, with columns) *Tx {
	if !t.steady || with.link != nil {
		return nil
	}
	tx, ok := q.(*Tx)
	if !ok || !tx.serializable || tx.unsteady {
		return nil
	}
	return tx
}

// row is a stored document as it was read.
type row struct {
	seq, rev, created, updated int64

	id   string
	text []byte
	key  any
}

// found is what a query has found.
type found struct {
	rows []row
	docs atomic.Value // the rows as documents, where somebody has made them that share nothing with their copies
}

// isFlat says whether copies of a value of the type share nothing with it.
func isFlat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if !isFlat(t.Field(i).Type) {
				return t == reflect.TypeFor[time.Time]() // what it points to never changes
			}
		}
		return true
	case reflect.Array:
		return isFlat(t.Elem())
	default: // the kinds before arrays are bool and numbers
		return t.Kind() == reflect.String || t.Kind() < reflect.Array && t.Kind() > reflect.Invalid
	}
}

// steadyRows reads rows that a query finds, from memory if it can.
func (tx *Tx) steadyRows(ctx context.Context, with columns, query string, args []any) (*found, error) {
	if !tx.stateKnown {
		if err := tx.QueryRow(ctx, steadyReadSQL).Scan(&tx.state); err != nil {
			return nil, err
		}
		tx.stateKnown = true
	}
	key := steadyKey(query, args)
	if kept := tx.store.steady.get(tx.state, key); kept != nil {
		return kept, nil
	}
	rows, err := readRows(ctx, tx, with, query, args)
	if err != nil {
		return nil, err
	}
	kept := &found{rows: rows}
	tx.store.steady.put(tx.state, key, kept)
	return kept, nil
}

// steadyKey is a text that no other query has, nor the same one with other arguments.
func steadyKey(query string, args []any) string {
	key := []byte(query)
	for _, arg := range args {
		switch arg := arg.(type) {
		case string:
			key = strconv.AppendQuote(append(key, 0), arg)
		case int64:
			key = strconv.AppendInt(append(key, 0), arg, 10)
		default:
			key = fmt.Appendf(append(key, 0), "%T%#v", arg, arg)
		}
	}
	return string(key)
}

func readRows(ctx context.Context, q Reader, with columns, query string, args []any) ([]row, error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []row
	var r row
	var text sql.RawBytes
	dest := []any{&r.seq, &r.id, &r.rev, &r.created, &r.updated, &text}
	if with.order != nil {
		dest = append(dest, with.order.scanner(&r.key))
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		r.text = append([]byte(nil), text...)
		out = append(out, r)
	}
	return out, rows.Err()
}

// steadyMemory bounds what is kept, in bytes: all of it goes when there would be more.
const steadyMemory = 16 << 20

// rowCost is what a kept row takes beside its text, about.
const rowCost = 200

// steady is what a store keeps of its steady collections in one state.
type steady struct {
	mu    sync.RWMutex
	state int64
	found map[string]*found
	size  int
}

// get returns what was found, nil for nothing that is kept.
func (s *steady) get(state int64, key string) *found {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.state != state {
		return nil
	}
	return s.found[key]
}

func (s *steady) put(state int64, key string, kept *found) {
	size := len(key) + rowCost
	for _, r := range kept.rows {
		size += len(r.text) + rowCost
	}
	if size > steadyMemory/4 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != state || s.found == nil || s.size+size > steadyMemory {
		s.state, s.found, s.size = state, map[string]*found{}, 0
	}
	s.found[key] = kept
	s.size += size
}
