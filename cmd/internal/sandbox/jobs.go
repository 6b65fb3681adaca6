package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scimwright/scimwright/engine/jobs"
	"github.com/scimwright/scimwright/engine/jobs/riverjobs"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
	"github.com/scimwright/scimwright/mgmtapi"
)

// scheduler returns the scheduler of the jobs of the engine and the management API: the built-in one on SQLite, River on PostgreSQL, with a
// small pool of connections of its own.
func (s *Sandbox) scheduler(ctx context.Context, db *sqldb.DB, store *sqlstore.Store) (jobs.Scheduler, error) {
	if db.Dialect() == sqldb.SQLite {
		kept, err := store.Jobs()
		return jobs.New(jobs.Options{Store: kept, Logger: s.options.Logger}), err
	}
	config, err := pgxpool.ParseConfig(s.options.DB)
	if err == nil {
		err = sqlopen.AdjustMode(ctx, s.options.DB, config.ConnConfig)
	}
	if err != nil {
		return nil, fmt.Errorf("connections for jobs: %w", err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connections for jobs: %w", err)
	}
	s.onClose(func(context.Context) error { pool.Close(); return nil })
	var schema string
	if err := pool.QueryRow(ctx, `SELECT current_schema()`).Scan(&schema); err != nil {
		return nil, fmt.Errorf("connections for jobs: %w", err)
	}
	return riverjobs.Open(ctx, pool, riverjobs.Options{Schema: riverSchema(schema), Logger: s.options.Logger})
}

// plainSchema matches the schemas whose name is part of the name of River's schema.
var plainSchema = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,33}$`)

// riverSchema returns the schema of River's tables for the schema of the sandbox's tables: two sandboxes in different schemas of a database
// do not share jobs.
func riverSchema(schema string) string {
	switch {
	case schema == "public":
		return riverjobs.DefaultSchema
	case plainSchema.MatchString(schema):
		return schema + "_river"
	}
	sum := sha256.Sum256([]byte(schema))
	return riverjobs.DefaultSchema + "_" + hex.EncodeToString(sum[:4])
}

// managementJobs runs the jobs of the management API.
type managementJobs struct{ scheduler jobs.Scheduler }

var _ mgmtapi.Jobs = managementJobs{}

// Register implements mgmtapi.Jobs.
func (m managementJobs) Register(k mgmtapi.JobKind) error {
	return m.scheduler.Register(jobs.Kind{Name: k.Name, Every: k.Every, Long: k.Long, Work: func(ctx context.Context, j jobs.Job) error {
		again, err := k.Work(ctx, j.Key, j.Stopping)
		if err == nil && again > 0 {
			err = jobs.Snooze(again)
		}
		return err
	}})
}

// Insert implements mgmtapi.Jobs.
func (m managementJobs) Insert(ctx context.Context, kind, key string) error {
	return m.scheduler.Insert(ctx, kind, key, 0)
}
