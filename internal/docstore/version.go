package docstore

import (
	"cmp"
	"context"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// Version identifies a committed state of a document. No other committed state of the document has the same Version, nor does another
// document, even one that got the same id after a deletion.
type Version struct {
	table    *table
	seq, rev int64
}

func (c *collection[T]) Version(doc Doc[T]) Version { return Version{c.t, doc.seq, doc.Rev} }

// Current reports whether all of the documents are stored in these versions, with one query that reads no document. For an empty list,
// Current returns true. In an update, the versions of cached collections are looked up in the cache.
func Current(ctx context.Context, q Reader, versions ...Version) (current bool, err error) {
	var parts []string
	var args []any
	for _, v := range versions {
		if tx := cachingTx(q, v.table, columns{}); tx != nil {
			rows, err := tx.cachedRows(ctx, v.table, columns{}, v.table.versionSQL, []any{v.seq, v.rev})
			if err != nil || len(rows) == 0 {
				return false, err
			}
			continue
		}
		parts, args = append(parts, "EXISTS ("+v.table.versionSQL+")"), append(args, v.seq, v.rev)
	}
	if len(parts) == 0 {
		return true, nil
	}
	err = q.QueryRow(sqldb.Brief(ctx, q), "SELECT "+strings.Join(parts, " AND "), args...).Scan(&current)
	return current, err
}

// Cache stores values that callers compute from documents, by a key. A cached value is valid until one of its documents changes, and
// callers need not read the documents again until then. It is safe for concurrent use. The zero value is empty.
type Cache[V any] struct {
	// Max is the maximum number of values; a full cache is emptied. Default: 10,000.
	Max int

	mu   sync.Mutex
	kept map[string]remembered[V]
}

type remembered[V any] struct {
	value    V
	versions []Version
}

const maxRemembered = 10_000

// Get returns the value of the key, if it is cached and the documents that it was derived from are current. Callers share the value.
func (m *Cache[V]) Get(ctx context.Context, q Reader, key string) (value V, ok bool, err error) {
	m.mu.Lock()
	found, ok := m.kept[key]
	m.mu.Unlock()
	if !ok {
		return value, false, nil
	}
	if ok, err = Current(ctx, q, found.versions...); !ok {
		return value, false, err
	}
	return found.value, true, nil
}

// Put stores a value that depends only on the documents, which q has read. The value must not be modified afterwards. Put does nothing if q
// is a transaction: the transaction may be rolled back, and another change may then create the same version.
func (m *Cache[V]) Put(q Reader, key string, value V, versions ...Version) {
	switch q.(type) {
	case *Tx, *sqldb.Tx:
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil || len(m.kept) >= cmp.Or(m.Max, maxRemembered) {
		m.kept = map[string]remembered[V]{}
	}
	m.kept[key] = remembered[V]{value, versions}
}
