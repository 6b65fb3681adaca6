package archtest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRoomMayImport(t *testing.T) {
	for _, c := range []struct {
		from, to string
		may      bool
	}{
		{"directory/users", "core/model", true},
		{"core/model", "core/signkey", true},
		{"core/model", "hooks/calls", false},
		{"directory/users", "directory/groups", false},
		{"directory/users", "oauth/grants", false},
		{"oauth/grants", "directory/users", false},
		{"oauth/endpoints", "tokens", true},
		{"tokens", "access/callers", false},
		{"access/callers", "tokens", true},
		{"signin/factors", "signin/fido/u2f", true},
		{"signin/fido/u2f", "signin/fido", true},
		{"signin/factors", "signin/policies", false},
		{"apps/imports", "apps/desired", true},
		{"assembly", "directory/users", true},
	} {
		require.Equal(t, c.may, roomMayImport(roomsRoot+c.from, roomsRoot+c.to, false), "%s imports %s", c.from, c.to)
	}
	require.True(t, roomMayImport(roomsRoot+"access/authz", roomsRoot+"access/apitokens", true))
	require.True(t, roomMayImport("mgmtapi", roomsRoot+"directory/users", false))
	require.True(t, roomMayImport(roomsRoot+"directory/users", "internal/rest", false))
}
