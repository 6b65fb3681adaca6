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

// readState reads the state of the steady collections, once.
func (tx *Tx) readState(ctx context.Context) error {
	if tx.stateKnown {
		return nil
	}
	err := tx.QueryRow(ctx, steadyReadSQL).Scan(&tx.state)
	tx.stateKnown = err == nil
	return err
}

// steadyRows reads rows that a query finds, from memory if it can.
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

// vacancy is a condition that no document of a table fulfils.
type vacancy struct {
	table *table
	where Cond
}

// vacancyOf is the key under which the transaction remembers that a query has found nothing, as most questions for settings do. It takes no
// SQL text to be made. Queries that have none return nil.
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

// steadyMemory bounds what is kept, in bytes: all of it goes when there would be more.
const steadyMemory = 16 << 20

// rowCost is what a kept row takes beside its text, about.
const rowCost = 200

// steady is what a store keeps of its steady collections in one state.
type steady struct {
	mu    sync.RWMutex
	state int64
	found map[string][]row
	empty map[vacancy]bool
	size  int
}

// get returns what was found, if it is kept.
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

// makeRoom forgets everything when that is of another state, or when there would be too much.
func (s *steady) makeRoom(state int64, size int) {
	if s.state != state || s.found == nil || s.size+size > steadyMemory {
		s.state, s.found, s.empty, s.size = state, map[string][]row{}, map[vacancy]bool{}, 0
	}
	s.size += size
}

// isEmpty says whether it is known that no document fulfils the condition.
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
