package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Requeue implements store.Tasks.
func (s *Store) Requeue(ctx context.Context, now time.Time, m engine.Mark, fresh bool) (generation int64, err error) {
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		if err := s.Mark(ctx, tx.Execer(), now, []engine.Mark{m}); err != nil {
			return err
		}
		return tx.ExecReturning(ctx, []any{&generation}, `UPDATE {sync_state} SET
			fresh_gen = CASE WHEN ? = 1 THEN desired_gen ELSE fresh_gen END, unkept = CASE WHEN ? = 1 THEN '' ELSE unkept END
			WHERE app_id = ? AND kind = ? AND principal_id = ? RETURNING desired_gen`, bit(fresh), bit(fresh), m.App, string(m.Kind), m.ID)
	})
	return generation, err
}

// SavePlan implements store.Plans.
func (s *Store) SavePlan(ctx context.Context, p engine.Plan) error {
	doc, err := encodeJSON(p)
	if err == nil {
		err = s.update(ctx, func(tx *sqldb.Tx) error {
			old := ms(p.CreatedAt.Add(-engine.PlansKept))
			_, err := tx.Exec(ctx, `DELETE FROM {plan_item} WHERE plan_id IN (SELECT id FROM {plan}
				WHERE app_id = ? AND expires_at < ?)`, p.App, old)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `DELETE FROM {plan} WHERE app_id = ? AND expires_at < ?`, p.App, old); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `INSERT INTO {plan} (id, app_id, status, created_at, expires_at, doc) VALUES (?, ?, ?, ?, ?, ?)
				ON CONFLICT (id) DO UPDATE SET status = excluded.status, doc = excluded.doc`,
				p.ID, p.App, string(p.Status), ms(p.CreatedAt), ms(p.ExpiresAt), doc)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("sqlstore: save the plan %s: %w", p.ID, err)
	}
	return nil
}

// AddPlanItems implements store.Plans.
func (s *Store) AddPlanItems(ctx context.Context, items []engine.PlanItem) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		for _, i := range items {
			doc, err := encodeJSON(i)
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `INSERT INTO {plan_item} (plan_id, seq, kind, principal_id, operation, outcome, generation, digest, marked, doc)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?)`,
				i.Plan, i.Seq, string(i.Kind), i.ID, string(i.Operation), string(i.Outcome), i.Generation, i.Digest, doc)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("sqlstore: add items to a plan: %w", err)
	}
	return nil
}

const planColumns = `id, app_id, status, created_at, expires_at, doc`

func scanPlan(rows interface{ Scan(...any) error }, p *engine.Plan) error {
	var id, app, doc string
	var status engine.PlanStatus
	var created, expires int64
	if err := rows.Scan(&id, &app, &status, &created, &expires, &doc); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(doc), p); err != nil {
		return err
	}
	p.ID, p.App, p.Status, p.CreatedAt, p.ExpiresAt = id, app, status, at(created), at(expires)
	return nil
}

// Plans implements store.Plans.
func (s *Store) Plans(ctx context.Context, q engine.PlanQuery) ([]engine.Plan, error) {
	where, args := conditions(map[string]string{"id": q.ID, "app_id": q.App, "status": string(q.Status)})
	rows, err := s.db.Reader().Query(ctx, `SELECT `+planColumns+` FROM {plan}
		WHERE `+where+` ORDER BY created_at DESC, id LIMIT ?`, append(args, limitOr(q.Limit))...)
	out, err := collect(rows, err, func(r *sql.Rows, p *engine.Plan) error { return scanPlan(r, p) })
	if err != nil {
		return nil, fmt.Errorf("sqlstore: plans: %w", err)
	}
	return out, nil
}

// PlanItems implements store.Plans.
func (s *Store) PlanItems(ctx context.Context, q engine.PlanItemQuery) ([]engine.PlanItem, error) {
	where, args := conditions(map[string]string{"operation": string(q.Operation), "outcome": string(q.Outcome)})
	rows, err := s.db.Reader().Query(ctx, `SELECT plan_id, marked, doc FROM {plan_item}
		WHERE plan_id = ? AND seq > ? AND `+where+` ORDER BY seq LIMIT ?`,
		append(append([]any{q.Plan, q.After}, args...), limitOr(q.Limit))...)
	out, err := collect(rows, err, func(r *sql.Rows, i *engine.PlanItem) error {
		var id, doc string
		var marked int64
		if err := r.Scan(&id, &marked, &doc); err != nil {
			return err
		}
		err := json.Unmarshal([]byte(doc), i)
		i.Plan, i.Marked = id, marked == 1
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: items of the plan %s: %w", q.Plan, err)
	}
	return out, nil
}

// DiscardPlan implements store.Plans.
func (s *Store) DiscardPlan(ctx context.Context, id string) error {
	err := s.update(ctx, func(tx *sqldb.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM {plan_item} WHERE plan_id = ?`, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM {plan} WHERE id = ?`, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlstore: discard the plan %s: %w", id, err)
	}
	return nil
}

// Planned implements store.Plans. It reads the items before the plan: if another client applies the plan in between, the plan has the new
// status.
func (s *Store) Planned(ctx context.Context, tx engine.Execer, id string) (p engine.Plan, items []store.Planned, err error) {
	t := s.db.Wrap(tx)
	app := ""
	err = t.QueryRow(ctx, `SELECT app_id FROM {plan} WHERE id = ?`, id).Scan(&app)
	if errors.Is(err, sql.ErrNoRows) {
		return p, nil, engine.ErrNotFound
	}
	if err != nil {
		return p, nil, fmt.Errorf("sqlstore: plan %s: %w", id, err)
	}
	// The app is a parameter, so that the query reads one partition.
	rows, err := t.Query(ctx, `SELECT i.seq, i.kind, i.principal_id, i.operation, i.outcome, i.generation, i.digest, i.marked,
			COALESCE(s.desired_gen, 0), COALESCE(s.status, '')
		FROM {plan_item} AS i
		LEFT JOIN {sync_state} AS s ON s.app_id = ? AND s.kind = i.kind AND s.principal_id = i.principal_id
		WHERE i.plan_id = ? ORDER BY i.seq`, app, id)
	items, err = collect(rows, err, func(r *sql.Rows, i *store.Planned) error {
		var marked int64
		err := r.Scan(&i.Seq, &i.Kind, &i.ID, &i.Operation, &i.Outcome, &i.Generation, &i.Digest, &marked, &i.Now, &i.Status)
		i.Plan, i.Marked = id, marked == 1
		return err
	})
	if err == nil {
		err = scanPlan(t.QueryRow(ctx, `SELECT `+planColumns+` FROM {plan} WHERE id = ?`, id), &p)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return p, nil, engine.ErrNotFound
	case err != nil:
		return p, nil, fmt.Errorf("sqlstore: plan %s: %w", id, err)
	}
	return p, items, nil
}

// ApplyPlan implements store.Plans. It detects a mark that was committed since the caller read the plan: it waits for the row of each
// principal and compares the generations.
func (s *Store) ApplyPlan(ctx context.Context, tx engine.Execer, now time.Time, p engine.Plan, to engine.PlanStatus,
	items []engine.PlanItem) error {
	if err := s.applyPlan(ctx, s.db.Wrap(tx), now, p, to, items); err != nil {
		return fmt.Errorf("sqlstore: apply the plan %s: %w", p.ID, err)
	}
	return nil
}

func (s *Store) applyPlan(ctx context.Context, tx *sqldb.Tx, now time.Time, p engine.Plan, to engine.PlanStatus,
	items []engine.PlanItem) error {
	items = slices.SortedFunc(slices.Values(items), func(a, b engine.PlanItem) int {
		return lockOrder(principal{a.Kind, p.App, a.ID}, principal{b.Kind, p.App, b.ID})
	})
	for _, i := range items {
		var desired int64
		err := tx.ExecReturning(ctx, []any{&desired}, upsertMark+` RETURNING desired_gen`,
			markArgs(p.App, i.Kind, i.ID, i.Kind == engine.Group, now, false)...)
		if err != nil {
			return err
		}
		if desired != i.Generation+1 {
			return fmt.Errorf("%w: %s %s was marked in the meantime", engine.ErrStale, i.Kind, i.ID)
		}
	}
	res, err := tx.Exec(ctx, `UPDATE {plan} SET status = ? WHERE id = ? AND status = ?`, string(to), p.ID, string(p.Status))
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(engine.ErrApplied, err)
	}
	for _, i := range items {
		if _, err := tx.Exec(ctx, `UPDATE {plan_item} SET marked = 1 WHERE plan_id = ? AND seq = ?`, p.ID, i.Seq); err != nil {
			return err
		}
		if i.Operation == engine.RemoveUser || i.Operation == engine.RemoveGroup {
			if err := approve(ctx, tx, p.App, now, i.Kind, i.ID); err != nil {
				return err
			}
		}
	}
	_, err = tx.Exec(ctx, upsertLane, s.laneArgs(p.App, now, false)...)
	return err
}

// approve makes the deletion guard allow the removal of a principal.
func approve(ctx context.Context, tx *sqldb.Tx, app string, now time.Time, kind engine.Kind, id string) error {
	_, err := tx.Exec(ctx, `INSERT INTO {removal} (app_id, kind, principal_id, at, approved) VALUES (?, ?, ?, ?, 1)
		ON CONFLICT (app_id, kind, principal_id) DO UPDATE SET at = excluded.at, approved = 1`, app, string(kind), id, ms(now))
	return err
}
