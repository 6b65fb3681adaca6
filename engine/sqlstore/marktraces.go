package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// traceSize is the size of a trace context, and tracesSize that of the longest value of mark_trace.contexts.
const (
	traceSize  = len("00-") + 32 + len("-") + 16 + len("-01")
	tracesSize = store.MaxMarkTraces*(traceSize+1) - 1
)

// traceRows is the maximum number of rows in one statement.
const traceRows = 100

// SaveTrace implements store.MarkTraces. The rows of mark_trace are written after the lane row, in the order of the principals.
func (s *Store) SaveTrace(ctx context.Context, tx engine.Execer, marks []engine.Mark, traceparent string) error {
	if len(traceparent) != traceSize || strings.ContainsAny(traceparent, " %_") {
		return errors.New("sqlstore: the trace context is not a traceparent of version 00")
	}
	all := make([]principal, 0, len(marks))
	for _, m := range marks {
		all = append(all, principal{m.Kind, m.App, m.ID})
	}
	slices.SortFunc(all, lockOrder)
	t := s.db.Wrap(tx)
	for rows := range slices.Chunk(slices.Compact(all), traceRows) {
		args := make([]any, 0, 4*len(rows)+1)
		for _, p := range rows {
			args = append(args, p.app, string(p.kind), p.id, traceparent)
		}
		values := strings.Repeat(", (?, ?, ?, ?)", len(rows))[len(", "):]
		_, err := t.Exec(ctx, `INSERT INTO {mark_trace} (app_id, kind, principal_id, contexts) VALUES `+values+`
			ON CONFLICT (app_id, kind, principal_id) DO UPDATE SET contexts = {mark_trace}.contexts || ' ' || excluded.contexts
			WHERE length({mark_trace}.contexts) < ? AND {mark_trace}.contexts NOT LIKE '%' || excluded.contexts || '%'`,
			append(args, tracesSize)...)
		if err != nil {
			return fmt.Errorf("sqlstore: save the trace of marks: %w", err)
		}
	}
	return nil
}

// MarkTraces implements store.MarkTraces.
func (s *Store) MarkTraces(ctx context.Context, app string, p engine.Principal) ([]string, error) {
	var contexts string
	err := s.db.Reader().QueryRow(ctx, `SELECT contexts FROM {mark_trace} WHERE app_id = ? AND kind = ? AND principal_id = ?`,
		app, string(p.Kind), p.ID).Scan(&contexts)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sqlstore: traces of %s %s of %s: %w", p.Kind, p.ID, app, err)
	}
	return strings.Fields(contexts), nil
}

// EndTraces implements store.MarkTraces.
func (s *Store) EndTraces(ctx context.Context, app string, p engine.Principal, ended []string) error {
	if len(ended) == 0 {
		return nil
	}
	contexts := strings.Join(ended, " ")
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		res, err := tx.Exec(ctx, `DELETE FROM {mark_trace} WHERE app_id = ? AND kind = ? AND principal_id = ? AND contexts = ?`,
			app, string(p.Kind), p.ID, contexts)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE {mark_trace} SET contexts = substr(contexts, ?)
			WHERE app_id = ? AND kind = ? AND principal_id = ? AND contexts LIKE ?`,
			len(contexts)+2, app, string(p.Kind), p.ID, contexts+" %")
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlstore: end the traces of %s %s of %s: %w", p.Kind, p.ID, app, err)
	}
	return nil
}
