package scimserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/scimwright/scimwright/scim"
)

// TestTurns_EndWithNeighbors sends requests that take turns with requests of another server, some of which wait for locks in their turn.
func TestTurns_EndWithNeighbors(t *testing.T) {
	h, neighbor := serve(t, sqliteStore(t)), serve(t, sqliteStore(t))
	user := h.newUser(t, "member").body.Text("id")
	group := h.newGroup(t, "G", user).body.Text("id")
	long := func(name string) string { // more operations than a PATCH without a turn has
		return fmt.Sprintf(`{"schemas":[%q],"Operations":[%s{"op":"replace","path":"displayName","value":%q}]}`, scim.PatchOpMessage,
			strings.Repeat(`{"op":"replace","path":"displayName","value":"x"},`, 100), name)
	}
	requests := []struct {
		method, path string
		body         func(i int) string
	}{
		{http.MethodGet, "/Groups?count=100", nil},
		{http.MethodGet, "/Groups/" + group, nil},
		{http.MethodGet, "/Users?count=100&filter=title+pr", nil},
		{http.MethodPatch, "/Groups/" + group + "?attributes=members", func(i int) string { return long(fmt.Sprint("G", i)) }},
		{http.MethodPost, "/Bulk", func(i int) string {
			return fmt.Sprintf(`{"schemas":[%q],"Operations":[{"method":"PATCH","path":"/Groups/%s","data":%s},
				{"method":"PATCH","path":"/Users/%s","data":%s}]}`, scim.BulkRequestMessage, group, long("B"), user, long(fmt.Sprint("U", i)))
		}},
	}
	var all errgroup.Group
	for _, request := range requests {
		all.Go(func() error {
			for i := range 50 {
				var body any
				if request.body != nil {
					body = request.body(i)
				}
				neighbor.do(t, http.MethodGet, "/Users?count=1", nil).want(t, http.StatusOK)
				resp := h.do(t, request.method, request.path, body)
				if resp.status != http.StatusOK || strings.Contains(resp.text, `"status":"4`) || strings.Contains(resp.text, `"status":"5`) {
					return fmt.Errorf("%s %s: %d %s", request.method, request.path, resp.status, resp.text)
				}
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
}
