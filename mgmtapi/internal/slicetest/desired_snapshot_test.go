package slicetest_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/mgmtapi/internal/apitest/apptest"
)

// TestDesired_GroupReadConcurrently reads groups while their push mappings are deleted together with the groups on the target. Each read
// sees the mapping either before or after its deletion.
func TestDesired_GroupReadConcurrently(t *testing.T) {
	apptest.Each(t, func(t *testing.T, w *apptest.World) {
		w.Unrecorded()
		app := w.SCIMApp("HR")
		w.Connect(app, "")
		const count = 20
		groups, mappings := make([]string, count), make([]string, count)
		for i := range groups {
			groups[i] = w.Group(fmt.Sprintf("group %d", i))
			path := "/apps/" + app + "/group-push/mappings"
			body := map[string]any{"sourceGroupId": groups[i], "targetGroupName": fmt.Sprintf("target %d", i)}
			id := w.Post(path, body).OK(201).Text("id")
			mappings[i] = path + "/" + id
			w.Patch(mappings[i], `{"status":"INACTIVE"}`).OK()
		}
		var current atomic.Int64
		var readers errgroup.Group
		for range 4 {
			readers.Go(func() error {
				for i := current.Load(); i < count; i = current.Load() {
					if _, err := w.Desired.Group(t.Context(), app, groups[i]); err != nil {
						return err
					}
					if _, err := w.Desired.GroupOwners(t.Context(), app); err != nil {
						return err
					}
				}
				return nil
			})
		}
		for _, mapping := range mappings {
			w.Delete(mapping + "?deleteTargetGroup=true").OK(204)
			current.Add(1)
		}
		require.NoError(t, readers.Wait())
	})
}
