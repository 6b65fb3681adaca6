package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// upsertProfile stores a profile. If the lane does not exist, it creates one that is not pending. Parameters: app, now, profile.
const upsertProfile = `
INSERT INTO {app_lane} (app_id, epoch, owner, lease_until, next_at, kicks, hold, hold_until, hold_reason, hold_streak, profile)
VALUES (?, ?, '', ` + noLease + `, NULL, 0, '', 0, '', 0, ?)
ON CONFLICT (app_id) DO UPDATE SET profile = excluded.profile RETURNING learned`

// SaveProfile implements store.Profiles.
func (s *Store) SaveProfile(ctx context.Context, app string, now time.Time, c store.TargetProfile, change func(*engine.Learned)) error {
	found, err := encodeJSON(c)
	if err != nil {
		return fmt.Errorf("sqlstore: profile of %s: %w", app, err)
	}
	err = s.update(ctx, func(tx *sqldb.Tx) error {
		var before string
		if err := tx.ExecReturning(ctx, []any{&before}, upsertProfile, app, ms(now), found); err != nil {
			return err
		}
		_, err := applyLearned(ctx, tx, app, before, change)
		return err
	})
	if err != nil {
		return fmt.Errorf("sqlstore: profile of %s: %w", app, err)
	}
	return nil
}

// Profile implements store.Profiles.
func (s *Store) Profile(ctx context.Context, app string) (c store.TargetProfile, err error) {
	var stored string
	err = s.db.Reader().QueryRow(ctx, `SELECT profile FROM {app_lane} WHERE app_id = ? AND profile <> ''`, app).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) {
		err = engine.ErrNotFound
	}
	if err == nil {
		err = decodeJSON(stored, &c)
	}
	if err != nil {
		return c, fmt.Errorf("sqlstore: profile of %s: %w", app, err)
	}
	return c, nil
}
