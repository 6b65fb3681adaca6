package slicetest_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// BenchmarkDeleteGroup is the deletion of a group with one member, beside other users, while a rule tests groups.
func BenchmarkDeleteGroup(b *testing.B) {
	for _, users := range []int{100, 2000} {
		b.Run(fmt.Sprintf("beside %d users", users), func(b *testing.B) {
			e := apitest.New(b, sqldbtest.SQLite(b))
			e.Unrecorded()
			do := func(do, body string, status int) string {
				a := e.Do(b, do, body, nil)
				require.Equal(b, status, a.Status, "%s", a.Body)
				return a.Value("id")
			}
			staff := do("POST /api/v1/groups", `{"profile":{"name":"Staff"}}`, http.StatusOK)
			r := do("POST /api/v1/groups/rules", rule("Named", `isMemberOfGroupName("Project")`, []string{staff}), http.StatusOK)
			do("POST /api/v1/groups/rules/"+r+"/lifecycle/activate", "", http.StatusNoContent)
			require.NoError(b, e.Store.Update(b.Context(), func(tx *docstore.Tx) error {
				for i := range users {
					u := model.User{Status: model.UserActive, Provider: model.ProviderService,
						Profile: map[string]any{"login": fmt.Sprintf("u%d@example.com", i)}}
					if _, err := e.Model.Users.Insert(b.Context(), tx, model.NewID(model.KindUser), u); err != nil {
						return err
					}
				}
				return nil
			}))
			b.ResetTimer()
			for b.Loop() {
				b.StopTimer()
				group := do("POST /api/v1/groups", `{"profile":{"name":"Project"}}`, http.StatusOK)
				do("PUT /api/v1/groups/"+group+"/users/u0", "", http.StatusNoContent)
				b.StartTimer()
				do("DELETE /api/v1/groups/"+group, "", http.StatusNoContent)
			}
		})
	}
}
