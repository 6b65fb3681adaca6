package password_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
)

// policy holds the initial password settings of an organization.
var policy = model.DefaultPasswordSettings()

func TestBrokenRules(t *testing.T) {
	strict := model.PasswordSettings{MinLength: 12, MinUpper: 2, MinSymbol: 1, ExcludeAttributes: []string{"firstName"}}
	require.Equal(t, []string{
		"have at least 12 characters", "have at least 2 upper-case letters", "have a symbol", "not contain the attribute firstName",
	}, password.BrokenRules(&strict, "renée-less"[:6]+"1", map[string]any{"firstName": "Renee", "login": "renee"}))
	require.Empty(t, password.BrokenRules(&strict, "AB:longenough", map[string]any{"firstName": "Bo"}))
	require.Empty(t, password.BrokenRules(&model.PasswordSettings{}, "", nil))
}

func TestPasswordAge_Limits(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	p := model.PasswordSettings{MinAge: time.Hour, MaxAge: 24 * time.Hour}
	u := model.User{PasswordHash: "x", PasswordChanged: at}
	require.NotEmpty(t, password.TooYoung(&p, &u, at.Add(time.Hour-1)))
	require.Empty(t, password.TooYoung(&p, &u, at.Add(time.Hour)))
	require.False(t, password.TooOld(&p, &u, at.Add(24*time.Hour-1)))
	require.True(t, password.TooOld(&p, &u, at.Add(24*time.Hour)))
	require.False(t, password.TooOld(&model.PasswordSettings{}, &u, at.Add(1000*time.Hour)))
	require.Empty(t, password.TooYoung(&p, &model.User{}, at))
}

// Proves B-credentials-14, B-credentials-16.
func TestBrokenRules_Login(t *testing.T) {
	for text, broken := range map[string]bool{
		"Tlpwd-2026": false, "xBROCKx-1a": true, "Isa-2026-xyz": false, "Example-1x": false, "a.Brock@Example.com1": true, "bröck-A1234": true,
	} {
		require.Equal(t, broken, len(password.BrokenRules(&policy, text, map[string]any{"login": "a.brock@example.com"})) > 0, text)
	}
	require.Len(t, password.BrokenRules(&policy, "", map[string]any{"login": "a@b.org"}), 4)
}

// TestHash_Salted verifies that two hashes of one secret differ and that NormalizeAnswer ignores case and whitespace.
func TestHash_Salted(t *testing.T) {
	h := password.Hasher{Cost: 4}
	a, err := h.Hash("one")
	require.NoError(t, err)
	b, err := h.Hash("one")
	require.NoError(t, err)
	require.NotEqual(t, a, b)
	require.Equal(t, password.NormalizeAnswer(" ANNIE "), password.NormalizeAnswer("annie"))
}

func TestMatches(t *testing.T) {
	hash, err := password.Hasher{Cost: 4}.Hash("one")
	require.NoError(t, err)
	require.True(t, password.Matches(hash, "one"))
	require.False(t, password.Matches(hash, "two"))
	require.False(t, password.Matches("", ""), "a missing password does not match the empty string")
}

// Proves B-hashes-08.
func TestVerify_BcryptWorkFactors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(1, 18, 72).Draw(t, "text")
		want, err := bcrypt.GenerateFromPassword([]byte(text), bcrypt.MinCost)
		require.NoError(t, err)
		salt, value := string(want[7:29]), string(want[29:])
		have, err := password.WeakBcrypt(bcrypt.MinCost, salt, text)
		require.NoError(t, err)
		require.Equal(t, value, have, "a hash of the library")

		factor := rapid.IntRange(1, bcrypt.MinCost-1).Draw(t, "factor")
		weak, err := password.WeakBcrypt(factor, salt, text)
		require.NoError(t, err)
		u := model.User{Imported: &model.ImportedHash{Algorithm: "BCRYPT", WorkFactor: factor, Salt: salt, Value: weak}}
		password.CheckImported(*u.Imported, func(member, text string) { require.Fail(t, text, member) })
		require.True(t, password.Verify(&u, text))
		require.False(t, password.Verify(&u, text+"x"))
		u.Imported.WorkFactor++
		require.False(t, password.Verify(&u, text), "the work factor changes the hash")
	})
	for _, factor := range []int{-1, 0, 21} {
		var wrong []string
		password.CheckImported(
			model.ImportedHash{Algorithm: "BCRYPT", WorkFactor: factor, Salt: strings.Repeat("a", 22), Value: strings.Repeat("a", 31)},
			func(member, _ string) { wrong = append(wrong, member) })
		require.Equal(t, []string{"workFactor"}, wrong)
	}
}

func TestTemporary_SatisfiesPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		login := rapid.StringMatching(`[a-z2-9.]{4,12}@[a-z]{2,8}\.org`).Draw(t, "login")
		profile := map[string]any{"login": login}
		strict := model.PasswordSettings{
			MinLength: rapid.IntRange(1, 40).Draw(t, "length"), MinUpper: rapid.IntRange(0, 5).Draw(t, "upper"),
			MinLower:  rapid.IntRange(0, 5).Draw(t, "lower"),
			MinNumber: rapid.IntRange(0, 5).Draw(t, "number"), MinSymbol: rapid.IntRange(0, 5).Draw(t, "symbol"), ExcludeLogin: true,
		}
		text := password.Temporary(&strict, profile)
		require.Empty(t, password.BrokenRules(&strict, text, profile))
		require.NotEqual(t, text, password.Temporary(&strict, profile))
	})
}

func TestReused_LastFourPasswords(t *testing.T) {
	h, now := password.Hasher{Cost: 4}, time.Unix(1_700_000_000, 0)
	u := model.User{Activation: &model.OneTimeToken{}, Reset: &model.ResetToken{}, Attempts: 3}
	texts := []string{"Zero-0000", "One-11111", "Two-22222", "Three-333", "Four-4444"}
	for _, text := range texts {
		require.Empty(t, password.Reused(&policy, &u, text))
		hash, err := h.Hash(text)
		require.NoError(t, err)
		password.Set(&policy, &u, hash, now)
	}
	require.Empty(t, password.Reused(&policy, &u, texts[0]))
	for _, text := range texts[1:] {
		require.NotEmpty(t, password.Reused(&policy, &u, text), text)
	}
	require.Nil(t, u.Activation)
	require.Nil(t, u.Reset)
	require.NotEqual(t, 3, u.Attempts, "the count of failed attempts is reset")
	require.Equal(t, now, u.PasswordChanged)
}
