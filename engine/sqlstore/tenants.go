package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/sqldb"
)

const (
	// waitingTenants is the maximum number of tenants that Waiting returns.
	waitingTenants = 32
	// visitedTenants is the maximum number of tenants that each of the two parts of the query of Waiting visits.
	visitedTenants = 64
)

// Divides implements store.Tenants.
func (s *Store) Divides() bool { return s.tenants }

// Waiting implements store.Tenants. Its cost depends neither on the number of lanes nor on the number of all tenants.
func (s *Store) Waiting(ctx context.Context, due time.Time, after string) (w store.Waiting, err error) {
	type visited struct {
		tenant    string
		begun     bool // the first tenants, which follow the last one
		claimable bool
	}
	rows, err := s.db.Reader().Query(ctx, visitTenants, after, after, after, ms(due), ms(due))
	all, err := collect(rows, err, func(r *sql.Rows, v *visited) error { return r.Scan(&v.tenant, &v.begun, &v.claimable) })
	for i, v := range all {
		if len(w.Tenants) == waitingTenants || i == visitedTenants && v.begun {
			break // the query has not visited the tenants before v
		}
		if w.Last = v.tenant; v.claimable {
			w.Tenants = append(w.Tenants, v.tenant)
		}
	}
	if err != nil {
		return store.Waiting{}, fmt.Errorf("sqlstore: tenants with pending lanes: %w", err)
	}
	return w, nil
}

// nextTenant selects the first tenant, by name, that has free and scheduled lanes and satisfies a condition. It is one search in the
// index, regardless of the number of lanes of other tenants. Queries for tenants have the condition lease_until >= 0, which is always true,
// because the partial index app_lane_tenant has this condition. Queries for the lanes of all tenants do not have it. Otherwise PostgreSQL
// would plan them with this index while the table is empty, and would later sort all claimable lanes.
func nextTenant(condition string) string {
	return `(SELECT l.tenant FROM {app_lane} l WHERE l.process = '' AND l.next_at IS NOT NULL AND l.lease_until >= 0 AND ` + condition + `
		ORDER BY l.tenant LIMIT 1)`
}

// visitTenants selects tenants that have free and scheduled lanes, and whether one of these lanes is claimable: the tenants after a name,
// and the first ones up to the name. With EXISTS instead of LIMIT, PostgreSQL without statistics would read all claimable lanes.
// Parameters: three times the name, twice the time.
var visitTenants = `WITH RECURSIVE
	rest (tenant, n) AS (
		SELECT ` + nextTenant(`l.tenant > ?`) + `, 1
		UNION ALL
		SELECT ` + nextTenant(`l.tenant > v.tenant`) + `, v.n + 1 FROM rest v WHERE v.tenant IS NOT NULL AND v.n < ` + maxVisited + `),
	beginning (tenant, n) AS (
		SELECT ` + nextTenant(`l.tenant <= ?`) + `, 1
		UNION ALL
		SELECT ` + nextTenant(`l.tenant > v.tenant AND l.tenant <= ?`) + `, v.n + 1 FROM beginning v
		WHERE v.tenant IS NOT NULL AND v.n < ` + maxVisited + `)
	SELECT v.tenant, v.begun = 1, (SELECT l.next_at FROM {app_lane} l
		WHERE l.tenant = v.tenant AND l.lease_until >= 0 AND l.next_at IS NOT NULL AND l.next_at <= ? AND ` + unleased + `
		ORDER BY l.next_at LIMIT 1) IS NOT NULL
	FROM (SELECT tenant, n, 0 AS begun FROM rest UNION ALL SELECT tenant, n, 1 FROM beginning) v
	WHERE v.tenant IS NOT NULL ORDER BY v.begun, v.n`

var maxVisited = strconv.Itoa(visitedTenants)

// claimableOf selects the claimable lanes of a tenant, in the order of their times. Parameters: the tenant, and twice the time.
const claimableOf = `SELECT app_id FROM {app_lane} WHERE tenant = ? AND lease_until >= 0 AND next_at IS NOT NULL AND next_at <= ? AND ` +
	unleased + ` ORDER BY next_at`

// ClaimOf implements store.Tenants.
func (s *Store) ClaimOf(ctx context.Context, process string, due time.Time, quotas []store.Quota, limit int) (leases []engine.Lease,
	err error) {
	if limit <= 0 {
		return nil, nil
	}
	err = s.update(ctx, func(tx *sqldb.Tx) (err error) {
		leases, err = claimQuotas(ctx, tx, process, due, quotas, limit)
		if err != nil || len(leases) >= limit {
			return err
		}
		rest, err := claimLanes(ctx, tx, process, due, limit-len(leases))
		leases = append(leases, rest...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sqlstore: claim: %w", err)
	}
	return leases, nil
}

// claimQuotas claims the lanes of quotas.
func claimQuotas(ctx context.Context, tx *sqldb.Tx, process string, due time.Time, quotas []store.Quota, limit int) (leases []engine.Lease,
	err error) {
	type row struct {
		Tenant string `json:"tenant"`
		Lanes  int    `json:"lanes"`
	}
	var rows []row
	for _, q := range quotas {
		if n := min(q.Lanes, limit); n > 0 {
			rows = append(rows, row{text(q.Tenant), n})
			limit -= n
		}
	}
	if len(rows) == 0 {
		return nil, nil
	}
	if tx.Dialect() == sqldb.Postgres {
		values, err := sqldb.JSON(rows)
		if err != nil {
			return nil, err
		}
		found, err := tx.Query(ctx, claimEach, values, ms(due), ms(due), process, process)
		return collect(found, err, scanLease)
	}
	for _, r := range rows {
		found, err := tx.Query(ctx, claim(tx.Dialect(), claimableOf, r.Lanes), r.Tenant, ms(due), ms(due), process, process)
		some, err := collect(found, err, scanLease)
		if err != nil {
			return nil, err
		}
		leases = append(leases, some...)
	}
	return leases, nil
}

// claimEach is the statement of claimQuotas for PostgreSQL. Parameters: the quotas, twice the time, twice the process.
var claimEach = claimFrom(sqldb.Postgres, `SELECT l.app_id
	FROM json_to_recordset(CAST(? AS JSON)) AS q (tenant TEXT COLLATE "C", lanes BIGINT)
	CROSS JOIN LATERAL (`+strings.Replace(claimableOf, `tenant = ?`, `tenant = q.tenant`, 1)+` LIMIT q.lanes FOR UPDATE SKIP LOCKED) AS l`)
