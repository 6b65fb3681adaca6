package sqlstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/storetest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestPlans_NewDatabase checks the plans that PostgreSQL makes for any parameters, and keeps as long as a connection is open: in an empty
// database, in one that has grown without statistics, and in a large one with statistics. For members and lanes, a condition for the key of
// a row must be a condition of the index. As a filter, it would be applied to all members of the app, or to all lanes. With statistics, the
// same applies to a list of keys of principals or of objects of an import.
func TestPlans_NewDatabase(t *testing.T) {
	config, err := pgx.ParseConfig(sqldbtest.PostgresURL(t))
	require.NoError(t, err)
	recorded := &recorder{texts: map[string][]any{}}
	traced := config.Copy()
	traced.Tracer = recorded
	db := stdlib.OpenDB(*traced)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	store, err := sqlstore.Open(t.Context(), db, sqlstore.Options{Dialect: sqlstore.Postgres, Tenant: storetest.Tenant})
	require.NoError(t, err)
	clear(recorded.texts) // of the steps of the schema
	storetest.Run(t, store, func(ctx context.Context, fn func(engine.Execer) error) error { return inTx(ctx, db, fn) })
	suite := sqldbtest.CurrentSchema(t, db)
	texts := map[string]string{} // without the schema
	for text := range recorded.texts {
		first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
		if slices.Contains(explainable, first) && strings.Contains(text, "scimwright_") {
			texts[strings.ReplaceAll(text, `"`+suite+`".`, "")] = text
		}
	}
	require.Greater(t, len(texts), 100)

	schema := suite + "_plans"
	sqldbtest.DropSchema(t, db, schema)
	_, err = sqlstore.Open(t.Context(), db, sqlstore.Options{Dialect: sqlstore.Postgres, Schema: schema, Prefix: "scimwright_"})
	require.NoError(t, err)
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	exec := func(statement string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err, statement)
	}
	exec(`SET search_path TO "` + schema + `"; SET plan_cache_mode = force_generic_plan; SET jit = off`)
	for _, state := range []struct{ name, change string }{{"empty", ``}, {"grown", fillPlans}, {analyzed, `ANALYZE`}} {
		t.Run(state.name, func(t *testing.T) {
			exec(state.change)
			for text := range texts {
				exec(`PREPARE explained AS ` + text)
				values := ""
				if n := parameters(text); n > 0 {
					values = "(" + strings.Repeat("NULL, ", n-1) + "NULL)"
				}
				var plan []byte
				err := conn.QueryRow(t.Context(), `EXPLAIN (FORMAT JSON) EXECUTE explained`+values, pgx.QueryExecModeSimpleProtocol).Scan(&plan)
				require.NoError(t, err, text)
				exec(`DEALLOCATE explained`)
				var tree any
				require.NoError(t, json.Unmarshal(plan, &tree))
				found := filters(tree, keyed, keyFilter)
				if state.name == analyzed {
					found = append(found, filters(tree, listed, listFilter)...)
				}
				for _, filter := range found {
					t.Errorf("%s\n%s", filter, strings.Join(strings.Fields(text), " "))
				}
			}
		})
	}
}

var explainable = []string{"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"}

// parameters returns the number of parameters of a statement.
func parameters(text string) (n int) {
	for _, found := range regexp.MustCompile(`\$(\d+)`).FindAllStringSubmatch(text, -1) {
		var i int
		_, _ = fmt.Sscan(found[1], &i)
		n = max(n, i)
	}
	return n
}

// keyFilter matches a filter by a part of the key of a member or a lane.
var keyFilter = regexp.MustCompile(`(group_id|principal_id|tenant)(\)::text)? =`)

// keyed are the tables whose plans are checked.
var keyed = []string{"scimwright_member_state", "scimwright_app_lane"}

// analyzed is the state of the database in which the test also checks the plans of statements with a list of keys. Without statistics,
// PostgreSQL may read all principals of an app for such a list. Autovacuum analyzes a table within about a minute after it has grown.
const analyzed = "with statistics"

// listFilter matches a filter by a list of keys. listed are the tables whose plans are checked for such filters in the state analyzed.
var (
	listFilter = regexp.MustCompile(`(principal_id|remote_id)(\)::text)? = ANY`)
	listed     = []string{"scimwright_sync_state", "scimwright_remote_object"}
)

// filters returns the scans of a plan that filter rows of tables by a pattern.
func filters(node any, tables []string, pattern *regexp.Regexp) (found []string) {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			found = append(found, filters(child, tables, pattern)...)
		}
	case map[string]any:
		filter, _ := n["Filter"].(string)
		relation, _ := n["Relation Name"].(string)
		if slices.Contains(tables, relation) && pattern.MatchString(filter) {
			found = append(found, fmt.Sprintf("%v of %s by %v, index condition %v, filter %s", n["Node Type"], relation, n["Index Name"],
				n["Index Cond"], filter))
		}
		for _, child := range n {
			found = append(found, filters(child, tables, pattern)...)
		}
	}
	return found
}

// fillPlans fills the largest tables.
const fillPlans = `
INSERT INTO scimwright_app_lane (app_id, epoch, owner, lease_until, next_at, kicks, hold, hold_until, hold_reason, hold_streak, tenant)
	SELECT 'app-' || n, 1, '', 9223372036854775807, n, 0, '', 0, '', 0, CASE WHEN n < 10000 THEN 'many' ELSE 'tenant-' || n END
	FROM generate_series(1, 10100) n;
INSERT INTO scimwright_member_state (app_id, group_id, principal_id, want, pushed, pushed_id, asked, walk)
	SELECT 'app-1', 'group-' || g, 'user-' || u, 1, 0, '', 0, 1 FROM generate_series(1, 400) g, generate_series(1, 20) u;
INSERT INTO scimwright_sync_state (app_id, kind, principal_id, desired_gen, synced_gen, full_gen, status, want, tried, anew, next_at,
	attempts, remote_id, remote_name, link_origin, last_op, last_http, last_error, updated_at)
	SELECT 'app-1', k, k || '-' || u, 1, 0, 0, 'dirty', 'active', 1, 0, CASE WHEN u % 10 = 0 THEN 1 END, 0, 'r-' || u, 'name', '', '', 0, '', 1
	FROM generate_series(1, 5000) u, (VALUES ('user'), ('group')) kinds (k);
INSERT INTO scimwright_remote_object (app_id, kind, remote_id, user_name, external_id, email, display_name, active, hash, run_id, verdict,
	rule, principal_id, candidates, note)
	SELECT 'app-1', k, 'r-' || u, 'name', '', '', '', 1, '', 1, 'linked', '', k || '-' || u, '', ''
	FROM generate_series(1, 5000) u, (VALUES ('user'), ('group')) kinds (k)`
