package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// markAllSet has the assignments of upsertMark, for rows that exist.
const markAllSet = `UPDATE {sync_state} SET
	desired_gen = desired_gen + 1,
	full_gen = CASE WHEN ? = 1 THEN desired_gen + 1 ELSE full_gen END,
	next_at  = CASE WHEN status IN ('retrying', 'pending') AND ? = 0 THEN next_at ELSE CAST(? AS BIGINT) END,
	attempts = CASE WHEN status = 'retrying' AND ? = 0 OR status = 'pending' THEN attempts ELSE 0 END,
	status   = CASE WHEN status = 'retrying' AND ? = 0 OR status = 'pending' THEN status ELSE 'dirty' END,
	updated_at = ?`

// markAllParts has two statements. The first marks rows with a dirty_since and does not assign that column, because SQLite rewrites an
// index entry whenever a column of the index is assigned. The second marks the other rows and sets dirty_since. In this order no row is
// marked by both. The unary + prevents the use of the index on dirty_since, whose order would cause random reads of the table.
var markAllParts = []struct{ set, where string }{
	{``, ` AND +dirty_since > 0`},
	{`, dirty_since = CAST(? AS BIGINT)`, ` AND +dirty_since <= 0`},
}

// MarkAll implements store.MarkAll.
func (s *Store) MarkAll(ctx context.Context, tx engine.Execer, now time.Time, m engine.MarkAll) (int64, error) {
	t := s.db.Wrap(tx)
	var marked int64
	for _, kind := range []engine.Kind{engine.User, engine.Group} { // users first, as in all transactions that write rows
		if m.Kind != "" && m.Kind != kind {
			continue
		}
		n, err := markKind(ctx, t, kind, now, m)
		if err != nil {
			return 0, fmt.Errorf("sqlstore: mark all principals of %s: %w", m.App, err)
		}
		marked += n
	}
	if marked == 0 {
		return 0, nil
	}
	if _, err := t.Exec(ctx, upsertLane, s.laneArgs(m.App, now, m.Retry)...); err != nil {
		return 0, fmt.Errorf("sqlstore: mark the lane of %s: %w", m.App, err)
	}
	return marked, nil
}

func markKind(ctx context.Context, t *sqldb.Tx, kind engine.Kind, now time.Time, m engine.MarkAll) (int64, error) {
	where, args := `app_id = ? AND kind = ?`, []any{m.App, string(kind)}
	if len(m.Status) > 0 {
		where += ` AND status IN ` + list(len(m.Status))
		for _, status := range m.Status {
			args = append(args, string(status))
		}
	}
	if t.Dialect() == sqldb.Postgres { // first lock the rows in a defined order: an UPDATE alone locks them in any order
		lock := `SELECT COUNT(*) FROM (SELECT 1 FROM {sync_state} WHERE ` + where + ` ORDER BY principal_id FOR UPDATE) locked`
		if _, err := t.Exec(ctx, lock, args...); err != nil {
			return 0, err
		}
	}
	retry := bit(m.Retry)
	values := []any{bit(m.AllMembers && kind == engine.Group), retry, ms(now), retry, retry, ms(now)}
	var marked int64
	for _, part := range markAllParts {
		all := slices.Clone(values)
		if part.set != "" {
			all = append(all, ms(now))
		}
		result, err := t.Exec(ctx, markAllSet+part.set+` WHERE `+where+part.where, append(all, args...)...)
		if err != nil {
			return 0, err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return 0, err
		}
		marked += n
	}
	return marked, nil
}
