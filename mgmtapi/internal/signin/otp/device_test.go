package otp_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/mgmtapi/internal/signin/otp"
)

// key is the key of the test values of both RFCs. The longer keys of RFC 6238 repeat it.
const key = "12345678901234567890"

// TestCounter_RFC4226 verifies the passcodes of RFC 4226, appendix D.
func TestCounter_RFC4226(t *testing.T) {
	want := []string{"755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"}
	for counter, code := range want {
		have, err := otp.Device{}.Counter(otp.SecretOf([]byte(key)), uint64(counter))
		require.NoError(t, err)
		require.Equal(t, code, have, "counter %d", counter)
	}
}

// TestTime_RFC6238 verifies the passcodes of RFC 6238, appendix B.
func TestTime_RFC6238(t *testing.T) {
	keys := map[otp.Hash]string{otp.SHA1: key, otp.SHA256: strings.Repeat(key, 2)[:32], otp.SHA512: strings.Repeat(key, 4)[:64]}
	for _, c := range []struct {
		at   int64
		hash otp.Hash
		code string
	}{
		{59, otp.SHA1, "94287082"}, {59, otp.SHA256, "46119246"}, {59, otp.SHA512, "90693936"},
		{1111111109, otp.SHA1, "07081804"}, {1111111109, otp.SHA256, "68084774"}, {1111111109, otp.SHA512, "25091201"},
		{1111111111, otp.SHA1, "14050471"}, {1111111111, otp.SHA256, "67062674"}, {1111111111, otp.SHA512, "99943326"},
		{1234567890, otp.SHA1, "89005924"}, {1234567890, otp.SHA256, "91819424"}, {1234567890, otp.SHA512, "93441116"},
		{2000000000, otp.SHA1, "69279037"}, {2000000000, otp.SHA256, "90698825"}, {2000000000, otp.SHA512, "38618901"},
		{20000000000, otp.SHA1, "65353130"}, {20000000000, otp.SHA256, "77737706"}, {20000000000, otp.SHA512, "47863826"},
	} {
		have, err := otp.Device{Digits: 8, Hash: c.hash}.Time(otp.SecretOf([]byte(keys[c.hash])), time.Unix(c.at, 0))
		require.NoError(t, err)
		require.Equal(t, c.code, have, "at %d with hash %d", c.at, c.hash)
	}
}

// Find accepts a passcode up to one step before or after its own step, and not two steps away.
func TestFind_AdjacentSteps(t *testing.T) {
	d := otp.Device{Digits: 8} // with 8 digits, different steps seldom have the same passcode
	secret := otp.SecretOf([]byte(key))
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(600, 1<<33).Draw(t, "at"), 0)
		away := rapid.IntRange(-4, 4).Draw(t, "away")
		code, err := d.Time(secret, at)
		if err != nil {
			t.Fatal(err)
		}
		asked := at.Add(time.Duration(away) * 30 * time.Second)
		step, found, err := d.Find(secret, code, asked, 1)
		if err != nil {
			t.Fatal(err)
		}
		within := away >= -1 && away <= 1
		if found != within || found && step != d.StepAt(at) {
			// Another step has the same passcode with a probability of one in thirty million.
			if other, err := d.Counter(secret, uint64(step)); err != nil || !found || other != code {
				t.Fatalf("found %v at the step %d, of %d", found, step, d.StepAt(at))
			}
		}
	})
	_, found, err := d.Find(secret, "", time.Unix(0, 0), 3)
	require.NoError(t, err)
	require.False(t, found)
}

func TestSecret_NotBase32(t *testing.T) {
	_, err := otp.Device{}.Time("not base 32!", time.Unix(0, 0))
	require.ErrorIs(t, err, otp.ErrSecret)
	_, _, err = otp.Device{}.Find("not base 32!", "123456", time.Unix(0, 0), 1)
	require.ErrorIs(t, err, otp.ErrSecret)
}

func TestNewSecret_LongAndUnique(t *testing.T) {
	require.Regexp(t, regexp.MustCompile(`^[A-Z2-7]{32}$`), string(otp.NewSecret()))
	require.NotEqual(t, otp.NewSecret(), otp.NewSecret())
}

// TestURI verifies that the URI of a device names the issuer and the account.
func TestURI(t *testing.T) {
	u, err := url.Parse(otp.Device{}.URI("Some Org", "ada+x@example.com", "ABCD"))
	require.NoError(t, err)
	require.Equal(t, "otpauth", u.Scheme)
	require.Equal(t, "totp", u.Host)
	require.Equal(t, "/Some Org:ada+x@example.com", u.Path)
	require.Equal(t, url.Values{"secret": {"ABCD"}, "issuer": {"Some Org"}, "algorithm": {"SHA1"}, "digits": {"6"}, "period": {"30"}},
		u.Query())
}

func TestRandom_AllDigits(t *testing.T) {
	seen := map[rune]bool{}
	for range 200 { // the probability that a digit does not occur is 10^-54
		code := otp.Random(6)
		require.Regexp(t, `^[0-9]{6}$`, code)
		for _, r := range code {
			seen[r] = true
		}
	}
	require.Len(t, seen, 10)
}

func BenchmarkFind(b *testing.B) {
	secret, now := otp.NewSecret(), time.Now()
	// the passcode of the previous step: Find compares it after those of the current step and the next one
	code, err := otp.Device{}.Time(secret, now.Add(-30*time.Second))
	require.NoError(b, err)
	for b.Loop() {
		if _, found, err := (otp.Device{}).Find(secret, code, now, 1); !found || err != nil {
			b.Fatal(found, err)
		}
	}
}
