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
	c.t.cached = true
	return c
}

const (
	cacheSchemaSQL = "CREATE TABLE IF NOT EXISTS {docstore_steady} (one BIGINT PRIMARY KEY, state BIGINT NOT NULL)"
	cacheEnterSQL  = "INSERT INTO {docstore_steady} (one, state) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET state = excluded.state"
	cacheReadSQL   = "SELECT state FROM {docstore_steady} WHERE one = 1"
)

// openCache stores a new state number, see Collection.Cached. It invalidates all cached rows, because Open may have changed the results of
// queries.
func openCache(ctx context.Context, tx *sqldb.Tx) error {
	if _, err := tx.Exec(ctx, cacheSchemaSQL); err != nil {
		return err
	}
	return enterState(ctx, tx)
}

func enterState(ctx context.Context, tx *sqldb.Tx) error {
	_, err := tx.Exec(ctx, cacheEnterSQL, rand.Int64())
	return err
}

// changes records that the transaction is about to change a collection. From then on the transaction neither uses nor fills the cache,
// because other transactions do not see its changes before the commit.
func (tx *Tx) changes(ctx context.Context, t *table) error {
	if !t.cached || tx.cacheChanged {
		return nil
	}
	tx.cacheChanged = true
	return enterState(ctx, tx.sql)
}

// cachingTx returns q as a transaction if reads of the table in q may use and fill the cache, and nil otherwise. A transaction may not use
// the cache if it sees changes that other transactions commit while it runs, or if it has changed a cached collection itself.
func cachingTx(q Reader, t *table, with columns) *Tx {
	if !t.cached || with.link != nil {
		return nil
	}
	tx, ok := q.(*Tx)
	if !ok || !tx.serializable || tx.cacheChanged {
		return nil
	}
	return tx
}

// isFlat reports whether copies of a value of the type share no memory with the value.
func isFlat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if !isFlat(t.Field(i).Type) {
				return t == reflect.TypeFor[time.Time]() // the Location that a time.Time points to never changes
			}
		}
		return true
	case reflect.Array:
		return isFlat(t.Elem())
	default: // bool and numbers are the kinds with values between Invalid and Array
		return t.Kind() == reflect.String || t.Kind() < reflect.Array && t.Kind() > reflect.Invalid
	}
}

// readState reads the state number of the cached collections once per transaction.
func (tx *Tx) readState(ctx context.Context) error {
	if tx.stateKnown {
		return nil
	}
	err := tx.QueryRow(ctx, cacheReadSQL).Scan(&tx.state)
	tx.stateKnown = err == nil
	return err
}

// cachedRows returns the rows of a query, from the cache if possible.
func (tx *Tx) cachedRows(ctx context.Context, t *table, with columns, query string, args []any) ([]row, error) {
	if err := tx.readState(ctx); err != nil {
		return nil, err
	}
	key := cacheKey(query, args)
	if rows, ok := tx.store.cache.get(tx.state, key); ok {
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
	tx.store.cache.put(tx.state, key, rows)
	return rows, nil
}

// emptyResult is a table and a condition that matches no document of the table.
type emptyResult struct {
	table *table
	where Cond
}

// emptyResultOf returns the key under which page caches that the query has no result. Most queries of cached collections have no result;
// with this key, page need not compose the SQL statement. If the query has no such key, the returned transaction is nil.
func emptyResultOf(q Reader, t *table, query *query) (*Tx, emptyResult) {
	tx := cachingTx(q, t, columns{link: query.link})
	if tx == nil || query.after != "" || query.from != nil || query.offset > 0 {
		return nil, emptyResult{}
	}
	switch c := query.where.(type) {
	case compare:
		if _, text := c.value.(string); text {
			return tx, emptyResult{t, c}
		}
	case notNull:
		return tx, emptyResult{t, c}
	}
	return nil, emptyResult{}
}

// cacheKey returns a cache key that is unique for the query and its arguments.
func cacheKey(query string, args []any) string {
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

// maxCacheSize is the maximum size of the cache in bytes: a new entry that would exceed the maximum empties the cache first.
const maxCacheSize = 16 << 20

// rowCost is the approximate size of a cached row without its text, in bytes.
const rowCost = 200

// rowCache is a store's cache of the rows of its cached collections. All rows belong to one state number.
type rowCache struct {
	mu    sync.RWMutex
	state int64
	found map[string][]row
	empty map[emptyResult]bool
	size  int
}

// get returns the cached rows, if any.
func (s *rowCache) get(state int64, key string) (rows []row, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.state != state {
		return nil, false
	}
	rows, ok = s.found[key]
	return rows, ok
}

func (s *rowCache) put(state int64, key string, rows []row) {
	size := len(key) + rowCost
	for _, r := range rows {
		size += len(r.text) + rowCost
	}
	if size > maxCacheSize/4 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom(state, size)
	s.found[key] = rows
}

// makeRoom empties the cache if its rows belong to another state number, or if the cache would exceed maxCacheSize.
func (s *rowCache) makeRoom(state int64, size int) {
	if s.state != state || s.found == nil || s.size+size > maxCacheSize {
		s.state, s.found, s.empty, s.size = state, map[string][]row{}, map[emptyResult]bool{}, 0
	}
	s.size += size
}

// isEmpty reports whether the cache records that no document matches the condition.
func (s *rowCache) isEmpty(state int64, v emptyResult) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.state == state && s.empty[v]
}

func (s *rowCache) putEmpty(state int64, v emptyResult) {
	size := rowCost
	if c, ok := v.where.(compare); ok {
		size += len(c.value.(string))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom(state, size)
	s.empty[v] = true
}
