package sandbox

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi"
	"github.com/scimwright/scimwright/mgmtapi/mgmtapitest"
)

// bench consists of the bridge, the relay and an engine that is not started. The test acquires the lease of the lane instead of the engine.
type bench struct {
	*testing.T
	db     *sqldb.DB
	stored *mgmtapitest.Store
	states *sqlstore.Store
	engine *provision.Engine
	bridge *bridge
	relay  *relay
}

func newBench(t *testing.T, db *sqldb.DB) *bench {
	b := &bench{T: t, db: db, stored: mgmtapitest.Open(t, managementOptions(db))}
	var err error
	b.states, err = enginestore.Open(t.Context(), db, sqlstore.Options{})
	require.NoError(t, err)
	o := managementOptions(db)
	o.Logger = slog.New(slog.DiscardHandler)
	api, err := mgmtapi.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, api.Close()) })
	b.bridge = &bridge{wanted: api.Wanted(), log: slog.New(slog.DiscardHandler)}
	b.engine, err = provision.New(provision.Options{Store: b.states, Directory: b.bridge, Observer: b.bridge})
	require.NoError(t, err)
	b.relay = newRelay(api.Wanted(), b.engine, slog.New(slog.DiscardHandler))
	return b
}

// own marks a principal and acquires the app's lane.
func (b *bench) own(kind engine.Kind, ids ...string) engine.Lease {
	b.Helper()
	require.NoError(b, b.db.Update(b.Context(), func(tx *sqldb.Tx) error {
		var marks []engine.Mark
		for _, id := range ids {
			marks = append(marks, engine.Mark{App: "a", Kind: kind, ID: id})
		}
		return b.engine.Mark(b.Context(), tx.Execer(), marks...)
	}))
	p, _, err := b.states.Join(b.Context(), store.Joining{Name: "owner", Lease: time.Minute})
	require.NoError(b, err)
	leases, err := b.states.Claim(b.Context(), p.ID, time.Now(), 1)
	require.NoError(b, err)
	require.Len(b, leases, 1)
	return leases[0]
}

func (b *bench) finish(l engine.Lease, f store.Finish) {
	b.Helper()
	f.Gen, f.At = 1, time.Now()
	_, err := b.states.Finish(b.Context(), l, f)
	require.NoError(b, err)
}

// catchUp runs the function catchUp as the start of a sandbox does.
func (b *bench) catchUp() {
	b.Helper()
	require.NoError(b, b.relay.drain(b.Context()))
	require.NoError(b, catchUp(b.Context(), b.engine, b.bridge))
}

func TestRelay_DeletionSurvivesRestart(t *testing.T) {
	b := newBench(t, sqldbtest.SQLite(t))
	l := b.own(engine.Group, "g")
	b.finish(l, store.Finish{Kind: engine.Group, ID: "g", Status: engine.StatusClean, RemoteID: "g1", Origin: engine.Created})
	b.stored.AddDeletedPushMapping("a", "g", "g1", "Staff")
	b.stored.EmitGroupChanged("a", "g")

	b.catchUp()
	g, err := b.bridge.wanted.Group(t.Context(), "a", "g")
	require.NoError(t, err)
	require.True(t, g.DeleteRemote, "the change was not sent to the target yet")
}

func TestRelay_ReportsFailureAfterRestart(t *testing.T) {
	b := newBench(t, sqldbtest.SQLite(t))
	b.stored.AddStagedAppUser("a", "u")
	l := b.own(engine.User, "u")
	b.finish(l, store.Finish{Kind: engine.User, ID: "u", Status: engine.StatusFailed, Attempts: 1, Error: "create: 400"})

	b.catchUp()
	state, summary := b.stored.SyncState("a", "u")
	require.Equal(t, "ERROR", state)
	require.Equal(t, "create: 400", summary)
}

// The owner of a lane writes continuously. This must not prevent the relay from marking.
func TestRelay_NotBlockedByBusyLane(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		b := newBench(t, db)
		var ids []string
		for i := range 40 {
			ids = append(ids, fmt.Sprint("x", i))
		}
		l := b.own(engine.User, ids...)
		var changed []string
		for i := range relayBatch {
			changed = append(changed, fmt.Sprint("y", i))
		}
		b.stored.EmitUsersChanged("a", changed...)

		var busy atomic.Bool
		busy.Store(true)
		var owners sync.WaitGroup
		for c := range 4 {
			owners.Go(func() {
				for i := 0; busy.Load(); i++ {
					_, _ = b.states.Finish(t.Context(), l,
						store.Finish{Kind: engine.User, ID: ids[c*10+i%10], Gen: 1, Status: engine.StatusClean, At: time.Now()})
				}
			})
		}
		n, err := b.relay.step(t.Context())
		busy.Store(false)
		owners.Wait()
		require.NoError(t, err)
		require.Equal(t, relayBatch, n)
	})
}
