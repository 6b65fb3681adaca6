package users_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// together runs fn n times concurrently and counts the responses by status.
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

// A user is validated before its transaction starts. A change of the schema until then must have an effect: here the schema changes while
// the request waits for the writer slot.
func TestCreate_ValidatedInTransaction(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	org, err := e.Model.Orgs.Get(t.Context(), e.Store.Reader(), model.OrgDocument)
	require.NoError(t, err)
	required := func(yes bool, meanwhile func()) {
		require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
			doc, err := e.Model.UserSchemas.Get(t.Context(), tx, model.UserSchemaID(org.Value.UserType))
			require.NoError(t, err)
			doc.Value.Custom = map[string]model.Property{"hat": {Title: "Hat", Type: model.PropertyString, Required: &yes}}
			_, err = e.Model.UserSchemas.Update(t.Context(), tx, doc.ID, doc.Rev, doc.Value)
			meanwhile()
			return err
		}))
	}
	for round := range 5 {
		required(false, func() {})
		var group errgroup.Group
		begun := make(chan struct{})
		required(true, func() {
			group.Go(func() error {
				close(begun)
				a := e.Do(t, "POST /api/v1/users", without(fmt.Sprintf("hatless%d@example.com", round)), nil)
				if a.Status != 400 || a.Value("errorCode") != "E0000001" {
					return fmt.Errorf("%d %s", a.Status, a.Body)
				}
				return nil
			})
			<-begun
			for range 300 { // wait until the request starts its transaction
				_, err := e.Model.Orgs.Get(t.Context(), e.Store.Reader(), model.OrgDocument)
				require.NoError(t, err)
			}
		})
		require.NoError(t, group.Wait())
	}
}

// TestConcurrentCallers verifies the results of concurrent creations, updates, group joins and deactivations.
func TestConcurrentCallers(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		const callers = 8
		require.Equal(t, map[int]int{200: 1, 400: callers - 1}, together(callers, func(int) int {
			return e.Do(t, "POST /api/v1/users", without("same@example.com"), nil).Status
		}), "one login, one user")
		require.Equal(t, map[int]int{200: callers}, together(callers, func(i int) int {
			return e.Do(t, "POST /api/v1/users", without(fmt.Sprintf("u%d@example.com", i)), nil).Status
		}), "different logins do not conflict")
		require.Equal(t, map[int]int{200: callers}, together(callers, func(i int) int {
			return e.Do(t, "POST /api/v1/users/same@example.com", fmt.Sprintf(`{"profile":{"title":"%d"}}`, i), nil).Status
		}), "concurrent updates all succeed")
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
