package sqlstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

// restingApps is the number of apps without work in BenchmarkPartitions.
const restingApps = 10_000

// BenchmarkPartitions measures, without and with partitions: a claim while no lane is due, a mark, and a tenure. A tenure is the claim of a
// lane, the sequence of one principal and the release.
func BenchmarkPartitions(b *testing.B) {
	for _, n := range []int{0, partitions} {
		b.Run(fmt.Sprint("partitions=", n), func(b *testing.B) {
			db := sqldbtest.Postgres(b)
			states, err := enginestore.Open(b.Context(), db, sqlstore.Options{Partitions: n})
			require.NoError(b, err)
			require.NoError(b, db.Update(b.Context(), func(tx *sqldb.Tx) error {
				return tx.Apply(b.Context(), fmt.Sprintf(`INSERT INTO scimwright_app_lane
					(app_id, epoch, owner, lease_until, next_at, kicks, hold, hold_until, hold_reason, hold_streak)
					SELECT 'resting-' || n, 1, '', 9223372036854775807, NULL, 0, '', 0, '', 0 FROM generate_series(1, %d) n;
					ANALYZE`, restingApps))
			}))
			now := time.Now()
			process, _, err := states.Join(b.Context(), store.Joining{Name: "bench", Lease: time.Hour, When: when(now)})
			require.NoError(b, err)
			defer func() { require.NoError(b, states.Leave(context.Background(), process.ID, when(now))) }()
			claim := func(b *testing.B, want int) []engine.Lease {
				leases, err := states.Claim(b.Context(), process.ID, now, 8)
				require.NoError(b, err)
				require.Len(b, leases, want)
				return leases
			}
			i := 0
			mark := func(b *testing.B) engine.Mark {
				i++
				m := engine.Mark{App: fmt.Sprint("app-", i%100), Kind: engine.User, ID: fmt.Sprint("u-", i)}
				require.NoError(b, db.Update(b.Context(), func(tx *sqldb.Tx) error {
					return states.Mark(b.Context(), tx.Execer(), now, []engine.Mark{m})
				}))
				return m
			}
			b.Run("idle-claim", func(b *testing.B) {
				for b.Loop() {
					claim(b, 0)
				}
			})
			tenure := func(b *testing.B) {
				m := mark(b)
				lease := claim(b, 1)[0]
				due, err := states.Due(b.Context(), m.App, now, 8)
				require.NoError(b, err)
				require.Len(b, due, 1)
				require.NoError(b, states.Start(b.Context(), lease, []store.Intent{{Kind: m.Kind, ID: m.ID, Want: engine.Active}}, nil))
				_, err = states.Finish(b.Context(), lease, store.Finish{
					Kind: m.Kind, ID: m.ID, Gen: due[0].Desired, Status: engine.StatusClean, RemoteID: "r-" + m.ID, At: now,
				})
				require.NoError(b, err)
				_, err = states.Release(b.Context(), lease, engine.Hold{}, time.Time{})
				require.NoError(b, err)
			}
			b.Run("tenure", func(b *testing.B) {
				for b.Loop() {
					tenure(b)
				}
			})
			b.Run("mark", func(b *testing.B) {
				for b.Loop() {
					mark(b)
				}
			})
		})
	}
}
