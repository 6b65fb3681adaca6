package desired

import (
	"context"
	"errors"
	"fmt"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// resealRows is the number of rows in one transaction of Reseal.
const resealRows = 500

// Reseal encrypts all secrets again that the first key of NewKeys does not decrypt, in several transactions. It returns the numbers of the
// encrypted secrets and of those that no key decrypts, which it does not change. With another Seal, it encrypts all secrets again. An
// interrupted Reseal may be repeated.
func (s *Store) Reseal(ctx context.Context) (changed, lost int, err error) {
	if s.seal == nil {
		return 0, 0, ErrNoSeal
	}
	for _, table := range sealedTables {
		var at sealedRow
		for {
			var rows []sealedRow
			var n, missing int
			err := s.transact(ctx, sqldb.DefaultWait, func(tx *sqldb.Tx) (err error) {
				if rows, err = table.read(ctx, tx, at); err != nil {
					return err
				}
				n, missing, err = s.resealed(ctx, tx, &table, rows)
				return err
			})
			if err != nil {
				return changed, lost, fmt.Errorf("desired: encrypt again: %w", err)
			}
			changed, lost = changed+n, lost+missing
			if len(rows) < resealRows {
				break
			}
			at = rows[len(rows)-1]
		}
	}
	return changed, lost, nil
}

// sealedTables are the tables with encrypted texts.
var sealedTables = []sealedRows{
	{table: "desired_app", column: "secrets", binding: func(r *sealedRow) string { return appBinding(r.app) }},
	{table: "desired_principal", column: "password", user: true,
		binding: func(r *sealedRow) string { return passwordBinding(r.app, r.id) }},
}

// sealedRows is a table with encrypted texts.
type sealedRows struct {
	table, column string
	user          bool // rows are of users
	binding       func(r *sealedRow) string
}

type sealedRow struct{ app, id, text string }

// read returns the rows with encrypted texts after a row.
func (t *sealedRows) read(ctx context.Context, q sqldb.Queryer, after sealedRow) (out []sealedRow, err error) {
	query := `SELECT app_id, '', ` + t.column + ` FROM {` + t.table + `} WHERE app_id > ? AND ` + t.column + ` <> '' ORDER BY app_id`
	args := []any{after.app}
	if t.user {
		query = `SELECT app_id, principal_id, ` + t.column + ` FROM {` + t.table + `}
			WHERE (app_id > ? OR app_id = ? AND principal_id > ?) AND kind = ? AND ` + t.column + ` <> '' ORDER BY app_id, principal_id`
		args = []any{after.app, after.app, after.id, string(engine.User)}
	}
	rows, err := q.Query(ctx, query+sqldb.Limit, append(args, resealRows)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r sealedRow
		if err := rows.Scan(&r.app, &r.id, &r.text); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// resealed encrypts rows again. A row that was written since it was read is not changed: it is encrypted with the first key already.
func (s *Store) resealed(ctx context.Context, tx *sqldb.Tx, t *sealedRows, rows []sealedRow) (changed, lost int, err error) {
	ring, _ := s.seal.(interface {
		Current(sealed, binding string) bool
	})
	for i := range rows {
		r := &rows[i]
		binding := t.binding(r)
		if ring != nil && ring.Current(r.text, binding) {
			continue
		}
		plain, err := s.seal.Open(r.text, binding)
		if err != nil {
			lost++
			continue
		}
		text, err := s.seal.Seal(plain, binding)
		if err != nil {
			return changed, lost, errors.Join(ErrNoSeal, err)
		}
		where, args := ` WHERE app_id = ?`, []any{text, r.app}
		if t.user {
			where, args = where+` AND kind = ? AND principal_id = ?`, append(args, string(engine.User), r.id)
		}
		_, err = tx.Exec(ctx, `UPDATE {`+t.table+`} SET `+t.column+` = ?`+where+` AND `+t.column+` = ?`, append(args, r.text)...)
		if err != nil {
			return changed, lost, err
		}
		changed++
	}
	return changed, lost, nil
}
