package provision_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/store"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// reconnectWithin is the time after the promotion of a standby within which each process of a fleet sends heartbeats again.
const reconnectWithin = 15 * time.Second

// TestFleet_Failover changes users while the primary of a fleet's database is killed and its synchronous standby becomes the primary. No
// acknowledged change is lost, every process reconnects, and afterwards every target has the last change of each user. A change whose
// commit returned an error may be stored or not.
func TestFleet_Failover(t *testing.T) {
	for name, f := range map[string]failover{
		"quick":   {lease: 3 * time.Second, apps: 6, users: 20, before: 2 * time.Second, outage: time.Second},
		"seconds": {lease: 10 * time.Second, apps: 30, users: 100, before: 20 * time.Second, outage: 0, all: true},
		"longer":  {lease: 10 * time.Second, apps: 30, users: 100, before: 20 * time.Second, outage: 25 * time.Second, all: true},
		"pooled": {
			lease: 10 * time.Second, apps: 6, users: 20, before: 10 * time.Second, outage: 2 * time.Second, all: true, pooled: "transaction",
		},
		"pooled session": {
			lease: 10 * time.Second, apps: 6, users: 20, before: 10 * time.Second, outage: 2 * time.Second, all: true, pooled: "session",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if f.all {
				alltest.Only(t, "kills a PostgreSQL server under load")
			}
			f.run(t)
		})
	}
}

// failover describes a run.
type failover struct {
	lease          time.Duration
	apps, users    int
	before, outage time.Duration // the duration of the changes before the kill, and of the time without a primary
	all            bool
	pooled         string // the mode of PgBouncer, empty without
}

func (f failover) run(t *testing.T) {
	pair := sqldbtest.NewPair(t)
	url := pair.URL()
	if f.pooled != "" {
		url = pair.PooledURL(f.pooled)
	}
	db, err := sqlopen.Open(t.Context(), url, sqlopen.Options{MaxConns: 8})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	migrateDirectory(t, db)
	kept, err := enginestore.Open(t.Context(), db, sqlstore.Options{})
	require.NoError(t, err)

	target := newFleetTarget()
	target.latency = func() time.Duration { return time.Millisecond + rand.N(3*time.Millisecond) }
	server := httptest.NewServer(target)
	t.Cleanup(server.Close)
	const processes = 3
	fleet := startFleet(t, fleetOrders{Database: url, Target: server.URL, Lease: f.lease, RequestTimeout: 4 * time.Second}, processes)
	all, err := f.joined(t.Context(), kept, processes, time.Time{})
	require.NoError(t, err, &fleet.log)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	changed := make(chan *changes, 1)
	go func() { changed <- f.change(ctx, db, kept) }()
	time.Sleep(f.before) // the duration of the changes before the kill
	pair.Kill()
	killed := time.Now()
	time.Sleep(f.outage) // the duration of the outage
	pair.Promote()
	promoted := time.Now()
	again, err := f.joined(t.Context(), kept, processes, killed)
	require.NoError(t, err, &fleet.log)
	reconnected := time.Since(promoted)
	time.Sleep(f.before / 2) // the duration of the changes after the promotion
	stop()
	made := <-changed

	begun := time.Now()
	c := chaos{apps: f.apps, lease: f.lease, requestTimeout: 4 * time.Second}
	require.Empty(t, c.settle(t, kept, nil))
	counts, violations := target.counts()
	t.Logf("promotion after %s; all processes reconnected %s later (%d of %d as new ones); settled after %s; %d changes acknowledged, "+
		"%d with an unknown outcome, %d failed; the target counted %v", promoted.Sub(killed).Round(time.Millisecond),
		reconnected.Round(time.Millisecond), f.renewed(all, again), processes, time.Since(begun).Round(time.Millisecond),
		made.total(made.acknowledged), made.total(made.unknown), made.total(made.failed), counts)
	require.Empty(t, made.lost(t, db, kept), "acknowledged changes")
	require.Empty(t, c.wrong(t, db, target), "end states of accounts")
	require.Empty(t, violations, &fleet.log)
	if f.pooled != "transaction" { // otherwise PgBouncer may delay each transaction until it has a server
		require.Positive(t, made.total(made.unknown)+made.total(made.failed))
	}
	if f.all { // a quick run is not measured: the machine may be busy
		require.LessOrEqual(t, reconnected, reconnectWithin)
	}
}

// joined waits until n processes are alive that have sent a heartbeat after a time.
func (f failover) joined(ctx context.Context, kept *sqlstore.Store, n int, after time.Time) (ids []string, err error) {
	for limit := time.Now().Add(4 * deadline); time.Now().Before(limit); time.Sleep(50 * time.Millisecond) { // poll interval
		ids = nil
		found, err := kept.Processes(ctx)
		for _, p := range found {
			if p.Until.After(time.Now()) && p.Seen.After(after) {
				ids = append(ids, p.ID)
			}
		}
		if err == nil && len(ids) == n {
			return ids, nil
		}
	}
	return nil, fmt.Errorf("%d of %d processes are alive: %w", len(ids), n, err)
}

// renewed returns the number of processes that were not there before.
func (f failover) renewed(before, after []string) (n int) {
	known := map[string]bool{}
	for _, id := range before {
		known[id] = true
	}
	for _, id := range after {
		if !known[id] {
			n++
		}
	}
	return n
}

// changes are the changes of a run, by user. The user number i is u-(i / apps) of app-(i mod apps).
type changes struct {
	apps                  int
	mu                    sync.Mutex
	last                  map[int]int // the title of the last acknowledged change
	acknowledged, unknown map[int]int // numbers of changes; unknown: the commit failed
	failed                map[int]int // numbers of changes that failed before the commit
}

func (c *changes) total(of map[int]int) (n int) {
	for _, k := range of {
		n += k
	}
	return n
}

func (c *changes) user(i int) (app, id string) {
	return fmt.Sprint("app-", i%c.apps), fmt.Sprint("u-", i/c.apps)
}

// change changes users until ctx ends: each change has a higher title. A change that fails is followed by another one.
func (f failover) change(ctx context.Context, db *sqldb.DB, kept *sqlstore.Store) *changes {
	made := &changes{apps: f.apps, last: map[int]int{}, acknowledged: map[int]int{}, unknown: map[int]int{}, failed: map[int]int{}}
	mark := func(ctx context.Context, tx engine.Execer, marks ...engine.Mark) error {
		return kept.Mark(ctx, tx, time.Now(), marks)
	}
	const workers = 4
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for title := 1; ctx.Err() == nil; title++ {
				i := rand.IntN(f.apps*f.users/workers)*workers + worker // users of its own
				app, id := made.user(i)
				call, end := context.WithTimeout(context.WithoutCancel(ctx), deadline)
				err := sqlDirectory{db: db}.change(call, app, mark, func(k *directoryTx) {
					k.put(id, engine.Active, "name-"+id, strconv.Itoa(title), 0)
				})
				end()
				made.mu.Lock()
				switch {
				case err == nil:
					made.acknowledged[i]++
					made.last[i] = title
				case strings.Contains(err.Error(), "sqldb: commit"):
					made.unknown[i]++
				default:
					made.failed[i]++
				}
				made.mu.Unlock()
				time.Sleep(rand.N(20 * time.Millisecond)) // the pace of the changes
			}
		})
	}
	all.Wait()
	return made
}

// lost returns the users whose row in the directory or whose number of marks shows that an acknowledged change is missing.
func (c *changes) lost(t *testing.T, db *sqldb.DB, kept store.States) (lost []string) {
	t.Helper()
	for i, last := range c.last {
		app, id := c.user(i)
		var title string
		err := db.Reader().QueryRow(t.Context(), `SELECT title FROM embedder_user WHERE app = ? AND id = ?`, app, id).Scan(&title)
		require.NoError(t, err, "%s/%s", app, id)
		if stored, err := strconv.Atoi(title); err != nil || stored < last {
			lost = append(lost, fmt.Sprintf("%s/%s: title %s, %d was acknowledged", app, id, title, last))
		}
		states, err := kept.StatesByID(t.Context(), app, engine.User, []string{id})
		require.NoError(t, err)
		require.Len(t, states, 1)
		if marks := states[0].Desired; marks < int64(c.acknowledged[i]) { // a recheck marks the user, too
			lost = append(lost, fmt.Sprintf("%s/%s: %d marks, %d were acknowledged", app, id, marks, c.acknowledged[i]))
		}
	}
	return lost
}
