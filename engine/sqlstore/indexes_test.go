package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// TestQueries_UseIndexes checks that SQLite runs the queries of each sequence on an index that has only the rows that the query selects,
// and not on one that has all principals of the app.
func TestQueries_UseIndexes(t *testing.T) {
	base := sqldbtest.SQLite(t)
	update := func(ctx context.Context, fn func(engine.Execer) error) error {
		return base.Update(ctx, func(tx *sqldb.Tx) error { return fn(tx.Execer()) })
	}
	store, err := Open(t.Context(), base.Readers(), Options{Dialect: SQLite, Updater: update})
	require.NoError(t, err)
	db := store.db
	const key = "sqlite_autoindex_scimwright_sync_state_1 (app_id=? AND kind=? AND principal_id=?)"
	for name, c := range map[string]struct {
		query string
		by    []string
	}{
		"accepted changes":        {dueQuery(duePending), []string{"sync_state_pending (app_id=?"}},
		"due accounts":            {dueQuery(dueSets[0] + dueOthers), []string{"sync_state_due_known (app_id=?"}},
		"due creates":             {dueQuery(dueSets[1] + dueOthers), []string{"sync_state_due_new (app_id=?"}},
		"due groups":              {dueQuery(dueSets[2] + dueOthers), []string{"sync_state_due_group (app_id=?"}},
		"leavers with account":    {dueUsers(leaverSets[0]), []string{"sync_state_due_known (app_id=?"}},
		"leavers without account": {dueUsers(leaverSets[1]), []string{"sync_state_due_new (app_id=?"}},
		"owner of an account":     {holders, []string{key, "sync_state_remote (app_id=? AND kind=? AND remote_id=?)"}},
		"pending removals": {countLeaving,
			[]string{"sync_state_leaving (app_id=? AND want=?)", "sync_state_held (app_id=? AND last_op=?)"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := make([]any, strings.Count(c.query, "?"))
			rows, err := db.Reader().Query(t.Context(), "EXPLAIN QUERY PLAN "+c.query, args...)
			steps, err := collect(rows, err, func(r *sql.Rows, step *string) error {
				var id, parent, unused int
				return r.Scan(&id, &parent, &unused, step)
			})
			require.NoError(t, err)
			var by []string
			for _, s := range steps {
				require.NotContains(t, s, "SCAN scimwright_sync_state")
				if _, index, found := strings.Cut(s, "INDEX scimwright_sync_state"); found {
					by = append(by, "sync_state"+index)
				} else if _, index, found := strings.Cut(s, "INDEX sqlite_autoindex_scimwright_sync_state"); found {
					by = append(by, "sqlite_autoindex_scimwright_sync_state"+index)
				}
			}
			require.Len(t, by, len(c.by), strings.Join(steps, "\n"))
			for i := range by {
				require.True(t, strings.HasPrefix(by[i], c.by[i]), strings.Join(steps, "\n"))
			}
		})
	}
}

// TestClaim_UsesIndex checks that SQLite and PostgreSQL search for due lanes by an index that has only the free lanes with work: resting
// and running lanes cost nothing.
func TestClaim_UsesIndex(t *testing.T) {
	sqldbtest.EachPlace(t, func(t *testing.T, p sqldbtest.Place) {
		pool := p.Open(t)
		s, err := Open(t.Context(), pool, Options{Dialect: Dialect(p.Dialect.String())})
		require.NoError(t, err)
		explain := "EXPLAIN QUERY PLAN "
		if p.Dialect == sqldb.Postgres {
			explain = "EXPLAIN "
			fill := s.db.Wrap(pool)
			_, err := fill.Exec(t.Context(), `INSERT INTO {app_lane}
				(app_id, epoch, owner, lease_until, next_at, kicks, hold, hold_until, hold_reason, hold_streak)
				SELECT 'app-' || n, 1, '', 0, NULL, 0, '', 0, '', 0 FROM generate_series(1, 10000) n`)
			require.NoError(t, err)
			_, err = fill.Exec(t.Context(), `ANALYZE {app_lane}`)
			require.NoError(t, err)
		}
		rows, err := s.db.Reader().Query(t.Context(), explain+claimableQuery(p.Dialect, 64, true), 0, 0)
		require.NoError(t, err)
		defer rows.Close()
		var plan strings.Builder
		for rows.Next() {
			var id, parent, unused int
			var step string
			into := []any{&step}
			if p.Dialect == sqldb.SQLite {
				into = []any{&id, &parent, &unused, &step}
			}
			require.NoError(t, rows.Scan(into...))
			plan.WriteString(step + "\n")
		}
		require.NoError(t, rows.Err())
		require.Contains(t, plan.String(), "app_lane_claim")
		require.NotContains(t, strings.ToLower(plan.String()), "sort")
	})
}

// TestMemberUpdate_UsesKey checks that PostgreSQL without statistics finds the members of a push by the complete key, although a user is a
// member of many groups.
func TestMemberUpdate_UsesKey(t *testing.T) {
	pool := sqldbtest.PostgresPlace(t).Open(t)
	s, err := Open(t.Context(), pool, Options{Dialect: Postgres})
	require.NoError(t, err)
	_, err = s.db.Wrap(pool).Exec(t.Context(), `INSERT INTO {member_state}
		(app_id, group_id, principal_id, want, pushed, pushed_id, asked, walk)
		SELECT 'app', 'group-' || g, 'user-' || u, 1, 0, '', 0, 1 FROM generate_series(1, 400) g, generate_series(1, 20) u`)
	require.NoError(t, err)
	members := make([]member, 20)
	for i := range members {
		members[i] = member{group: "group-200", user: fmt.Sprint("user-", i+1)}
	}
	rows, err := keyRows("app", members)
	require.NoError(t, err)
	for name, statement := range map[string]struct {
		text string
		args []any
	}{
		"push": {updateMembers(pushedMember, sameAccount), []any{rows, "app", "app"}},
		"drop": {dropMembersOf, []any{rows, "app"}},
	} {
		t.Run(name, func(t *testing.T) {
			lines, err := s.db.Reader().Query(t.Context(), `EXPLAIN `+statement.text, statement.args...)
			plan, err := collect(lines, err, func(r *sql.Rows, line *string) error { return r.Scan(line) })
			require.NoError(t, err)
			require.Contains(t, strings.Join(plan, "\n"), "member_state_pkey")
			require.NotContains(t, strings.Join(plan, "\n"), "member_state_user")
			if name == "push" { // the account of each member is read by its key, and not joined
				require.Regexp(t, `(?s)SubPlan.*sync_state_pkey`, strings.Join(plan, "\n"))
			}
		})
	}
}
