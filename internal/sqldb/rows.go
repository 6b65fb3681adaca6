package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/scimwright/scimwright/internal/sqldb/rowcache"
)

// cachedRows is the cache of rows of a DB. The methods of a nil value do nothing.
type cachedRows struct {
	*rowcache.Cache
	tables  atomic.Pointer[[]string] // the names of the tables whose rows are cached
	version int64                    // of the data, as the writer sees it; changes only with the commits of other connections
}

func newCachedRows(state rowcache.Source) *cachedRows {
	return &cachedRows{Cache: rowcache.New(state, rowcache.MaxBytes)}
}

func (c *cachedRows) close() error {
	if c == nil {
		return nil
	}
	return c.Close()
}

// Rows returns the cache of rows of a database to which q is the [DB.Reader], or nil. Rows of a transaction, and those of a database whose
// state cannot be read, are not cached.
func Rows(q Queryer) *rowcache.Cache {
	if r, ok := q.(reader); ok && r.rows != nil {
		return r.rows.Cache
	}
	return nil
}

// CacheRows declares that rows of a table, which has this name in statements without braces, are cached. Updates must call Tx.Changing
// before each statement that changes some of its rows; after other statements that name the table, no row is current.
func (db *DB) CacheRows(table string) {
	if db.rows == nil {
		return
	}
	table = db.Names().Plain(table)
	for {
		old := db.rows.tables.Load()
		tables := []string{table}
		if old != nil {
			tables = append(tables, *old...)
		}
		if db.rows.tables.CompareAndSwap(old, &tables) {
			return
		}
	}
}

// Rows returns the cache of rows, or nil if the transaction is not one of a DB that caches rows.
func (tx *Tx) Rows() *rowcache.Cache {
	if tx.rows == nil {
		return nil
	}
	return tx.rows.Cache
}

// Changing declares that the next statement changes no other cached rows than those with the keys.
func (tx *Tx) Changing(keys ...rowcache.Key) {
	tx.keys, tx.declared = append(tx.keys, keys...), true
}

// Unchanged reports whether no update of the same commit, including this one, has declared or may have made a change of the row with the
// key. A row in the cache is then current for this transaction.
func (tx *Tx) Unchanged(key rowcache.Key) bool {
	if tx.rows == nil || tx.earlier == nil || tx.anyRow || slices.Contains(tx.keys, key) {
		return false
	}
	for _, j := range *tx.earlier {
		if j.tx.anyRow || slices.Contains(j.tx.keys, key) {
			return false
		}
	}
	return true
}

// Remember caches a row that the transaction has written, after the commit.
func (tx *Tx) Remember(r rowcache.Row) { tx.written = append(tx.written, r) }

// writes is called before each statement. It records whether the statement may change cached rows other than those passed to Changing.
func (tx *Tx) writes(query string) {
	switch {
	case tx.rows == nil || tx.anyRow || strings.HasPrefix(query, "SELECT"):
	case tx.declared:
		tx.declared = false
	default:
		tables := tx.rows.tables.Load()
		if tables == nil {
			return
		}
		for _, table := range *tables {
			tx.anyRow = tx.anyRow || strings.Contains(query, table)
		}
	}
}

// began calls Cache.Began. The caller has the write lock of the database.
func (c *cachedRows) began() {
	if c != nil {
		c.Began()
	}
}

// commits passes the keys of the rows that the jobs have changed to Cache.Commits, before their commit.
func (c *cachedRows) commits(jobs []*job) {
	if c == nil {
		return
	}
	var keys []rowcache.Key
	anyRow := false
	for _, j := range jobs {
		keys, anyRow = append(keys, j.tx.keys...), anyRow || j.tx.anyRow
	}
	c.Commits(keys, anyRow)
}

// committed calls Cache.Committed after the commit of the jobs.
func (c *cachedRows) committed(conn *sql.Conn, jobs []*job) {
	if c == nil {
		return
	}
	var rows []rowcache.Row
	for _, j := range jobs {
		rows = append(rows, j.tx.written...)
	}
	c.Committed(func() bool {
		before := c.version
		c.version = dataVersion(conn)
		return c.version == before && before != 0
	}, rows)
}

// dataVersion returns a number that changes if another connection has committed, and 0 if it cannot be read.
func dataVersion(conn *sql.Conn) (version int64) {
	_ = conn.Raw(func(c any) error {
		direct, ok := c.(driver.QueryerContext)
		if !ok {
			return nil
		}
		rows, err := direct.QueryContext(context.Background(), "PRAGMA data_version", nil)
		if err != nil {
			return nil
		}
		return eachRow(context.Background(), rows, 1, func(row []driver.Value) error {
			version, _ = row[0].(int64)
			return ErrStop
		})
	})
	return version
}
