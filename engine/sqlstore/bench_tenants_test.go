package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/engine/storetest"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

const (
	dividedLanes = 10_000 // claimable lanes in BenchmarkTenants
	dividedLimit = 8      // lanes that are claimed and released at a time
)

// BenchmarkTenants measures the claim of 8 of 10,000 claimable lanes and, apart from it, their releases: in a store without tenants, and in
// one with 1, 2 and 1,000 tenants. The time of a claim includes the query for claimable lanes before it and, if they belong to several
// tenants, the search for these tenants. The result is the median in milliseconds.
func BenchmarkTenants(b *testing.B) {
	sqldbtest.EachBench(b, func(b *testing.B, db *sqldb.DB) {
		for _, tenants := range []int{0, 1, 2, 1000} {
			b.Run(fmt.Sprint("tenants=", tenants), func(b *testing.B) {
				o := sqlstore.Options{Prefix: fmt.Sprint("t", tenants, "_")}
				if tenants > 0 {
					o.Tenant = storetest.Tenant
				}
				states, err := enginestore.Open(b.Context(), db, o)
				require.NoError(b, err)
				now := time.Now()
				fillTenants(b, db, states, o.Prefix, tenants, now)
				process, _, err := states.Join(b.Context(), store.Joining{Name: "bench", Lease: time.Hour, When: when(now)})
				require.NoError(b, err)
				defer func() { require.NoError(b, states.Leave(context.Background(), process.ID, when(now))) }()
				var claims, releases []time.Duration
				after := ""
				for b.Loop() {
					start := time.Now()
					leases, err := claimOfTenants(b.Context(), states, process.ID, start, &after)
					require.NoError(b, err)
					require.Len(b, leases, dividedLimit)
					claims = append(claims, time.Since(start))
					for _, l := range leases {
						start := time.Now()
						_, err := states.Release(b.Context(), l, engine.Hold{}, start)
						require.NoError(b, err)
						releases = append(releases, time.Since(start))
					}
				}
				slices.Sort(claims)
				slices.Sort(releases)
				b.ReportMetric(claims[len(claims)/2].Seconds()*1000, "ms/claim")
				b.ReportMetric(releases[len(releases)/2].Seconds()*1000, "ms/release")
			})
		}
	})
}

// fillTenants makes lanes claimable.
func fillTenants(b *testing.B, db *sqldb.DB, states *sqlstore.Store, prefix string, tenants int, now time.Time) {
	b.Helper()
	for from := 0; from < dividedLanes; from += markChunk {
		marks := make([]engine.Mark, markChunk)
		for i := range marks {
			n := from + i
			marks[i] = engine.Mark{App: strconv.Itoa(n%max(tenants, 1)) + ":" + strconv.Itoa(n), Kind: engine.User, ID: "u"}
		}
		require.NoError(b, db.Update(b.Context(), func(tx *sqldb.Tx) error { return states.Mark(b.Context(), tx.Execer(), now, marks) }))
	}
	require.NoError(b, db.Update(b.Context(), func(tx *sqldb.Tx) error {
		return tx.Apply(b.Context(), strings.ReplaceAll(`ANALYZE PREFIXapp_lane; ANALYZE PREFIXsync_state`, "PREFIX", prefix))
	}))
}

// claimOfTenants claims lanes as a dispatcher does.
func claimOfTenants(ctx context.Context, s *sqlstore.Store, process string, due time.Time, after *string) ([]engine.Lease, error) {
	c, err := s.Claimable(ctx, due, 2*dividedLimit)
	if err != nil || !c.Divided {
		leases, claimErr := s.Claim(ctx, process, due, dividedLimit)
		return leases, errors.Join(err, claimErr)
	}
	w, err := s.Waiting(ctx, due, *after)
	if err != nil {
		return nil, err
	}
	var quotas []store.Quota
	for _, tenant := range w.Tenants[:min(len(w.Tenants), dividedLimit)] {
		quotas = append(quotas, store.Quota{Tenant: tenant, Lanes: dividedLimit / min(len(w.Tenants), dividedLimit)})
		*after = tenant
	}
	return s.ClaimOf(ctx, process, due, quotas, dividedLimit)
}
