package fido_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/descope/virtualwebauthn"
	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido/fidotest"
)

const origin = "http://localhost:8080"

func party(t testing.TB) fido.Party {
	p, err := fido.PartyAt(origin)
	require.NoError(t, err)
	return p
}

func TestRegisterAndAssert(t *testing.T) {
	for _, kind := range []virtualwebauthn.KeyType{virtualwebauthn.KeyTypeEC2, virtualwebauthn.KeyTypeRSA} {
		t.Run(string(kind), func(t *testing.T) {
			p, b := party(t), fidotest.NewBrowser(origin, kind)
			challenge := fido.NewChallenge()
			b.Credential.Counter = 7
			c, err := p.Register(challenge, b.Create(t, challenge))
			require.NoError(t, err)
			require.Equal(t, b.Credential.ID, c.ID)
			require.EqualValues(t, 7, c.Counter)
			b.Credential.Counter = 8
			assertion := b.Get(t, challenge)
			counter, err := p.Assert(c, challenge, assertion)
			require.NoError(t, err)
			require.EqualValues(t, 8, counter)
			c.Counter = counter
			_, err = p.Assert(c, challenge, assertion)
			require.ErrorIs(t, err, fido.ErrCounter)
			b.Credential.Counter = 0
			_, err = p.Assert(c, challenge, b.Get(t, challenge))
			require.ErrorIs(t, err, fido.ErrCounter, "a counter that restarts")
		})
	}
}

// TestAssert_ZeroCounter verifies that Assert accepts an authenticator with a counter that stays zero.
func TestAssert_ZeroCounter(t *testing.T) {
	p, b := party(t), fidotest.NewBrowser(origin, virtualwebauthn.KeyTypeEC2)
	challenge := fido.NewChallenge()
	c, err := p.Register(challenge, b.Create(t, challenge))
	require.NoError(t, err)
	for range 2 {
		counter, err := p.Assert(c, challenge, b.Get(t, challenge))
		require.NoError(t, err)
		require.Zero(t, counter)
	}
}

// One of 128 keys of the virtual authenticators has a coordinate with a leading zero, which the library omits.
func TestBrowser_WellFormedKeys(t *testing.T) {
	for range 1000 {
		b := fidotest.NewBrowser(origin, virtualwebauthn.KeyTypeEC2)
		require.Len(t, b.Credential.Key.AttestationData(), 77)
	}
}

// object is a decoded attestation object.
type object struct {
	Format    string         `cbor:"fmt"`
	Statement map[string]any `cbor:"attStmt"`
	AuthData  []byte         `cbor:"authData"`
}

// edit changes an attestation object.
func edit(t testing.TB, attestation []byte, change func(*object)) []byte {
	var o object
	require.NoError(t, cbor.Unmarshal(attestation, &o))
	change(&o)
	data, err := cbor.Marshal(o)
	require.NoError(t, err)
	return data
}

// swap replaces text in client data.
func swap(t testing.TB, clientData []byte, old, with string) []byte {
	require.Contains(t, string(clientData), old)
	return bytes.Replace(clientData, []byte(old), []byte(with), 1)
}

// The offsets of the parts of authenticator data.
const (
	flagsAt   = 32
	counterAt = 33
	aaguidAt  = 37
	idAt      = 37 + 16 + 2
	keyAt     = idAt + 32
)

func TestRegister_Rejected(t *testing.T) {
	p, b := party(t), fidotest.NewBrowser(origin, virtualwebauthn.KeyTypeEC2)
	challenge := fido.NewChallenge()
	data := func(at int) func(*fido.Registration) {
		return func(r *fido.Registration) {
			r.Attestation = edit(t, r.Attestation, func(o *object) { o.AuthData[at] ^= 0x80 })
		}
	}
	statement := func(change func(*object)) func(*fido.Registration) {
		return func(r *fido.Registration) { r.Attestation = edit(t, r.Attestation, change) }
	}
	said := func(old, with string) func(*fido.Registration) {
		return func(r *fido.Registration) { r.ClientData = swap(t, r.ClientData, old, with) }
	}
	for name, change := range map[string]func(*fido.Registration){
		"for another challenge":           said(challenge, fido.NewChallenge()),
		"for a challenge with padding":    said(challenge, challenge+"="),
		"from another origin":             said(origin, "http://localhost:8081"),
		"from another scheme":             said(origin, "https://localhost:8080"),
		"from another host":               said(origin, "http://localhost.example.com:8080"),
		"from a frame of another site":    said(`"origin"`, `"crossOrigin":true,"origin"`),
		"of another type":                 said("webauthn.create", "webauthn.get"),
		"with other client data":          said(`"origin"`, `"other":1,"origin"`),
		"without client data":             func(r *fido.Registration) { r.ClientData = nil },
		"with client data that is a list": func(r *fido.Registration) { r.ClientData = []byte("[]") },
		"with another relying party":      data(0),
		"without the user":                statement(func(o *object) { o.AuthData[flagsAt] &^= 1 }),
		"without a credential":            statement(func(o *object) { o.AuthData[flagsAt] &^= 0x40 }),
		"with another counter":            data(counterAt + 3),
		"with another AAGUID":             data(aaguidAt),
		"with another credential id":      data(idAt),
		"with another key":                data(keyAt + 30),
		"with half a key":                 statement(func(o *object) { o.AuthData = o.AuthData[:keyAt+20] }),
		"with another signature":          statement(func(o *object) { o.Statement["sig"].([]byte)[20] ^= 1 }),
		"without a signature":             statement(func(o *object) { delete(o.Statement, "sig") }),
		"with another algorithm":          statement(func(o *object) { o.Statement["alg"] = -257 }),
		"in an unknown format":            statement(func(o *object) { o.Format = "scroll" }),
		"with a statement about nothing":  statement(func(o *object) { o.Format = "none" }),
		"as of a U2F token":               statement(func(o *object) { o.Format = "fido-u2f" }),
		"without an attestation":          func(r *fido.Registration) { r.Attestation = nil },
		"with an attestation that is text": func(r *fido.Registration) {
			r.Attestation = []byte("attestation")
		},
		"cut short": func(r *fido.Registration) { r.Attestation = r.Attestation[:len(r.Attestation)-1] },
	} {
		t.Run(name, func(t *testing.T) {
			answer := b.Create(t, challenge)
			_, err := p.Register(challenge, answer)
			require.NoError(t, err, "unchanged")
			change(&answer)
			_, err = p.Register(challenge, answer)
			require.Error(t, err)
		})
	}
	t.Run("without attestation when nothing is claimed", func(t *testing.T) {
		answer := b.Create(t, challenge)
		statement(func(o *object) { o.Format, o.Statement = "none", map[string]any{} })(&answer)
		c, err := p.Register(challenge, answer)
		require.NoError(t, err)
		require.Equal(t, b.Credential.ID, c.ID)
	})
}

func TestAssert_Rejected(t *testing.T) {
	p, b, other := party(t), fidotest.NewBrowser(origin, virtualwebauthn.KeyTypeEC2), fidotest.NewBrowser(origin, virtualwebauthn.KeyTypeEC2)
	challenge := fido.NewChallenge()
	b.Credential.Counter, other.Credential.Counter = 5, 5
	c, err := p.Register(challenge, b.Create(t, challenge))
	require.NoError(t, err)
	b.Credential.Counter, other.Credential.Counter = 6, 6
	data := func(at int, bits byte) func(*fido.Assertion) {
		return func(a *fido.Assertion) { a.AuthenticatorData[at] ^= bits }
	}
	said := func(old, with string) func(*fido.Assertion) {
		return func(a *fido.Assertion) { a.ClientData = swap(t, a.ClientData, old, with) }
	}
	for name, change := range map[string]func(*fido.Assertion){
		"for another challenge":      said(challenge, fido.NewChallenge()),
		"from another origin":        said(origin, "http://localhost"),
		"of another type":            said("webauthn.get", "webauthn.create"),
		"with other client data":     said(`"origin"`, `"other":1,"origin"`),
		"without client data":        func(a *fido.Assertion) { a.ClientData = nil },
		"with another relying party": data(0, 1),
		"without the user":           data(flagsAt, 1),
		"with the user not verified": data(flagsAt, 4),
		"with another counter":       data(counterAt+3, 8),
		"with a missing part":        func(a *fido.Assertion) { a.AuthenticatorData = a.AuthenticatorData[:36] },
		"with a part too many":       func(a *fido.Assertion) { a.AuthenticatorData = append(a.AuthenticatorData, 0) },
		"without authenticator data": func(a *fido.Assertion) { a.AuthenticatorData = nil },
		"with another signature":     func(a *fido.Assertion) { a.Signature[20] ^= 1 },
		"without a signature":        func(a *fido.Assertion) { a.Signature = nil },
		"by another authenticator":   func(a *fido.Assertion) { *a = other.Get(t, challenge) },
	} {
		t.Run(name, func(t *testing.T) {
			answer := b.Get(t, challenge)
			_, err := p.Assert(c, challenge, answer)
			require.NoError(t, err, "unchanged")
			change(&answer)
			_, err = p.Assert(c, challenge, answer)
			require.Error(t, err)
		})
	}
}

func TestPartyAt(t *testing.T) {
	for base, want := range map[string]fido.Party{
		"http://localhost:8080":          {ID: "localhost", Origin: "http://localhost:8080"},
		"http://localhost":               {ID: "localhost", Origin: "http://localhost"},
		"https://ID.Example.com:443/org": {ID: "id.example.com", Origin: "https://id.example.com"},
		"http://127.0.0.1:80":            {ID: "127.0.0.1", Origin: "http://127.0.0.1"},
		"http://[::1]:8080/":             {ID: "::1", Origin: "http://[::1]:8080"},
	} {
		got, err := fido.PartyAt(base)
		require.NoError(t, err, base)
		require.Equal(t, want, got)
	}
	for _, base := range []string{"", "localhost", "ftp://localhost", "http://", "http://[::1", "//host"} {
		_, err := fido.PartyAt(base)
		require.Error(t, err, base)
	}
}

func TestDecode_Base64Variants(t *testing.T) {
	want := []byte{0xfb, 0xff, 0xfe, 0x00}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		got, err := fido.Decode(encoding.EncodeToString(want))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "=", "A", "A===", "-_+/", "AA A", "AAA\n", "ä"} {
		_, err := fido.Decode(text)
		require.Error(t, err, "%q", text)
	}
}

func TestNewChallenge_LongAndUnique(t *testing.T) {
	first, second := fido.NewChallenge(), fido.NewChallenge()
	require.NotEqual(t, first, second)
	require.Len(t, fidotest.Raw(t, first), 32)
}

func FuzzRegister(f *testing.F) {
	b := fidotest.NewBrowser(origin, virtualwebauthn.KeyTypeEC2)
	challenge := fido.NewChallenge()
	answer := b.Create(f, challenge)
	f.Add(answer.ClientData, answer.Attestation)
	for _, format := range []string{"none", "fido-u2f", "tpm", "android-key", "android-safetynet", "apple", "compound"} {
		f.Add(answer.ClientData, edit(f, answer.Attestation, func(o *object) { o.Format = format }))
	}
	p := party(f)
	f.Fuzz(func(t *testing.T, clientData, attestation []byte) {
		// The client data matches, so that the attestation is checked.
		fitting := fmt.Appendf(nil, `{"type":"webauthn.create","challenge":%q,"origin":%q}`, challenge, origin)
		for _, data := range [][]byte{clientData, fitting} {
			if c, err := p.Register(challenge, fido.Registration{ClientData: data, Attestation: attestation}); err == nil {
				require.NotEmpty(t, c.ID)
				require.NotEmpty(t, c.PublicKey)
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add("AA==")
	f.Add("-_8")
	f.Fuzz(func(t *testing.T, text string) {
		data, err := fido.Decode(text)
		if err != nil {
			return
		}
		require.NotEmpty(t, data)
		require.Len(t, strings.TrimRight(text, "="), base64.RawStdEncoding.EncodedLen(len(data)))
	})
}
