package docstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scimwright/scimwright/internal/sqldb"
)

func (c *collection[T]) Cached() Collection[T] {
	c.t.steady = true
	return c
}

const (
	steadySchemaSQL = "CREATE TABLE IF NOT EXISTS {docstore_steady} (one BIGINT PRIMARY KEY, state BIGINT NOT NULL)"
	steadyEnterSQL  = "INSERT INTO {docstore_steady} (one, state) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET state = excluded.state"
	steadyReadSQL   = "SELECT state FROM {docstore_steady} WHERE one = 1"
)

// openSteady starts a new state: opening collections may have changed the results of queries on them.
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

// changes records that the transaction is about to change a collection. From then on it neither uses nor fills the cache: until the commit,
// the new state does not determine what is stored.
func (tx *Tx) changes(ctx context.Context, t *table) error {
	if !t.steady || tx.unsteady {
		return nil
	}
	tx.unsteady = true
	return enterState(ctx, tx.sql)
}

// steadyTx returns the transaction q if its reads of the table may use and fill the cache, and nil otherwise. A transaction that sees
// changes of other transactions while it runs may not, nor may one that has changed a cached collection itself.
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

// isFlat reports whether copies of a value of the type share no memory with it.
func isFlat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if !isFlat(t.Field(i).Type) {
				return t == reflect.TypeFor[time.Time]() // the location that it points to never changes
			}
		}
		return true
	case reflect.Array:
		return isFlat(t.Elem())
	default: // the kinds before arrays are bool and numbers
		return t.Kind() == reflect.String || t.Kind() < reflect.Array && t.Kind() > reflect.Invalid
	}
}

// readState reads the state of the cached collections, once per transaction.
func (tx *Tx) readState(ctx context.Context) error {
	if tx.stateKnown {
		return nil
	}
	err := tx.QueryRow(ctx, steadyReadSQL).Scan(&tx.state)
	tx.stateKnown = err == nil
	return err
}

// steadyRows returns the rows of a query, from the cache if possible.
func (tx *Tx) steadyRows(ctx context.Context, t *table, with columns, query string, args []any) ([]row, error) {
	if err := tx.readState(ctx); err != nil {
		return nil, err
	}
	key := steadyKey(query, args)
	if rows, ok := tx.store.steady.get(tx.state, key); ok {
		return rows, nil
	}
	var rows []row
	err := t.stream(ctx, tx, with, query, args, func(r *row) error {
		kept := *r
		kept.text = slices.Clone(r.text)
		if t.flat {
			kept.value = new(atomic.Value)
		}
		rows = append(rows, kept)
		return nil
	})
	if err != nil {
		return nil, err
	}
	tx.store.steady.put(tx.state, key, rows)
	return rows, nil
}

// vacancy is a condition that matches no document of a table.
type vacancy struct {
	table *table
	where Cond
}

// vacancyOf returns the key under which an empty result of the query is cached: most queries for settings find nothing. The key needs no
// SQL statement. For a query that has no such key, the transaction is nil.
func vacancyOf(q Reader, t *table, query *query) (*Tx, vacancy) {
	tx := steadyTx(q, t, columns{link: query.link})
	if tx == nil || query.after != "" || query.from != nil || query.offset > 0 {
		return nil, vacancy{}
	}
	switch c := query.where.(type) {
	case compare:
		if _, text := c.value.(string); text {
			return tx, vacancy{t, c}
		}
	case notNull:
		return tx, vacancy{t, c}
	}
	return nil, vacancy{}
}

// steadyKey returns a cache key that is unique for the query and its arguments.
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

// steadyMemory is the maximum size of the cache in bytes: when it would grow larger, it is emptied.
const steadyMemory = 16 << 20

// rowCost is the approximate size of a cached row without its text, in bytes.
const rowCost = 200

// steady is a store's cache of its cached collections in one state.
type steady struct {
	mu    sync.RWMutex
	state int64
	found map[string][]row
	empty map[vacancy]bool
	size  int
}

// get returns the cached rows, if any.
func (s *steady) get(state int64, key string) (rows []row, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.state != state {
		return nil, false
	}
	rows, ok = s.found[key]
	return rows, ok
}

func (s *steady) put(state int64, key string, rows []row) {
	size := len(key) + rowCost
	for _, r := range rows {
		size += len(r.text) + rowCost
	}
	if size > steadyMemory/4 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom(state, size)
	s.found[key] = rows
}

// makeRoom empties the cache if it belongs to another state or would grow too large.
func (s *steady) makeRoom(state int64, size int) {
	if s.state != state || s.found == nil || s.size+size > steadyMemory {
		s.state, s.found, s.empty, s.size = state, map[string][]row{}, map[vacancy]bool{}, 0
	}
	s.size += size
}

// isEmpty reports whether the cache records that no document matches the condition.
func (s *steady) isEmpty(state int64, v vacancy) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.state == state && s.empty[v]
}

func (s *steady) putEmpty(state int64, v vacancy) {
	size := rowCost
	if c, ok := v.where.(compare); ok {
		size += len(c.value.(string))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom(state, size)
	s.empty[v] = true
}
