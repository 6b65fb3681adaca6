package softkey_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido/softkey"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido/u2f"
)

const origin = "http://localhost:8080"

// stored returns a key after encoding and decoding.
func stored(t *testing.T, k *softkey.Key) *softkey.Key {
	t.Helper()
	text, err := json.Marshal(k)
	require.NoError(t, err)
	read := &softkey.Key{}
	require.NoError(t, json.Unmarshal(text, read))
	return read
}

func TestKey_WebAuthn(t *testing.T) {
	p, err := fido.PartyAt(origin)
	require.NoError(t, err)
	k, err := softkey.New()
	require.NoError(t, err)
	challenge := fido.NewChallenge()
	registration, err := k.Create(p, challenge)
	require.NoError(t, err)
	credential, err := p.Register(challenge, registration)
	require.NoError(t, err)
	require.Equal(t, k.ID, credential.ID)
	_, err = p.Register(fido.NewChallenge(), registration)
	require.Error(t, err, "another challenge")

	for want := range uint32(3) {
		k = stored(t, k)
		challenge := fido.NewChallenge()
		assertion, err := k.Get(p, challenge)
		require.NoError(t, err)
		credential.Counter, err = p.Assert(credential, challenge, assertion)
		require.NoError(t, err)
		require.Equal(t, want+1, credential.Counter)
		_, err = p.Assert(credential, challenge, assertion)
		require.ErrorIs(t, err, fido.ErrCounter)
	}
	other, err := softkey.New()
	require.NoError(t, err)
	other.Counter = 9
	assertion, err := other.Get(p, challenge)
	require.NoError(t, err)
	_, err = p.Assert(credential, challenge, assertion)
	require.Error(t, err, "another key")
}

func TestKey_U2F(t *testing.T) {
	site := u2f.Site{AppID: origin, Origin: origin}
	k, err := softkey.New()
	require.NoError(t, err)
	said, message, err := k.Register(site, "c", time.Now())
	require.NoError(t, err)
	registration, err := site.Register("c", said, message)
	require.NoError(t, err)
	require.Equal(t, k.ID, registration.KeyHandle)
	_, err = site.Register("d", said, message)
	require.ErrorIs(t, err, u2f.ErrClientData)

	for want := range uint32(3) {
		k = stored(t, k)
		said, message, err := k.Authenticate(site, "e")
		require.NoError(t, err)
		registration.Counter, err = site.Authenticate(registration, "e", said, message)
		require.NoError(t, err)
		require.Equal(t, want+1, registration.Counter)
		_, err = site.Authenticate(registration, "e", said, message)
		require.ErrorIs(t, err, u2f.ErrCounter)
	}
}

func TestKey_BrokenPrivateKey(t *testing.T) {
	k := &softkey.Key{ID: []byte("id"), Private: []byte("short")}
	_, err := k.Create(fido.Party{}, "c")
	require.ErrorContains(t, err, "stored private key")
	_, err = k.Get(fido.Party{}, "c")
	require.ErrorContains(t, err, "stored private key")
	_, _, err = k.Register(u2f.Site{}, "c", time.Now())
	require.ErrorContains(t, err, "stored private key")
	_, _, err = k.Authenticate(u2f.Site{}, "c")
	require.ErrorContains(t, err, "stored private key")
}
