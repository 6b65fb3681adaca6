package docstore

import (
	"cmp"
	"context"
	"strings"
	"sync"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// Version is a document in the state in which somebody has read it. No other state of it that is ever committed has the same, and no
// other document, also none that got its id after it was deleted.
type Version struct {
	table    *table
	seq, rev int64
}

func (c *collection[T]) Version(doc Doc[T]) Version { return Version{c.t, doc.seq, doc.Rev} }

// Current says whether all of the documents are stored as they were read, in one query that reads none of them. No versions are always
// current. An update knows those of steady collections from memory.
func Current(ctx context.Context, q Reader, versions ...Version) (current bool, err error) {
	var parts []string
	var args []any
	for _, v := range versions {
		if tx := steadyTx(q, v.table, columns{}); tx != nil {
			rows, err := tx.steadyRows(ctx, v.table, columns{}, v.table.versionSQL, []any{v.seq, v.rev})
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

// Cache keeps what was made of documents, by a key, for as long as the documents are current: whoever asks for it need not read them
// again. It is safe for use by many goroutines. The zero value is empty.
type Cache[V any] struct {
	// Max is how many values are kept; all of them go when it is full. Defaults to 10,000.
	Max int

	mu   sync.Mutex
	kept map[string]remembered[V]
}

type remembered[V any] struct {
	value    V
	versions []Version
}

const maxRemembered = 10_000

// Get returns the value of the key, if there is one and the documents that it was made of are current. Callers share the value.
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

// Put keeps a value that was made of the documents, which q has read, and of nothing that can change while they do not. The value itself
// must not change any more. What a transaction has read is not kept: it may be rolled back, and another change may then get the same
// version.
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
