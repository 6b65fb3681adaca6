package provision_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/provision"
	"github.com/scimwright/scimwright/engine/sqlstore"
	"github.com/scimwright/scimwright/engine/storetest"
	"github.com/scimwright/scimwright/internal/enginestore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
)

const (
	manyApps      = 2_000 // apps of a tenant
	tenantLanes   = 16    // lanes of all engines
	tenantLatency = 50 * time.Millisecond
)

// tenantWorld is a tenant with many pending apps and another one with a single app. The targets count the requests.
type tenantWorld struct {
	*largeWorld

	mu    sync.Mutex
	sent  map[string]int // requests of each tenant
	ahead int            // requests of the first tenant when the first one of the other arrived
}

func newTenantWorld(t *testing.T, db *sqldb.DB) *tenantWorld {
	t.Helper()
	w := &tenantWorld{largeWorld: newLargeWorld(t, db, 0), sent: map[string]int{}}
	var err error
	w.store, err = enginestore.Open(t.Context(), db, sqlstore.Options{Tenant: storetest.Tenant})
	require.NoError(t, err)
	for _, tenant := range []string{"many", "one"} {
		target := w.directory.target[app]
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			w.mu.Lock()
			if w.sent[tenant]++; tenant == "one" && w.sent[tenant] == 1 {
				w.ahead = w.sent["many"]
			}
			w.mu.Unlock()
			time.Sleep(tenantLatency) // the latency of the target
			w.fake.ServeHTTP(rw, r)
		}))
		t.Cleanup(server.Close)
		target.BaseURL, target.Concurrency = server.URL, 1
		for n := range map[string]int{"many": manyApps, "one": 1}[tenant] {
			w.directory.target[fmt.Sprintf("%s:%d", tenant, n)] = target
		}
	}
	return w
}

func (w *tenantWorld) requests(tenant string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent[tenant]
}

// TestTenants_OneDoesNotWait checks that the only app of a tenant gets its first request after a few of those of a tenant with 2,000
// pending apps: with short runs of the lanes, and with runs that last until they are drained; in one engine, and in each of a fleet.
func TestTenants_OneDoesNotWait(t *testing.T) {
	for name, users := range map[string]int{"short runs": 1, "long runs": 200} {
		t.Run(name, func(t *testing.T) {
			sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
				w := newTenantWorld(t, db)
				for from := 0; from < manyApps; from += 100 {
					var marks []engine.Mark
					for n := from; n < from+100; n++ {
						for u := range users {
							if users > 1 && n >= 2*tenantLanes && u > 0 {
								break // the first apps have long runs
							}
							marks = append(marks, engine.Mark{App: fmt.Sprint("many:", n), Kind: engine.User, ID: crowdID(u)})
						}
					}
					w.mark(marks...)
				}
				processes := 1
				if db.Dialect() == sqldb.Postgres {
					processes = 2
				}
				for range processes {
					e := w.start(provision.Options{Lanes: tenantLanes / processes, Sweep: 100 * time.Millisecond}, 0)
					defer w.stop(e)
				}
				require.Eventually(t, func() bool { return w.requests("many") > 3*tenantLanes }, deadline, 10*time.Millisecond)
				before := w.requests("many")
				w.mark(engine.Mark{App: "one:0", Kind: engine.User, ID: crowdID(0)})
				require.Eventually(t, func() bool { return w.requests("one") > 0 }, deadline, 10*time.Millisecond)
				w.mu.Lock()
				defer w.mu.Unlock()
				t.Logf("%d requests of the other tenant before the first one", w.ahead-before)
				require.Less(t, w.ahead-before, 20*tenantLanes, "the tenant waits for the other one")
			})
		})
	}
}

// TestTenants_Undivided checks that an engine without competition of tenants uses all its lanes for one of them.
func TestTenants_Undivided(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		w := newTenantWorld(t, db)
		var marks []engine.Mark
		for n := range 4 * tenantLanes {
			for u := range 20 {
				marks = append(marks, engine.Mark{App: fmt.Sprint("many:", n), Kind: engine.User, ID: crowdID(u)})
			}
		}
		w.mark(marks...)
		e := w.start(provision.Options{Lanes: tenantLanes}, 0)
		defer w.stop(e)
		running := func() (n int) {
			processes, err := e.Processes(t.Context())
			require.NoError(t, err)
			for _, p := range processes {
				n += p.Lanes
			}
			return n
		}
		require.Eventually(t, func() bool { return running() == tenantLanes }, deadline, 10*time.Millisecond)
	})
}
