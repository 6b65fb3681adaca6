package sqlstore

import (
	"context"
	"fmt"

	"github.com/scimwright/scimwright/engine"
)

// Accepted implements store.Sequences.
func (s *Store) Accepted(ctx context.Context, app string) (n int, err error) {
	err = s.db.Reader().QueryRow(ctx, `SELECT COUNT(*) FROM {sync_state}
		WHERE app_id = ? AND next_at IS NOT NULL AND status = 'pending'`, app).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("sqlstore: accepted changes of %s: %w", app, err)
	}
	return n, nil
}

// Counts implements store.Counts.
func (s *Store) Counts(ctx context.Context, app string) (map[engine.Status]int, error) {
	rows, err := s.db.Reader().Query(ctx, `SELECT status, COUNT(*) FROM {sync_state} WHERE app_id = ? GROUP BY status`, app)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: counts: %w", err)
	}
	defer rows.Close()
	counts := map[engine.Status]int{}
	for rows.Next() {
		var status engine.Status
		var n int
		if err := rows.Scan(&status, &n); err != nil {
			return nil, fmt.Errorf("sqlstore: counts: %w", err)
		}
		counts[status] = n
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("sqlstore: counts: %w", err)
	}
	return counts, nil
}
