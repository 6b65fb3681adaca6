package users

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPasswordsMustNotContainTheLogin(t *testing.T) {
	for password, broken := range map[string]bool{
		"Tlpwd-2026": false, "xBROCKx-1a": true, "Isa-2026-xyz": false, "Example-1x": false, "a.Brock@Example.com1": true, "bröck-A1234": true,
	} {
		require.Equal(t, broken, len(brokenRules(password, "a.brock@example.com")) > 0, password)
	}
	require.Len(t, brokenRules("", "a@b.org"), 4)
}

func TestEqualSecretsHaveDifferentHashesThatBothMatch(t *testing.T) {
	h := hasher{cost: 4}
	a, err := h.hash("one")
	require.NoError(t, err)
	b, err := h.hash("one")
	require.NoError(t, err)
	require.NotEqual(t, a, b)
	require.Equal(t, normalAnswer(" ANNIE "), normalAnswer("annie"))
}
