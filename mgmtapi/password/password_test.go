package password_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/password"
)

func TestPasswordsMustNotContainTheLogin(t *testing.T) {
	for text, broken := range map[string]bool{
		"Tlpwd-2026": false, "xBROCKx-1a": true, "Isa-2026-xyz": false, "Example-1x": false, "a.Brock@Example.com1": true, "bröck-A1234": true,
	} {
		require.Equal(t, broken, len(password.BrokenRules(text, "a.brock@example.com")) > 0, text)
	}
	require.Len(t, password.BrokenRules("", "a@b.org"), 4)
}

func TestEqualSecretsHaveDifferentHashesThatBothMatch(t *testing.T) {
	h := password.Hasher{Cost: 4}
	a, err := h.Hash("one")
	require.NoError(t, err)
	b, err := h.Hash("one")
	require.NoError(t, err)
	require.NotEqual(t, a, b)
	require.Equal(t, password.NormalAnswer(" ANNIE "), password.NormalAnswer("annie"))
}

func TestAHashMatchesItsTextOnly(t *testing.T) {
	hash, err := password.Hasher{Cost: 4}.Hash("one")
	require.NoError(t, err)
	require.True(t, password.Matches(hash, "one"))
	require.False(t, password.Matches(hash, "two"))
	require.False(t, password.Matches("", ""), "no password is not the empty one")
}

func TestTemporaryPasswordsMeetThePolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		login := rapid.StringMatching(`[a-z2-9.]{4,12}@[a-z]{2,8}\.org`).Draw(t, "login")
		text := password.Temporary(login)
		require.Empty(t, password.BrokenRules(text, login))
		require.NotEqual(t, text, password.Temporary(login))
	})
}

func TestTheHistoryHoldsTheLastFourPasswords(t *testing.T) {
	h, now := password.Hasher{Cost: 4}, time.Unix(1_700_000_000, 0)
	u := model.User{Activation: &model.OneTimeToken{}, Reset: &model.ResetToken{}, Attempts: 3}
	texts := []string{"Zero-0000", "One-11111", "Two-22222", "Three-333", "Four-4444"}
	for _, text := range texts {
		require.Empty(t, password.Reused(&u, text))
		hash, err := h.Hash(text)
		require.NoError(t, err)
		password.Set(&u, hash, now)
	}
	require.Empty(t, password.Reused(&u, texts[0]))
	for _, text := range texts[1:] {
		require.NotEmpty(t, password.Reused(&u, text), text)
	}
	require.Nil(t, u.Activation)
	require.Nil(t, u.Reset)
	require.NotEqual(t, 3, u.Attempts, "failed attempts are counted anew")
	require.Equal(t, now, u.PasswordChanged)
}
