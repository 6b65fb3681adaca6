package control_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine"
	"github.com/scimwright/scimwright/engine/control/client"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/scim"
)

// TestAttempts_PageEndsEarly requires that a page of exchanges with long bodies ends before its limit, and that the client reads on.
func TestAttempts_PageEndsEarly(t *testing.T) {
	h := serve(t)
	const users = 120
	var marks []engine.Mark
	for i := range users {
		id, r := fmt.Sprint("u", i), &scim.Resource{}
		r.Set("userName", id)
		r.Set("externalId", id)
		r.Set("title", strings.Repeat("t", 7_500)) // below the limit of a recorded body: in the request, the response and the command line
		h.directory.SetUser("crm", id, engine.UserState{Want: engine.Active, UserName: id, Resource: r})
		marks = append(marks, engine.Mark{App: "crm", Kind: engine.User, ID: id})
	}
	require.NoError(t, h.options.Update(t.Context(), func(tx engine.Execer) error {
		return h.options.Engine.Mark(t.Context(), tx, marks...)
	}))
	h.options.Engine.Wake("crm")
	_, err := h.Wait(t.Context(), "crm", client.WaitOptions{})
	require.NoError(t, err)

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+"/apps/crm/attempts?limit=1000", nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	var page []client.Attempt
	require.NoError(t, json.NewDecoder(res.Body).Decode(&page))
	bytes := 0
	for _, a := range page {
		bytes += len(a.Request) + len(a.Response) + len(a.Curl)
	}
	require.LessOrEqual(t, bytes, rest.PageBytes)
	require.Contains(t, res.Header.Values("Link")[1], fmt.Sprintf(`before=%d&limit=1000>; rel="next"`, page[len(page)-1].ID))

	all, err := h.Attempts(t.Context(), "crm", client.AttemptOptions{Limit: 1000})
	require.NoError(t, err)
	require.Greater(t, len(all), len(page))
	require.GreaterOrEqual(t, len(all), users)
	require.True(t, slices.IsSortedFunc(all, func(a, b client.Attempt) int { return int(b.ID - a.ID) }))
	require.Len(t, slices.CompactFunc(all, func(a, b client.Attempt) bool { return a.ID == b.ID }), len(all))
	some, err := h.Attempts(t.Context(), "crm", client.AttemptOptions{Limit: len(page) + 3})
	require.NoError(t, err)
	require.Len(t, some, len(page)+3)
}
