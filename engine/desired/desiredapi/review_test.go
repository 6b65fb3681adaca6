package desiredapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBadInput_UTF8 sends paths and parameters that are not valid UTF-8, which PostgreSQL rejects.
func TestBadInput_UTF8(t *testing.T) {
	each(t, func(t *testing.T, h *host) {
		h.putApp(1)
		for _, path := range []string{
			"/apps?after=%ff", "/apps/%ff", "/apps/%ff/users/u", "/apps/%ff/groups/g/members",
			"/apps/crm/users?after=%ff", "/apps/crm/users/%ff", "/apps/crm/groups/%ff",
			"/apps/crm/groups/%ff/members", "/apps/crm/groups/g/members?after=%ff", "/apps/crm/snapshots/1/missing?after=%ff",
			"/apps/crm/users/a%00", "/apps/a%00",
		} {
			r := h.send("GET", path, "", nil)
			require.Less(t, r.status, 500, "%s: %s", path, r.body)
		}
		r := h.send("DELETE", "/apps/crm/users/%ff?version=1", "", nil)
		require.Equal(t, 400, r.status, r.body)
	})
}

// TestSnapshot_NoneMissing lists the missing users of a snapshot that contains all.
func TestSnapshot_NoneMissing(t *testing.T) {
	each(t, func(t *testing.T, h *host) {
		h.putApp(1)
		h.do(201, "POST", "/apps/crm/snapshots", `{"kind":"user"}`)
		h.do(200, "POST", "/apps/crm/snapshots/1/end", "")
		require.JSONEq(t, `[]`, h.do(200, "GET", "/apps/crm/snapshots/1/missing", "").body)
	})
}
