package daemon_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/cmd/internal/daemon"
)

type auditEntry struct {
	Seq                                         int64
	Tenant, Caller, Name, Operation, Object, At string
	Status                                      int
}

func TestAudit_EachWrite(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		d, _ := start(t, daemon.Options{DB: databaseURL})
		admin := callerOf(t, d)
		_, url := newTarget(t)
		admin.do(http.StatusOK, http.MethodPut, "/apps/crm", appBody(2, url))
		admin.do(http.StatusConflict, http.MethodPut, "/apps/crm", appBody(1, url))
		admin.do(http.StatusOK, http.MethodGet, "/apps/crm", "")
		admin.do(http.StatusOK, http.MethodPost, "/apps/crm/wait", "")
		admin.as("default", "read").do(http.StatusForbidden, http.MethodDelete, "/apps/crm?version=3", "")
		var all []auditEntry
		eventually(t, "all statuses are stored", func() bool {
			admin.do(http.StatusOK, http.MethodGet, "/audit", "", &all)
			for _, e := range all {
				if e.Status == 0 {
					return false
				}
			}
			return len(all) == 4
		})
		for i, want := range []auditEntry{
			{Operation: "putApp", Object: "/apps/crm", Status: 200},
			{Operation: "putApp", Object: "/apps/crm", Status: 409},
			{Operation: "createToken", Object: "/tokens", Status: 201},
			{Operation: "deleteApp", Object: "/apps/crm", Status: 403},
		} {
			assert.Equal(t, want.Operation, all[i].Operation)
			assert.Equal(t, want.Object, all[i].Object)
			assert.Equal(t, want.Status, all[i].Status)
			assert.Equal(t, int64(i+1), all[i].Seq)
			assert.Equal(t, "default", all[i].Tenant)
		}
		assert.Equal(t, "bootstrap", all[0].Caller)
		admin.do(http.StatusOK, http.MethodGet, "/audit?after=3", "", &all)
		require.Len(t, all, 1)
	})
}

// TestAudit_ReaderMissesNothing reads with a cursor while several daemons write.
func TestAudit_ReaderMissesNothing(t *testing.T) {
	each(t, func(t *testing.T, databaseURL string) {
		d, _ := start(t, daemon.Options{DB: databaseURL, Limits: daemon.Limits{Rate: 1e6}})
		writers := []*daemon.Daemon{d}
		if databaseURL[:8] == "postgres" {
			second, _ := start(t, daemon.Options{DB: databaseURL, Limits: daemon.Limits{Rate: 1e6}})
			writers = append(writers, second)
		}
		const requests, clients = 20, 4
		var sending sync.WaitGroup
		for n := range clients {
			c := callerOf(t, writers[n%len(writers)])
			sending.Go(func() {
				for i := range requests {
					r, err := c.send(http.MethodDelete, fmt.Sprintf("/apps/a-%d-%d?version=1", n, i), "application/json", nil)
					if err != nil || r.status != http.StatusOK {
						t.Errorf("%v %s", err, r.body)
					}
				}
			})
		}
		c, after, seen := callerOf(t, d), int64(0), 0
		eventually(t, "all entries are read", func() bool {
			var page []auditEntry
			c.do(http.StatusOK, http.MethodGet, fmt.Sprintf("/audit?after=%d", after), "", &page)
			for _, e := range page {
				require.Greater(t, e.Seq, after)
				after = e.Seq
				seen++
			}
			return seen == requests*clients
		})
		sending.Wait()
	})
}
