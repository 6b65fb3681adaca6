package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// raiseAll is raise for rows that are there.
const raiseAll = `UPDATE sync_state SET
	desired_gen = desired_gen + 1,
	full_gen = CASE WHEN ? = 1 THEN desired_gen + 1 ELSE full_gen END,
	next_at  = CASE WHEN status = 'retrying' AND ? = 0 THEN next_at ELSE CAST(? AS BIGINT) END,
	attempts = CASE WHEN status = 'retrying' AND ? = 0 THEN attempts ELSE 0 END,
	status   = CASE WHEN status = 'retrying' AND ? = 0 THEN status ELSE 'dirty' END,
	dirty_since = CASE WHEN dirty_since > 0 THEN dirty_since ELSE CAST(? AS BIGINT) END,
	updated_at = ?
	WHERE `

// MarkAll implements engine.Store.
func (s *Store) MarkAll(ctx context.Context, tx engine.Execer, now time.Time, m engine.MarkAll) (int64, error) {
	t := sqldb.WrapTx(tx, s.db.Dialect())
	var marked int64
	for _, kind := range []engine.Kind{engine.User, engine.Group} { // in the order in which rows are written
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
	if _, err := t.Exec(ctx, touch, touching(m.App, now, m.Retry)...); err != nil {
		return 0, fmt.Errorf("sqlstore: mark the lane of %s: %w", m.App, err)
	}
	return marked, nil
}

func markKind(ctx context.Context, t *sqldb.Tx, kind engine.Kind, now time.Time, m engine.MarkAll) (int64, error) {
	where, args := `app_id = ? AND kind = ?`, []any{m.App, string(kind)}
	if len(m.Status) > 0 {
		where += ` AND status IN (?` + strings.Repeat(", ?", len(m.Status)-1) + `)`
		for _, status := range m.Status {
			args = append(args, string(status))
		}
	}
	if t.Dialect() == Postgres { // where an UPDATE takes its rows in any order
		lock := `SELECT COUNT(*) FROM (SELECT 1 FROM sync_state WHERE ` + where + ` ORDER BY principal_id FOR UPDATE) locked`
		if _, err := t.Exec(ctx, lock, args...); err != nil {
			return 0, err
		}
	}
	retry := bit(m.Retry)
	values := []any{bit(m.AllMembers && kind == engine.Group), retry, ms(now), retry, retry, ms(now), ms(now)}
	result, err := t.Exec(ctx, raiseAll+where, append(values, args...)...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
