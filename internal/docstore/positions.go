package docstore

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// Positions of a collection: the number of its documents and the document at any offset, without reading the documents before it.
//
// SQLite numbers documents without gaps, so that only deletions leave numbers unused. A trigger counts the unused numbers of each block of
// blockSize numbers. The number of documents is then the last number that was assigned, minus the unused numbers. PostgreSQL also leaves
// numbers unused after a rollback; there, collections have no positions, and counting reads an index.

func (c *collection[T]) Positioned() Collection[T] {
	c.t.positioned = true
	return c
}

// blockSize is the number of consecutive seq numbers whose unused numbers are counted together.
const blockSize = 1024

const (
	gapsSchemaSQL = `CREATE TABLE IF NOT EXISTS {docstore_gaps} (
	collection TEXT NOT NULL, block BIGINT NOT NULL, unused BIGINT NOT NULL, PRIMARY KEY (collection, block)) WITHOUT ROWID`
	gapsInsertSQL = "INSERT INTO {docstore_gaps} (collection, block, unused) VALUES (?, ?, ?)"
	gapsDeleteSQL = "DELETE FROM {docstore_gaps} WHERE collection = ?"
	gapsSelectSQL = "SELECT block, unused FROM {docstore_gaps} WHERE collection = ? ORDER BY block"
	// gapsSumSQL reads a row for each block with deleted documents.
	gapsSumSQL = "COALESCE((SELECT SUM(unused) FROM {docstore_gaps} WHERE collection = ?), 0)"
)

// gapsColumns are the columns of docstore_gaps.
var gapsColumns = []string{"collection", "block", "unused"}

// firstTrigger is the name of the trigger of an earlier version, which counted deleted documents only. That version replaces a trigger
// whose name ends in the same way by its own, so that two triggers never count the same document.
func (t *table) firstTrigger() string { return t.name + "__gaps" }

// triggerName is the name of the trigger that counts deleted documents, and stores the greatest seq that was used.
func (t *table) triggerName() string { return "last__" + t.firstTrigger() }

// createTrigger creates the trigger. A collection's name contains no quote.
func (t *table) createTrigger(ctx context.Context, tx *sqldb.Tx) error {
	return execAll(ctx, tx, "CREATE TRIGGER {"+t.triggerName()+"} AFTER DELETE ON "+t.quoted+" BEGIN "+
		"INSERT INTO {docstore_gaps} (collection, block, unused) VALUES ('"+t.name+"', OLD.seq / 1024, 1) "+
		"ON CONFLICT (collection, block) DO UPDATE SET unused = unused + 1; "+
		"UPDATE {docstore_numbers} SET last = OLD.seq WHERE collection = '"+t.name+"' AND last < OLD.seq "+
		"AND NOT EXISTS (SELECT 1 FROM "+t.quoted+" WHERE seq > OLD.seq); END")
}

// openPositions creates the trigger and counts the unused numbers, if the collection has positions and their stored number is not correct:
// in a database of an earlier version, or if an earlier version has changed the database meanwhile.
func (t *table) openPositions(ctx context.Context, tx *sqldb.Tx) error {
	if !t.positioned || tx.Dialect() != sqldb.SQLite {
		return nil
	}
	if err := execAll(ctx, tx, gapsSchemaSQL, numbersSchemaSQL); err != nil {
		return err
	}
	if err := t.openLast(ctx, tx); err != nil {
		return err
	}
	trigger, err := t.triggers(ctx, tx)
	if err != nil {
		return err
	}
	names := tx.Names()
	want := names.Plain(t.triggerName())
	if len(trigger) == 1 && trigger[0] == want {
		stored, err := t.countPositions(ctx, tx)
		if err != nil {
			return err
		}
		var counted int
		if err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM "+t.quoted).Scan(&counted); err != nil || stored == counted {
			return err
		}
	}
	for _, name := range trigger {
		if err := execAll(ctx, tx, "DROP TRIGGER "+sqldb.Quote(name)); err != nil {
			return err
		}
	}
	if err := t.createTrigger(ctx, tx); err != nil {
		return err
	}
	return t.countGaps(ctx, tx)
}

// dropPositions removes the numbers of a collection whose table was dropped, with its trigger.
func (t *table) dropPositions(ctx context.Context, tx *sqldb.Tx) error {
	if !t.positioned || tx.Dialect() != sqldb.SQLite {
		return nil
	}
	if err := execAll(ctx, tx, gapsSchemaSQL, numbersSchemaSQL); err != nil {
		return err
	}
	delete(tx.Shared(), t.name)
	_, err := tx.Exec(ctx, gapsDeleteSQL, t.name)
	if err == nil {
		_, err = tx.Exec(ctx, numbersDeleteSQL, t.name)
	}
	return err
}

// triggers returns the names of the triggers that createTrigger created for the table, with any prefix.
func (t *table) triggers(ctx context.Context, tx *sqldb.Tx) (names []string, err error) {
	rows, err := tx.Query(ctx, "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?", tx.Names().Plain(t.name))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		if strings.HasSuffix(name, t.firstTrigger()) {
			names = append(names, name)
		}
	}
	return names, rows.Err()
}

// countGaps counts the unused numbers of the table.
func (t *table) countGaps(ctx context.Context, tx *sqldb.Tx) error {
	if _, err := tx.Exec(ctx, gapsDeleteSQL, t.name); err != nil {
		return err
	}
	last, err := t.lastSeq(ctx, tx)
	if err != nil || last == 0 {
		return err
	}
	used := make([]int64, last/blockSize+1)
	err = func() error {
		rows, err := tx.Query(ctx, "SELECT seq / 1024, COUNT(*) FROM "+t.quoted+" GROUP BY seq / 1024")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var block, n int64
			if err := rows.Scan(&block, &n); err != nil {
				return err
			}
			used[block] = n
		}
		return rows.Err()
	}()
	if err != nil {
		return err
	}
	for block, n := range used {
		numbers := min(int64(blockSize), last+1-int64(block)*blockSize)
		if block == 0 {
			numbers-- // the first number is 1
		}
		if numbers == n {
			continue
		}
		if _, err := tx.Exec(ctx, gapsInsertSQL, t.name, block, numbers-n); err != nil {
			return err
		}
	}
	return nil
}

// hasPositions reports whether the collection has positions in the database that q reads.
func (t *table) hasPositions(q Reader) bool {
	db, ok := q.(interface{ Dialect() sqldb.Dialect })
	return t.positioned && ok && db.Dialect() == sqldb.SQLite
}

// countPositions returns the number of documents of a collection with positions.
func (t *table) countPositions(ctx context.Context, q Reader) (n int, err error) {
	query := t.lastSQL + " - " + gapsSumSQL
	err = eachNumbers(ctx, q, 1, query, []any{t.name, t.name}, func(row []int64) error {
		n = int(row[0])
		return sqldb.ErrStop
	})
	return n, t.wrap(err)
}

// seek finds the document with an offset. This document has the offset rest among the documents whose numbers are greater than after.
// rest is less than blockSize.
func (t *table) seek(ctx context.Context, q Reader, offset int) (after int64, rest int, err error) {
	var unusedBefore int64 // in the blocks before the current one
	inside := false        // the document is in a block with unused numbers
	err = eachNumbers(ctx, q, 2, gapsSelectSQL, []any{t.name}, func(row []int64) error {
		block, unused := row[0], row[1]
		begin := max(block*blockSize, 1)
		if int64(offset) < begin-1-unusedBefore {
			return sqldb.ErrStop // the document is before this block, where all numbers after the previous row's block are used
		}
		end := (block + 1) * blockSize
		if inside = int64(offset) < end-1-unusedBefore-unused; inside {
			after, rest = begin-1, offset-int(begin-1-unusedBefore)
			return sqldb.ErrStop
		}
		unusedBefore += unused
		return nil
	})
	if err != nil || inside {
		return after, rest, err
	}
	// The document is in a block without unused numbers.
	return int64(offset) + unusedBefore, 0, nil
}

// eachNumbers calls use with each row of a short query whose columns are integers.
func eachNumbers(ctx context.Context, q Reader, columns int, query string, args []any, use func(row []int64) error) error {
	row := make([]int64, columns)
	return sqldb.Each(sqldb.Brief(ctx, q), q, columns, query, args, func(values []driver.Value) error {
		for i, v := range values {
			n, ok := v.(int64)
			if !ok {
				return fmt.Errorf("column %d is %T, not an integer", i, v)
			}
			row[i] = n
		}
		return use(row)
	})
}
