package yubikey_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/yubikey"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/yubikey/yubikeytest"
)

const publicID = "cccccccccccb"

// published holds the test vectors that Yubico publishes with yubico-c (test-vectors.txt and selftest.c).
var published = []struct {
	key, block, privateID string
	counter               yubikey.Counter
}{
	{"ecde18dbe76fbd0c33330f1c354871db", "hknhfjbrjnlnldnhcujvddbikngjrtgh", "8792ebfe26cc", yubikey.Counter{Session: 0x13, Use: 0x11}},
	{"000102030405060708090a0b0c0d0e0f", "dvgtiblfkbgturecfllberrvkinnctnn", "010203040506", yubikey.Counter{Session: 1, Use: 1}},
	{"000102030405060708090a0b0c0d0e0f", "rnibcnfhdninbrdebccrndfhjgnhftee", "010203040506", yubikey.Counter{Session: 1, Use: 2}},
	{"000102030405060708090a0b0c0d0e0f", "iikkijbdknrrdhfdrjltvgrbkkjblcbh", "010203040506", yubikey.Counter{Session: 0xfff, Use: 1}},
	{"c4422890653076cde73d449b191b416a", "iucvrkjiegbhidrcicvlgrcgkgurhjnj", "33c69e7f249e", yubikey.Counter{Session: 1, Use: 0}},
}

func tokenOf(t *testing.T, key, privateID string) (token yubikey.Token) {
	for text, into := range map[string][]byte{key: token.Key[:], privateID: token.PrivateID[:]} {
		data, err := hex.DecodeString(text)
		require.NoError(t, err)
		require.Equal(t, len(into), copy(into, data))
	}
	return token
}

// TestCheck_PublishedPasswords verifies that Check accepts the password of each published test vector once.
func TestCheck_PublishedPasswords(t *testing.T) {
	for _, v := range published {
		t.Run(v.block, func(t *testing.T) {
			token := tokenOf(t, v.key, v.privateID)
			id, block, err := yubikey.Split(strings.ToUpper(publicID + v.block))
			require.NoError(t, err)
			require.Equal(t, publicID, id)
			counter, err := token.Check(block)
			require.NoError(t, err)
			require.Equal(t, v.counter, counter)

			token.Last = counter
			_, err = token.Check(block)
			require.ErrorIs(t, err, yubikey.ErrReplayed)
			token.Last = yubikey.Counter{Session: v.counter.Session + 1}
			_, err = token.Check(block)
			require.ErrorIs(t, err, yubikey.ErrReplayed, "an earlier session")

			token.Last = yubikey.Counter{}
			token.PrivateID[5] ^= 1
			_, err = token.Check(block)
			require.ErrorIs(t, err, yubikey.ErrWrong, "another private id")
			token.PrivateID[5] ^= 1
			token.Key[0] ^= 1
			_, err = token.Check(block)
			require.ErrorIs(t, err, yubikey.ErrWrong, "another key")
		})
	}
}

func TestModhex(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "ifhgieif": "test", "cbdefghijklnrtuv": "\x01\x23\x45\x67\x89\xab\xcd\xef", "dteffuje": "\x2d\x34\x4e\x83",
	} {
		got, err := yubikey.DecodeModhex(text)
		require.NoError(t, err, text)
		require.Equal(t, want, string(got))
		require.Equal(t, text, yubikey.EncodeModhex([]byte(want)))
	}
	for _, text := range []string{"a", "c", "ca", "C1", "cç", "ccc"} {
		_, err := yubikey.DecodeModhex(text)
		require.ErrorIs(t, err, yubikey.ErrMalformed, text)
	}
}

func TestSplit_Malformed(t *testing.T) {
	good := publicID + published[0].block
	for name, text := range map[string]string{
		"empty": "", "short": good[1:], "long": good + "c", "not modhex": "a" + good[1:], "digits": strings.Repeat("1", 44),
		"not ASCII": strings.Repeat("ö", 22), "spaces": " " + good[1:],
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := yubikey.Split(text)
			require.ErrorIs(t, err, yubikey.ErrMalformed)
		})
	}
}

func TestCheck_RequiresLaterCounter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var token yubikey.Token
		copy(token.Key[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "key"))
		copy(token.PrivateID[:], rapid.SliceOfN(rapid.Byte(), 6, 6).Draw(t, "private id"))
		near := rapid.Uint16Range(0, 3)
		token.Last = yubikey.Counter{Session: near.Draw(t, "last session"), Use: uint8(near.Draw(t, "last use"))}
		made := yubikey.Counter{Session: near.Draw(t, "session"), Use: uint8(near.Draw(t, "use"))}
		capsLock := rapid.SampledFrom([]uint16{0, 0x8000}).Draw(t, "caps lock")
		noise := [5]byte(rapid.SliceOfN(rapid.Byte(), 5, 5).Draw(t, "noise"))
		_, block, err := yubikey.Split(yubikeytest.GenerateOTP(t, publicID, token, made.Session|capsLock, made.Use, noise))
		require.NoError(t, err)
		counter, err := token.Check(block)
		later := made.Session > token.Last.Session || made.Session == token.Last.Session && made.Use > token.Last.Use
		require.Equal(t, later, err == nil)
		if !later {
			require.ErrorIs(t, err, yubikey.ErrReplayed)
		}
		require.Equal(t, made, counter)
	})
}

func TestCheck_RejectsChangedPassword(t *testing.T) {
	token := tokenOf(t, published[1].key, published[1].privateID)
	_, block, err := yubikey.Split(publicID + published[1].block)
	require.NoError(t, err)
	for i := range 8 * len(block) {
		changed := block
		changed[i/8] ^= 1 << (i % 8)
		_, err := token.Check(changed)
		require.ErrorIs(t, err, yubikey.ErrWrong, "bit %d", i)
	}
}

func FuzzSplit(f *testing.F) {
	for _, v := range published {
		f.Add(publicID + v.block)
	}
	f.Add("")
	f.Add(strings.Repeat("\u212a", 15)) // the Unicode character KELVIN SIGN, which has three bytes in UTF-8 and the lower-case form "k"
	f.Fuzz(func(t *testing.T, text string) {
		id, block, err := yubikey.Split(text)
		if err != nil {
			require.ErrorIs(t, err, yubikey.ErrMalformed)
			return
		}
		require.Equal(t, strings.ToLower(text), id+yubikey.EncodeModhex(block[:]))
	})
}
