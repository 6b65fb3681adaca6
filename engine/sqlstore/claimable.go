package sqlstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

// Claimable implements store.Leases. It is one query without a lock. If no lane is claimable, which is the case most of the time, the query
// searches two indexes.
func (s *Store) Claimable(ctx context.Context, due time.Time, limit int) (c store.Claimable, err error) {
	var first, divided int64
	err = s.db.Reader().QueryRow(ctx, claimableQuery(s.db.Dialect(), max(limit, 1), s.tenants), ms(due), ms(due)).
		Scan(&c.Lanes, &first, &divided, &c.Running, &c.Processes, &c.Retired)
	if err != nil {
		return store.Claimable{}, fmt.Errorf("sqlstore: claimable lanes: %w", err)
	}
	c.First, c.Divided = at(first), divided > 0
	return c, nil
}

// claimableQuery returns the query of Claimable. The limit is a constant of the text and not a parameter, for the reason of func claim. The
// database evaluates the subqueries of a CASE only if a lane is claimable.
func claimableQuery(d sqldb.Dialect, limit int, tenants bool) string {
	ifAny := func(query string) string {
		return `CASE WHEN due.n > 0 THEN (` + query + `) ELSE 0 END`
	}
	divided, running, processes, retired := `0`, `0`, ifAny(`SELECT 1`), `1 = 0`
	if tenants {
		divided = ifAny(`SELECT CASE WHEN ` + nextTenant(`l.tenant >= ''`) + ` = ` + lastTenant + ` THEN 0 ELSE 1 END`)
	}
	if d == sqldb.Postgres {
		valid := `valid_until > ` + clock(d)
		running = ifAny(`SELECT COUNT(*) FROM (SELECT 1 FROM {app_lane} WHERE process <> '' LIMIT ` + strconv.Itoa(store.CountedLanes) + `) AS l`)
		processes = ifAny(`SELECT COUNT(*) FROM {process} WHERE retired = 0 AND ` + valid)
		retired = `EXISTS (SELECT 1 FROM {process} WHERE retired = 1 AND ` + valid + `)`
	}
	return `SELECT due.n, due.first, ` + divided + `, ` + running + `, ` + processes + `, ` + retired + `
		FROM (SELECT COUNT(*) AS n, COALESCE(MIN(next_at), 0) AS first FROM (` + claimable + ` LIMIT ` + strconv.Itoa(limit) + `) AS l) AS due`
}

// lastTenant selects the last tenant, by name, that has free and scheduled lanes.
const lastTenant = `(SELECT l.tenant FROM {app_lane} l WHERE l.process = '' AND l.next_at IS NOT NULL AND l.lease_until >= 0 AND
	l.tenant >= '' ORDER BY l.tenant DESC LIMIT 1)`
