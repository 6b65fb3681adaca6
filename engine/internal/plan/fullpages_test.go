package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/internal/plan"
)

// Proves C-scim-30.
func TestPages_FullPages(t *testing.T) {
	for name, c := range map[string]struct {
		n, limit, listed int
		starts           []int
	}{
		"none":            {0, 100, 0, []int{1}},
		"one short page":  {40, 100, 40, []int{1}},
		"full pages":      {250, 100, 250, []int{1, 101, 201}},
		"a short page":    {250, 40, 0, []int{1}},
		"exactly a page":  {100, 100, 100, []int{1}},
		"larger than 100": {250, 1000, 250, []int{1, 101, 201}},
	} {
		t.Run(name, func(t *testing.T) {
			serve, p := listServer(t, c.n, c.limit), plan.NewPages(plan.UsersEndpoint)
			p.FullPages = true
			var starts []int
			var failed *plan.ListError
			for last := false; !last && failed == nil; {
				starts = append(starts, p.Listed+1)
				_, last, failed = p.Read(serve(p.Request()))
			}
			require.Equal(t, c.starts, starts)
			require.Equal(t, c.listed, p.Listed)
			if c.limit < plan.PageSize {
				require.ErrorContains(t, failed, "it has 40 resources on a page, but 100 were requested")
				require.Equal(t, engine.Rejected, failed.Class)
				require.True(t, failed.Broken)
			} else {
				require.Nil(t, failed)
			}
		})
	}
}
