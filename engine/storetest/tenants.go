package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/store"
)

// Tenant returns the tenant of an app: the part of its id before the first colon. A store that divides lanes among tenants is opened with
// this function for Run.
func Tenant(app string) string {
	tenant, _, _ := strings.Cut(app, ":")
	return tenant
}

// divided ends the test if the store does not divide lanes. Otherwise it claims the lanes of other tests.
func (s *suite) divided() {
	s.t.Helper()
	if !s.can.tenants.Divides() {
		s.t.Skip("storetest: the store does not divide lanes among tenants")
	}
	_, err := s.store.Claim(s.t.Context(), s.process(), s.now.AddDate(10, 0, 0), 10_000)
	require.NoError(s.t, err)
}

// pending makes apps of a tenant pending, each a millisecond later than the one before.
func (s *suite) pending(tenant string, n int) {
	s.t.Helper()
	before := s.now
	for i := range n {
		s.mark(engine.Mark{App: fmt.Sprintf("%s:%s:%03d", tenant, s.app, i), ID: "a"})
		s.now = s.now.Add(time.Millisecond)
	}
	s.now = before
}

// claimOf claims lanes and returns their apps, without the part of the test.
func (s *suite) claimOf(due time.Time, quotas []store.Quota, limit int) (apps []string, leases []engine.Lease) {
	s.t.Helper()
	leases, err := s.can.tenants.ClaimOf(s.t.Context(), s.process(), due, quotas, limit)
	require.NoError(s.t, err)
	for _, l := range leases {
		require.Equal(s.t, Tenant(l.App), l.Tenant)
		apps = append(apps, strings.Replace(l.App, ":"+s.app, "", 1))
	}
	return apps, leases
}

func testTenants(t *testing.T, s *suite) {
	s.divided()
	waiting := func(due time.Time, after string) store.Waiting {
		t.Helper()
		w, err := s.can.tenants.Waiting(t.Context(), due, after)
		require.NoError(t, err)
		return w
	}
	due := s.now.Add(time.Second)
	require.Equal(t, store.Waiting{}, waiting(due, ""))
	require.False(t, s.search(due, 10).Divided)
	s.pending("tenant-b", 5)
	c := s.search(due, 10)
	require.False(t, c.Divided, "one tenant")
	require.Equal(t, 5, c.Lanes)
	s.now = s.now.Add(100 * time.Millisecond)
	s.pending("tenant-a", 1)
	s.pending("tenant-c", 2)
	c = s.search(due, 10)
	require.True(t, c.Divided)
	require.Equal(t, 8, c.Lanes)
	all := []string{"tenant-a", "tenant-b", "tenant-c"}
	require.Equal(t, store.Waiting{Tenants: all, Last: "tenant-c"}, waiting(due, ""))
	require.Equal(t, store.Waiting{Tenants: []string{"tenant-b", "tenant-c", "tenant-a"}, Last: "tenant-a"}, waiting(due, "tenant-a"))
	require.Equal(t, []string{"tenant-a", "tenant-b", "tenant-c"}, waiting(due, "tenant-c").Tenants)
	early := start.Add(10 * time.Millisecond)
	require.Equal(t, []string{"tenant-b"}, waiting(early, "tenant-b").Tenants, "the lanes of the others are not due")

	quotas := []store.Quota{{Tenant: "tenant-c", Lanes: 1}, {Tenant: "tenant-a", Lanes: 3}, {Tenant: "unknown", Lanes: 9}}
	apps, first := s.claimOf(due, quotas, 4)
	require.ElementsMatch(t, []string{"tenant-c:000", "tenant-a:000", "tenant-b:000", "tenant-b:001"}, apps, "quotas first, then by time")
	held, err := s.store.Held(t.Context(), s.process())
	require.NoError(t, err)
	require.Subset(t, held, first)
	apps, _ = s.claimOf(due, []store.Quota{{Tenant: "tenant-b", Lanes: 9}}, 2)
	require.ElementsMatch(t, []string{"tenant-b:002", "tenant-b:003"}, apps)
	apps, _ = s.claimOf(early, []store.Quota{{Tenant: "tenant-c", Lanes: 1}}, 5)
	require.Equal(t, []string{"tenant-b:004"}, apps, "the lane of tenant-c is not due")
	require.Equal(t, store.Waiting{Tenants: []string{"tenant-c"}, Last: "tenant-c"}, waiting(due, ""))
	apps, _ = s.claimOf(due, nil, 0)
	require.Empty(t, apps)
	apps, _ = s.claimOf(due, nil, 5)
	require.Equal(t, []string{"tenant-c:001"}, apps)

	leases, err := s.can.tenants.ClaimOf(t.Context(), "unknown", due, []store.Quota{{Tenant: "tenant-a", Lanes: 1}}, 1)
	require.NoError(t, err)
	require.Empty(t, leases, "a process that has ended claims nothing")
	require.NoError(t, s.releaseError(first[0], engine.Hold{}, time.Time{}))
}

// testManyTenants checks that each of 300 tenants gets its turn, whatever part of them a call visits, and that a tenant with many lanes
// does not make a call visit fewer tenants.
func testManyTenants(t *testing.T, s *suite) {
	s.divided()
	const tenants = 300
	var marks []engine.Mark
	for n := range tenants {
		marks = append(marks, engine.Mark{App: fmt.Sprintf("t%03d:%s", n, s.app), ID: "a"})
	}
	for n := range 500 {
		marks = append(marks, engine.Mark{App: fmt.Sprintf("t100:%s:%d", s.app, n), ID: "a"})
	}
	s.mark(marks...)
	seen, after := map[string]int{}, ""
	const calls = 12
	for range calls {
		w, err := s.can.tenants.Waiting(t.Context(), s.now, after)
		require.NoError(t, err)
		require.NotEmpty(t, w.Tenants)
		require.NotEqual(t, after, w.Last)
		for _, tenant := range w.Tenants {
			seen[tenant]++
		}
		after = w.Last
	}
	require.Len(t, seen, tenants)
	for tenant, n := range seen {
		require.LessOrEqual(t, n, calls*32/tenants+1, tenant)
	}
}
