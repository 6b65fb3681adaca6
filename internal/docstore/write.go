package docstore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/sqldb"
)

// encoded is a document's JSON text and index values.
type encoded struct {
	text []byte
	keys keys
}

// encode encodes a document. Types with an AppendJSON method encode themselves directly: encoding/json would read their output again.
func (t *table) encode(document any) (e encoded, err error) {
	if e.text, err = t.text(document); err == nil {
		e.keys, err = t.keysOf(document)
	}
	return e, t.wrap(err)
}

// text returns the JSON text of a document.
func (t *table) text(document any) ([]byte, error) {
	if own, ok := document.(interface{ AppendJSON([]byte) []byte }); ok {
		return own.AppendJSON(nil), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // store the characters <, > and & as they are
	if err := enc.Encode(document); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// firstRevision is the revision of a new document. Its type is that of integers in the driver, which then needs no conversion.
const firstRevision = int64(1)

// columns appends the arguments of insertSQL for a new document.
func (e *encoded) columns(args []any, id string, now time.Time) []any {
	var at any = now.UnixMilli()
	return append(append(args, id, firstRevision, at, at, e.text), e.keys.single...)
}

// insertOne stores a new document and returns its row, without its text.
func (t *table) insertOne(ctx context.Context, tx *Tx, id string, e encoded) (row, error) {
	var err error
	numbering := t.numbering.Load()
	if id != "" || !numbering {
		err = checkID(id)
	}
	if err == nil {
		err = tx.changes(ctx, t)
	}
	if err != nil {
		return row{}, t.wrap(err)
	}
	now := tx.began
	r := row{id: id, rev: 1, created: now.UnixMilli(), updated: now.UnixMilli()}
	if numbering {
		err = t.insertNumbered(ctx, tx, &r, e)
	} else {
		t.changing(tx, id)
		r.seq, err = t.insertRow(ctx, tx.sql, e.columns(make([]any, 0, insertColumns+len(t.indexes)), id, now))
	}
	if err == nil {
		err = t.addKeys(ctx, tx.sql, r.seq, e.keys)
	}
	return r, t.wrap(t.explain(err))
}

// numberedColumns is the number of columns that insertNumberedSQL fills in addition to insertColumns and those of the indexes.
const numberedColumns = 2

// insertNumbered inserts the row of a Numbered collection, and sets its seq, and its id if it is empty.
func (t *table) insertNumbered(ctx context.Context, tx *Tx, r *row, e encoded) error {
	seq, id, err := t.assign(ctx, tx, r.id)
	if err != nil {
		return err
	}
	numbered := int64(0)
	if r.id == "" {
		numbered = 1
	}
	r.seq, r.id = seq, id
	t.changing(tx, id)
	args := e.columns(make([]any, 0, insertColumns+len(t.indexes)+numberedColumns), id, tx.began)
	if _, err = tx.sql.Exec(ctx, t.insertNumberedSQL, append(args, seq, numbered)...); err == nil {
		tx.sql.Shared()[t.name] = seq
	}
	return err
}

// insertBatch is the number of documents that one statement inserts.
const insertBatch = 64

// insertAll stores n new documents. The function nth returns the id of the i-th document and a pointer to the document.
func (t *table) insertAll(ctx context.Context, tx *Tx, n int, nth func(i int) (id string, document any)) error {
	if n < 2 || t.hasMulti() || t.numbering.Load() {
		for i := range n {
			id, document := nth(i)
			e, err := t.encode(document)
			if err == nil {
				_, err = t.insertOne(ctx, tx, id, e)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := tx.changes(ctx, t); err != nil {
		return t.wrap(err)
	}
	now := tx.began
	for begin := 0; begin < n; begin += insertBatch {
		end := min(begin+insertBatch, n)
		args, ids := make([]any, 0, (end-begin)*(insertColumns+len(t.indexes))), make([]string, 0, end-begin)
		for i := begin; i < end; i++ {
			id, document := nth(i)
			if err := checkID(id); err != nil {
				return t.wrap(err)
			}
			e, err := t.encode(document)
			if err != nil {
				return err
			}
			args, ids = e.columns(args, id, now), append(ids, id)
		}
		t.changing(tx, ids...)
		if _, err := tx.sql.Exec(ctx, t.insertManySQL(end-begin), args...); err != nil {
			return t.wrap(t.explain(err))
		}
	}
	return nil
}

// replace replaces the content of a document and returns its row, without its text.
func (t *table) replace(ctx context.Context, tx *Tx, id string, rev int64, document any) (row, error) {
	if !validID(id) {
		return row{}, t.notFound(id)
	}
	if t.hasMulti() {
		old, before, err := t.stored(ctx, tx, id)
		switch {
		case err != nil:
			return row{}, err
		case rev != 0 && rev != old.rev:
			return row{}, t.conflict(id, rev, old.rev)
		}
		v, err := t.revision(old, before, document)
		if err != nil {
			return row{}, err
		}
		return t.revise(ctx, tx, v)
	}
	e, err := t.encode(document)
	if err != nil {
		return row{}, err
	}
	if err := tx.changes(ctx, t); err != nil {
		return row{}, t.wrap(err)
	}
	t.changing(tx, id)
	r := row{id: id, updated: tx.store.now().UnixMilli()}
	where, found := t.byID(id)
	args := append(append(append([]any{r.updated, e.text}, e.keys.single...), found...), rev, rev)
	query := t.updateSQL + where + " AND (rev = ? OR ? = 0) RETURNING seq, rev, created"
	err = tx.sql.ExecReturning(ctx, []any{&r.seq, &r.rev, &r.created}, query, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return row{}, t.missed(ctx, tx, id, rev)
	}
	return r, t.wrap(t.explain(err))
}

// missed returns the reason why an update matched no row.
func (t *table) missed(ctx context.Context, tx *Tx, id string, rev int64) error {
	var found int64
	where, args := t.byID(id)
	err := tx.QueryRow(ctx, "SELECT rev FROM "+t.quoted+" WHERE "+where, args...).Scan(&found)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return t.notFound(id)
	case err != nil:
		return t.wrap(err)
	}
	return t.conflict(id, rev, found)
}

func (t *table) conflict(id string, expected, stored int64) error {
	return t.wrap(fmt.Errorf("%q: %w: expected revision %d, stored revision %d", id, ErrConflict, expected, stored))
}

// Delete implements Collection.
func (t *table) Delete(ctx context.Context, tx *Tx, id string) error {
	if !validID(id) {
		return t.notFound(id)
	}
	if err := tx.changes(ctx, t); err != nil {
		return t.wrap(err)
	}
	t.changing(tx, id)
	where, args := t.byID(id)
	n, err := t.deleteRows(ctx, tx, "DELETE FROM "+t.quoted+" WHERE "+where, args...)
	if err != nil {
		return t.wrap(err)
	}
	if n == 0 {
		return t.notFound(id)
	}
	return nil
}

// DeleteWhere implements Collection.
func (t *table) DeleteWhere(ctx context.Context, tx *Tx, cond Cond) (int, error) {
	b, err := t.build(cond)
	if err == nil && b.inexact {
		err = errInexact // the condition would also delete documents that do not match
	}
	if err == nil {
		err = tx.changes(ctx, t)
	}
	if err != nil {
		return 0, t.wrap(err)
	}
	if ids, ok := idsOf(cond); ok {
		t.changing(tx, ids...)
	}
	n, err := t.deleteRows(ctx, tx, "DELETE FROM "+t.quoted+" WHERE "+b.sql.String(), b.args...)
	return n, t.wrap(err)
}

func affected(res sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// clear implements Table.
func (t *table) clear(ctx context.Context, tx *Tx) error {
	if err := tx.changes(ctx, t); err != nil {
		return t.wrap(err)
	}
	statements := []string{"DELETE FROM " + t.quoted}
	for i := range t.indexes {
		if ix := &t.indexes[i]; ix.multi {
			statements = append(statements, "DELETE FROM "+ix.side)
		}
	}
	return t.wrap(execAll(ctx, tx.sql, statements...))
}

// open implements Table.
func (t *table) open(ctx context.Context, tx *sqldb.Tx, log *slog.Logger) error {
	t.numbering.Store(t.numbered && tx.Dialect() == sqldb.SQLite)
	if err := t.openIndexes(ctx, tx, log); err != nil {
		return err
	}
	return t.wrap(t.openPositions(ctx, tx))
}

func (t *table) openIndexes(ctx context.Context, tx *sqldb.Tx, log *slog.Logger) error {
	return t.wrap(t.ready(ctx, tx, func(fresh []*index) error {
		began := time.Now()
		documents, err := t.fill(ctx, tx, fresh)
		if err == nil && documents > 0 {
			names := make([]string, len(fresh))
			for i, ix := range fresh {
				names[i] = ix.name
			}
			tx.AfterCommit(func() {
				log.InfoContext(ctx, "indexes filled", "collection", t.name, "indexes", names, "documents", documents, "duration", time.Since(began))
			})
		}
		return err
	}))
}

// fill computes the values of new indexes for the documents that are stored already, and returns the number of documents. It reads them in
// batches.
func (t *table) fill(ctx context.Context, tx *sqldb.Tx, fresh []*index) (documents int, err error) {
	type stored struct {
		seq      int64
		id       string
		document any
	}
	for after := int64(0); ; {
		var some []stored
		err := t.readRows(ctx, tx, columns{}, t.selectSQL(columns{})+" WHERE seq > ? ORDER BY seq"+sqldb.Limit, []any{after, chunkSize},
			func(r *row) error {
				document := t.blank()
				some = append(some, stored{r.seq, r.id, document})
				return t.decode(r, document)
			})
		if err != nil {
			return documents, err
		}
		for _, s := range some {
			if err := t.fillOne(ctx, tx, fresh, s.seq, s.document); err != nil {
				return documents, fmt.Errorf("filling indexes: %q: %w", s.id, err)
			}
		}
		documents += len(some)
		if len(some) < chunkSize {
			return documents, nil
		}
		after = some[len(some)-1].seq
	}
}

func (t *table) fillOne(ctx context.Context, tx *sqldb.Tx, fresh []*index, seq int64, document any) error {
	var sets []string
	var args []any
	for i := range t.indexes {
		ix := &t.indexes[i]
		if !slices.Contains(fresh, ix) {
			continue
		}
		found, err := ix.keys(ix.values(document))
		switch {
		case err != nil:
		case ix.multi:
			err = ix.add(ctx, tx, seq, found)
		case len(found) == 1:
			sets, args = append(sets, ix.quoted+" = ?"), append(args, found[0])
		}
		if err != nil {
			return fmt.Errorf("index %s: %w", ix.name, err)
		}
	}
	if len(sets) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, "UPDATE "+t.quoted+" SET "+strings.Join(sets, ", ")+" WHERE seq = ?", append(args, seq)...)
	return err
}

// wrap adds the name of the collection to a non-nil error.
func (t *table) wrap(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*UniqueError](err); ok {
		return err // the error contains the name of the collection already
	}
	return fmt.Errorf("%s: %w", t.name, err)
}
