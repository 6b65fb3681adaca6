package sqlstore_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/storetest"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// partitions is the number of partitions that the documentation recommends.
const partitions = 32

// fleetWide are the statements of partitioned tables that name no app, by a part of their text.
var fleetWide = []struct{ part, why string }{
	{`SELECT app_id, next_at FROM app_lane WHERE next_at IS NOT NULL AND next_at <=`, "a claim searches for the due lanes of all apps"},
	{`SELECT (SELECT l.tenant FROM app_lane l WHERE l.process = ''`, "the tenants of all apps"},
	{`SELECT app_id FROM app_lane WHERE tenant = q.tenant AND lease_until >= 0`, "a claim searches for the due lanes of a tenant"},
	{`FROM app_lane WHERE process = $1 AND process <> ''`, "the lanes of a process, also of a dead one, belong to any apps"},
	{`FROM app_lane l WHERE l.process = p.id AND l.process <> ''`, "the lanes of each process"},
	{`UPDATE app_lane SET epoch = epoch + 1, owner = '', lease_until =`, "the leases of an engine of an earlier version"},
	{`FROM app_lane l WHERE EXISTS (SELECT 1 FROM sync_state s WHERE s.app_id = l.app_id AND kind = 'user'`, "apps with overdue users"},
	{`FROM app_lane l WHERE 1 = 1 ORDER BY app_id`, "the delays of all apps"},
	{`FROM app_lane WHERE hold <> '' AND 1 = 1 AND hold_until >`, "the holds of all apps"},
	{`SELECT COUNT(*) FROM sync_state WHERE next_at IS NOT NULL AND kind = `, "the pending principals of all apps"},
	{`FROM sync_state WHERE 1 = 1`, "a list of the principals of all apps"},
	{`FROM sync_state WHERE status IN ('retrying', 'failed', 'held', 'pending') AND 1 = 1`, "the tasks of all apps"},
	{`FROM sync_state WHERE status = 'dirty' AND next_at IS NOT NULL AND EXISTS`, "the principals of all apps that wait for a hold"},
	{`sync_state WHERE status = 'held' AND halted = 1 AND last_op IN`, "the end of a halt of all apps"},
	{`UPDATE sync_state SET next_at = $1, status = 'dirty', halted = 0 WHERE status = 'held'`, "the end of a halt of all apps"},
	{`FROM sync_attempt WHERE 1 = 1`, "a list of the exchanges of all apps"},
}

// recorder records the statements of a driver, with the parameters of their first execution.
type recorder struct {
	mu    sync.Mutex
	texts map[string][]any
}

// TraceQueryStart implements pgx.QueryTracer.
func (r *recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.texts[d.SQL]; !known {
		r.texts[d.SQL] = slices.Clone(d.Args)
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (r *recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestPartitions_Pruned runs the suite on partitioned tables, and then checks the plan of each of its statements: it has at most one
// partition of each table, or the statement is in fleetWide.
func TestPartitions_Pruned(t *testing.T) {
	n := 4 // the planner needs less time than for 32
	if alltest.All() {
		n = partitions
	}
	config, err := pgx.ParseConfig(sqldbtest.PostgresURL(t))
	require.NoError(t, err)
	recorded := &recorder{texts: map[string][]any{}}
	traced := config.Copy()
	traced.Tracer = recorded
	db := stdlib.OpenDB(*traced)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	store, err := sqlstore.Open(t.Context(), db, sqlstore.Options{Dialect: sqlstore.Postgres, Partitions: n, Tenant: storetest.Tenant})
	require.NoError(t, err)
	clear(recorded.texts) // of the steps of the schema
	storetest.Run(t, store, func(ctx context.Context, fn func(engine.Execer) error) error { return inTx(ctx, db, fn) })
	ofAllApps(t, store)

	tables := partitionsByName(t, db)
	require.Len(t, tables, 9*n)
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	qualified := regexp.MustCompile(`"[^"]+"\."scimwright_(\w+)"`)
	explained, used := 0, map[string]bool{}
	for text, args := range recorded.texts {
		first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
		if !slices.Contains([]string{"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"}, first) || !qualified.MatchString(text) {
			continue
		}
		readable := strings.Join(strings.Fields(qualified.ReplaceAllString(text, "$1")), " ")
		explained++
		of := touched(t, conn, tables, text, args)
		i := slices.IndexFunc(fleetWide, func(f struct{ part, why string }) bool {
			return strings.Contains(readable, f.part) && !strings.Contains(readable, "app_id = $")
		})
		for table, n := range of {
			if n > 1 && i < 0 {
				t.Errorf("%d partitions of %s: %s", n, table, readable)
			} else if n > 1 {
				used[fleetWide[i].part] = true
			}
		}
	}
	require.Greater(t, explained, 100)
	for _, f := range fleetWide {
		require.True(t, used[f.part], "no statement without an app: %s", f.part)
	}
	t.Logf("%d statements, %d parts of statements without an app", explained, len(used))
}

// ofAllApps runs the queries that may omit the app.
func ofAllApps(t *testing.T, s *sqlstore.Store) {
	t.Helper()
	_, err := s.Pending(t.Context(), "")
	require.NoError(t, err)
	_, err = s.States(t.Context(), engine.StateQuery{Kind: engine.User, Status: engine.StatusFailed})
	require.NoError(t, err)
	_, err = s.Tasks(t.Context(), engine.TaskQuery{Now: time.Now()})
	require.NoError(t, err)
	_, err = s.Lags(t.Context(), "")
	require.NoError(t, err)
	_, err = s.Attempts(t.Context(), engine.AttemptQuery{})
	require.NoError(t, err)
	_, err = s.OverdueApps(t.Context(), time.Now())
	require.NoError(t, err)
}

// partitionsByName returns the tables of which each partition is a part.
func partitionsByName(t *testing.T, db *sql.DB) map[string]string {
	t.Helper()
	tables := map[string]string{}
	rows, err := db.Query(`SELECT p.relname, c.relname FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhrelid
		JOIN pg_class c ON c.oid = i.inhparent WHERE c.relkind = 'p' AND c.relnamespace = current_schema()::regnamespace`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var partition, table string
		require.NoError(t, rows.Scan(&partition, &table))
		tables[partition] = table
	}
	require.NoError(t, rows.Err())
	return tables
}

// touched returns the number of partitions of each table in the plan of a statement with its parameters.
func touched(t *testing.T, conn *pgx.Conn, tables map[string]string, text string, args []any) map[string]int {
	t.Helper()
	var plan []byte
	err := conn.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON) "+text, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...).Scan(&plan)
	require.NoError(t, err, text)
	var tree any
	require.NoError(t, json.Unmarshal(plan, &tree))
	found := map[string]bool{}
	collectRelations(tree, found)
	counts := map[string]int{}
	for relation := range found {
		if table, ok := tables[relation]; ok {
			counts[table]++
		}
	}
	return counts
}

// collectRelations collects the names of the relations of a plan.
func collectRelations(node any, found map[string]bool) {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			collectRelations(child, found)
		}
	case map[string]any:
		if name, ok := n["Relation Name"].(string); ok {
			found[name] = true
		}
		for _, child := range n {
			collectRelations(child, found)
		}
	}
}

// TestOpen_Partitions checks the number of partitions of new and existing databases.
func TestOpen_Partitions(t *testing.T) {
	p := sqldbtest.PostgresPlace(t)
	db := p.Open(t)
	open := func(schema string, n int) error {
		_, err := sqlstore.Open(t.Context(), db, sqlstore.Options{Dialect: sqlstore.Postgres, Schema: schema, Partitions: n})
		return err
	}
	current := sqldbtest.CurrentSchema(t, db)
	divided, whole := current+` $1'{}?`, current+"_whole"
	sqldbtest.DropSchema(t, db, divided)
	sqldbtest.DropSchema(t, db, whole)
	require.NoError(t, open(divided, 3))
	require.NoError(t, open(divided, 0), "a partitioned database needs no option")
	require.NoError(t, open(divided, 3))
	require.ErrorContains(t, open(divided, 32), "have 3 partitions: unset Options.Partitions, or set it to 3")
	require.NoError(t, open(whole, 0))
	require.ErrorContains(t, open(whole, 32), "the tables of this database are not partitioned")
	require.ErrorContains(t, open(whole, 129), "use a number from 1 to 128")
	require.ErrorContains(t, open(whole, -1), "use a number from 1 to 128")

	lite := sqldbtest.SQLitePlace(t)
	_, err := sqlstore.Open(t.Context(), lite.Open(t), sqlstore.Options{Dialect: sqlstore.SQLite, Partitions: 32})
	require.ErrorContains(t, err, "Options.Partitions is for PostgreSQL")
}

// TestOpen_PartitionsSameColumns checks that partitioned tables have the columns and indexes of others.
func TestOpen_PartitionsSameColumns(t *testing.T) {
	p := sqldbtest.PostgresPlace(t)
	db := p.Open(t)
	describe := func(n int) (columns, indexes []string) {
		schema := sqldbtest.CurrentSchema(t, db) + map[bool]string{true: "_divided", false: "_whole"}[n > 0]
		sqldbtest.DropSchema(t, db, schema)
		_, err := sqlstore.Open(t.Context(), db, sqlstore.Options{Dialect: sqlstore.Postgres, Schema: schema, Partitions: n})
		require.NoError(t, err)
		columns = sqldbtest.Read(t, db, `SELECT c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attcollation, a.attnotnull
			FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p')
			AND NOT c.relispartition AND a.attnum > 0 ORDER BY 1, 2`, schema)
		indexes = sqldbtest.Column(t, db, `SELECT c.relname || coalesce(pg_get_expr(i.indpred, i.indrelid), '') FROM pg_index i
			JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = to_regnamespace($1) AND NOT c.relispartition ORDER BY 1`, schema)
		return columns, indexes
	}
	columns, indexes := describe(0)
	divided, dividedIndexes := describe(4)
	require.Equal(t, columns, divided)
	require.Equal(t, indexes, dividedIndexes)
	require.Greater(t, len(columns), 100)
	require.Greater(t, len(indexes), 30)
}
