package provision_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/internal/alltest"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/internal/sqldb/sqlopen"
)

// chaosWithout runs the chaos without a protection, to show that the test detects it:
//
//	go test ./engine/provision -run 'Fleet_Chaos$' -provision.without fence
//
// The values, with what is wrong without the protection:
//   - recheck: a process is killed while a change is in flight. The change takes effect after the next owner has sent a newer one, and no
//     process reads the account again.
//   - fence: a process is stopped while it waits for a response. Its result is stored after a takeover. The principal is pending then, and
//     no process works on its lane. The process also does not notice that its change may have taken effect late.
//   - epoch: the store cannot distinguish the leases of a lane, so that it does not reject such a result either.
//   - validity: a process that was stopped sends further requests.
var chaosWithout = flag.String("provision.without", "", "run the chaos of a fleet without a protection: recheck, validity, epoch or fence")

// chaos describes a run.
type chaos struct {
	processes, apps, users, changes int
	lasts                           time.Duration // of the changes
	lease, requestTimeout           time.Duration
	trouble                         time.Duration // mean time between two kills or stops, per half of the processes
}

// TestFleet_Chaos changes users while the processes of a fleet are killed and stopped, and its targets fail, lose responses and respond
// late. Afterwards every target has the last change of each user. No app has two owners, and no older change replaces a newer one, except
// by requests of a dead owner, which the recheck corrects.
//
// Invariant 25, invariant 26
func TestFleet_Chaos(t *testing.T) {
	c := shortChaos()
	if alltest.All() {
		c = chaos{
			processes: 4, apps: 50, users: 500, changes: 25_000, lasts: 2 * time.Minute, lease: 3 * time.Second, requestTimeout: 12 * time.Second,
			trouble: 2 * time.Second,
		}
	}
	url := sqldbtest.PostgresURL(t)
	c.run(t, url)
}

// TestFleet_ChaosPooled is the short form of TestFleet_Chaos through PgBouncer in transaction mode.
func TestFleet_ChaosPooled(t *testing.T) {
	alltest.Only(t, "kills and stops processes for 12 s once more")
	shortChaos().run(t, sqldbtest.PooledURL(t))
}

func shortChaos() chaos {
	return chaos{
		processes: 4, apps: 12, users: 80, changes: 2500, lasts: 12 * time.Second, lease: 2 * time.Second, requestTimeout: 4 * time.Second,
		trouble: 1200 * time.Millisecond,
	}
}

func (c chaos) run(t *testing.T, url string) {
	db, err := sqlopen.Open(t.Context(), url, sqlopen.Options{MaxConns: 8})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	migrateDirectory(t, db)
	kept, err := enginestore.Open(t.Context(), db, sqlstore.Options{})
	require.NoError(t, err)
	if *chaosWithout == withoutEpoch {
		keepEpochs(t, db)
	}
	deadlocks := c.deadlocks(t, db)

	target := newFleetTarget()
	target.errors, target.lost, target.slow, target.slowFor = 0.05, 0.01, 0.02, c.lease*3/2
	target.latency = func() time.Duration { return time.Millisecond + rand.N(3*time.Millisecond) }
	server := httptest.NewServer(target)
	t.Cleanup(server.Close)
	fleet := &disturbed{locks: make([]sync.Mutex, c.processes)}
	fleet.members = startFleet(t, fleetOrders{
		Database: url, Target: server.URL, Lease: c.lease, RequestTimeout: c.requestTimeout, Without: *chaosWithout,
	}, c.processes)

	stop := make(chan struct{})
	kills, stops := c.disturb(fleet, stop)
	aims := c.aimAll(t, db, kept, target, fleet, stop)
	c.change(t, db, kept)
	close(stop)
	killed, stopped, aimed := <-kills, <-stops, <-aims
	begun := time.Now()
	problems := c.settle(t, kept, aimed)
	counts, violations := target.counts()
	t.Logf("%d kills, %d stops, %d aimed; settled after %s; the target counted %v", killed, stopped, len(aimed),
		time.Since(begun).Round(time.Millisecond), counts)
	require.Empty(t, append(problems, c.wrong(t, db, target)...), "end states of lanes and accounts")
	require.Empty(t, violations, &fleet.log)
	require.Equal(t, deadlocks, c.deadlocks(t, db))
	require.Positive(t, killed)
	require.Positive(t, stopped)
}

// keepEpochs makes claims and takeovers keep the epoch of a lane.
func keepEpochs(t *testing.T, db *sqldb.DB) {
	t.Helper()
	require.NoError(t, db.Update(t.Context(), func(tx *sqldb.Tx) error {
		return tx.Apply(t.Context(), `CREATE FUNCTION keep_epoch() RETURNS trigger LANGUAGE plpgsql
				AS 'BEGIN NEW.epoch := OLD.epoch; RETURN NEW; END';
			CREATE TRIGGER keep_epoch BEFORE UPDATE ON scimwright_app_lane FOR EACH ROW EXECUTE FUNCTION keep_epoch()`)
	}))
}

func (c chaos) deadlocks(t *testing.T, db *sqldb.DB) (n int64) {
	t.Helper()
	err := db.Reader().QueryRow(t.Context(), `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`).Scan(&n)
	require.NoError(t, err)
	return n
}

// disturb kills and stops processes until stop is closed, and then sends the numbers. Each half of the processes is disturbed by a
// goroutine of its own, so that at most two processes are down, and a third one by aimAll.
func (c chaos) disturb(fleet *disturbed, stop chan struct{}) (kills, stops chan int64) {
	kills, stops = make(chan int64, 1), make(chan int64, 1)
	var killed, stopped atomic.Int64
	var all sync.WaitGroup
	for half := range 2 {
		all.Go(func() {
			for n := 0; ; {
				select {
				case <-stop:
					return
				case <-time.After(c.trouble/2 + rand.N(c.trouble)):
				}
				i := half + 2*rand.IntN(c.processes/2)
				if !fleet.locks[i].TryLock() {
					continue
				}
				kill := rand.IntN(2) == 0
				if n == 0 {
					kill = half == 0 // so that there are both
				}
				if n++; kill {
					fleet.kill(i)
					killed.Add(1)
					time.Sleep(rand.N(time.Second)) // until the restart
					fleet.restart(i)
				} else {
					fleet.signal(i, syscall.SIGSTOP)
					stopped.Add(1)
					time.Sleep(c.lease/2 + rand.N(2*c.lease)) // the duration of the stop
					fleet.signal(i, syscall.SIGCONT)
				}
				fleet.locks[i].Unlock()
			}
		})
	}
	go func() {
		all.Wait()
		kills <- killed.Load()
		stops <- stopped.Load()
	}()
	return kills, stops
}

// change commits the changes: a user becomes active or inactive, with a title that counts its changes. Each user changes a few times within
// the time of a takeover, and then no more, so that a late effect of an older change stays visible.
func (c chaos) change(t *testing.T, db *sqldb.DB, kept *sqlstore.Store) {
	var next atomic.Int64
	var all sync.WaitGroup
	begun := time.Now()
	total := c.apps * c.users
	window := int(int64(total) * int64(c.lease+c.lease/2) / int64(c.lasts))
	titles := make([]int, total)
	for worker := range 8 { // a worker changes users of its own, so that the titles ascend
		all.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(c.changes) {
					return
				}
				time.Sleep(time.Until(begun.Add(c.lasts * time.Duration(n) / time.Duration(c.changes)))) // the pace of the changes
				user := min(int(n)*total/c.changes+rand.IntN(window), total-1)
				user += worker - user%8
				titles[user]++
				app, id := fmt.Sprint("app-", user%c.apps), fmt.Sprint("u-", user/c.apps)
				want := engine.Active
				if rand.IntN(10) == 0 {
					want = engine.Inactive
				}
				if err := putUser(t, db, kept, app, id, want, titles[user]); err != nil {
					t.Error("change:", err)
					return
				}
			}
		})
	}
	all.Wait()
}

// putUser commits a change of a user.
func putUser(t *testing.T, db *sqldb.DB, kept *sqlstore.Store, app, id string, want engine.Want, title int) error {
	mark := func(ctx context.Context, tx engine.Execer, marks ...engine.Mark) error {
		return kept.Mark(ctx, tx, time.Now(), marks)
	}
	return sqlDirectory{db: db}.change(t.Context(), app, mark, func(k *directoryTx) {
		k.put(id, want, "name-"+id, strconv.Itoa(title), 0)
	})
}

// settle waits until nothing is pending, rechecks included. It returns what is pending if no process works on it.
func (c chaos) settle(t *testing.T, kept *sqlstore.Store, more []string) []string {
	t.Helper()
	apps := more
	for app := range c.apps {
		apps = append(apps, fmt.Sprint("app-", app))
	}
	// a recheck is at most one RequestTimeout after the last takeover, which is at most a lease after the last kill
	limit := 4*deadline + c.lease + c.requestTimeout
	begun, worked := time.Now(), time.Now()
	for {
		pending, err := kept.Pending(t.Context(), "")
		require.NoError(t, err)
		scheduled := 0
		for _, app := range apps {
			l, err := kept.Lane(t.Context(), app)
			require.NoError(t, err)
			if !l.NextAt.IsZero() {
				scheduled, worked = scheduled+1, time.Now()
			}
		}
		switch {
		case pending == 0 && scheduled == 0:
			return nil
		case time.Since(worked) > c.lease+time.Second:
			return []string{fmt.Sprintf("%d principals are pending, and no lane is scheduled", pending)}
		case time.Since(begun) > limit:
			return []string{fmt.Sprintf("%d principals are pending, and %d lanes are scheduled", pending, scheduled)}
		}
		time.Sleep(50 * time.Millisecond) // poll interval
	}
}

// wrong returns the accounts that differ from the directory.
func (c chaos) wrong(t *testing.T, db *sqldb.DB, target *fleetTarget) (wrong []string) {
	t.Helper()
	rows, err := db.Reader().Query(t.Context(), `SELECT app, id, want, title FROM embedder_user`)
	require.NoError(t, err)
	defer rows.Close()
	type account struct {
		active bool
		title  string
	}
	have := map[string]account{}
	for _, name := range target.names() {
		for _, r := range target.app(name).Users() {
			active, set := r.Bool("active")
			key := name + "/" + r.Text("externalId")
			if _, twice := have[key]; twice {
				wrong = append(wrong, key+" has two accounts")
			}
			have[key] = account{active || !set, r.Text("title")}
		}
	}
	for rows.Next() {
		var app, id, title string
		var want engine.Want
		require.NoError(t, rows.Scan(&app, &id, &want, &title))
		got, ok := have[app+"/"+id]
		switch {
		case want == engine.Active && (!ok || !got.active || got.title != title):
			wrong = append(wrong, fmt.Sprintf("%s/%s: title %s is desired, the target has %+v", app, id, title, got))
		case want != engine.Active && ok && got.active:
			wrong = append(wrong, fmt.Sprintf("%s/%s: is active on the target", app, id))
		}
	}
	require.NoError(t, rows.Err())
	return wrong
}
