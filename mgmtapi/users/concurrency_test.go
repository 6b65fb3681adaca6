package users_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/apitest"
	"github.com/scimwright/scimwright/mgmtapi/model"
)

// together runs fn n times at once and counts the answers by their status.
func together(n int, fn func(i int) int) map[int]int {
	counts := map[int]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			status := fn(i)
			mu.Lock()
			defer mu.Unlock()
			counts[status]++
		})
	}
	wg.Wait()
	return counts
}

func TestCallersAtTheSameTime(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		const callers = 8
		require.Equal(t, map[int]int{200: 1, 400: callers - 1}, together(callers, func(int) int {
			return e.Do(t, "POST /api/v1/users", without("same@example.com"), nil).Status
		}), "one login, one user")
		require.Equal(t, map[int]int{200: callers}, together(callers, func(i int) int {
			return e.Do(t, "POST /api/v1/users", without(fmt.Sprintf("u%d@example.com", i)), nil).Status
		}), "other logins do not stand in each other's way")
		require.Equal(t, map[int]int{200: callers}, together(callers, func(i int) int {
			return e.Do(t, "POST /api/v1/users/same@example.com", fmt.Sprintf(`{"profile":{"title":"%d"}}`, i), nil).Status
		}), "updates wait for each other")
		group := e.Do(t, "POST /api/v1/groups", `{"profile":{"name":"G"}}`, nil).Value("id")
		require.Equal(t, map[int]int{204: callers}, together(callers, func(int) int {
			return e.Do(t, "PUT /api/v1/groups/"+group+"/users/same", "", nil).Status
		}), "joining is idempotent")
		require.Equal(t, map[int]int{200: 1, 403: callers - 1}, together(callers, func(int) int {
			return e.Do(t, "POST /api/v1/users/same/lifecycle/deactivate", "", nil).Status
		}), "a transition happens once")
		n, err := e.Model.Memberships.Count(t.Context(), e.Store.Reader(), docstore.Eq(model.MembershipByGroup, group))
		require.NoError(t, err)
		require.Zero(t, n)
	})
}
