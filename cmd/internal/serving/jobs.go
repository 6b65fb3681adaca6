package serving

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scimwright/scimwright/engine/jobs"
	"github.com/scimwright/scimwright/engine/jobs/riverjobs"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// Scheduler returns the scheduler of the jobs of a program: the built-in one on SQLite, River on PostgreSQL, with a small pool of
// connections of its own, which closing closes.
func Scheduler(
	ctx context.Context, closing *Closing, databaseURL string, db *sqldb.DB, store *sqlstore.Store, log *slog.Logger,
) (jobs.Scheduler, error) {
	if db.Dialect() == sqldb.SQLite {
		kept, err := store.Jobs()
		return jobs.New(jobs.Options{Store: kept, Logger: log}), err
	}
	config, err := pgxpool.ParseConfig(databaseURL)
	if err == nil {
		err = sqlopen.AdjustMode(ctx, databaseURL, config.ConnConfig)
	}
	if err != nil {
		return nil, fmt.Errorf("connections for jobs: %w", err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connections for jobs: %w", err)
	}
	closing.OnClose(func(context.Context) error { pool.Close(); return nil })
	var schema string
	if err := pool.QueryRow(ctx, `SELECT current_schema()`).Scan(&schema); err != nil {
		return nil, fmt.Errorf("connections for jobs: %w", err)
	}
	return riverjobs.Open(ctx, pool, riverjobs.Options{Schema: riverSchema(schema), Poll: jobPoll, Logger: log})
}

// jobPoll is the interval at which a process searches for jobs that other processes have inserted. Its own jobs start immediately.
const jobPoll = 4 * time.Second

// plainSchema matches the schemas whose name is part of the name of River's schema.
var plainSchema = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,33}$`)

// riverSchema returns the schema of River's tables for the schema of the program's tables: two programs in different schemas of a database
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
