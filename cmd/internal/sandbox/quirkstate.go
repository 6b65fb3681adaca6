package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/scimserver/quirks"
)

// quirkState is the state of the quirks of one service provider, in a table that all replicas use. The table is not logged: a crash of
// PostgreSQL resets the state.
type quirkState struct {
	replicas *replicas
	scope    string // unique for the service provider and its settings
}

var _ quirks.Shared = quirkState{}

// quirksOf returns the state of the quirks of a service provider. generation is the number of times that its quirks were set. On SQLite it
// returns nil: the state is in memory.
func (r *replicas) quirksOf(name string, generation int) quirks.Shared {
	if r == nil {
		return nil
	}
	return quirkState{r, fmt.Sprintf("%s/%d/", name, generation)}
}

// dropQuirks removes the state of the quirks of a service provider.
func (r *replicas) dropQuirks(ctx context.Context, tx *sqldb.Tx, name string) error {
	if r == nil {
		return nil
	}
	_, err := tx.Exec(ctx, r.sql("DELETE FROM {%s_quirk_state} WHERE key LIKE ?"), name+"/%")
	return err
}

// Draw implements quirks.Shared.
func (q quirkState) Draw(ctx context.Context, key string) (n int64, err error) {
	db := q.replicas.db
	err = db.Wrap(db.Writer()).QueryRow(ctx, q.replicas.sql(`INSERT INTO {%s_quirk_state} AS s (key, item, n, until)
		VALUES (?, '', 0, 'infinity') ON CONFLICT (key, item) DO UPDATE SET n = s.n + 1 RETURNING n`), q.scope+key).Scan(&n)
	return n, err
}

// Add implements quirks.Shared.
func (q quirkState) Add(ctx context.Context, key, id string, keep time.Duration) error {
	db := q.replicas.db
	_, err := db.Wrap(db.Writer()).Exec(ctx, q.replicas.sql(`WITH expired AS (DELETE FROM {%[1]s_quirk_state} WHERE key = ? AND item <> ''
			AND until < clock_timestamp())
		INSERT INTO {%[1]s_quirk_state} (key, item, n, until) VALUES (?, ?, 0, clock_timestamp() + ?::interval) ON CONFLICT DO NOTHING`),
		q.scope+key, q.scope+key, id, fmt.Sprintf("%d milliseconds", keep.Milliseconds()))
	return err
}

// Recent implements quirks.Shared.
func (q quirkState) Recent(ctx context.Context, key string) (map[string]bool, error) {
	rows, err := q.replicas.db.Reader().Query(ctx,
		q.replicas.sql("SELECT item FROM {%s_quirk_state} WHERE key = ? AND item <> '' AND until > clock_timestamp()"), q.scope+key)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	recent := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		recent[id] = true
	}
	return recent, rows.Err()
}
