package u2f_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido/fidotest"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido/u2f"
)

// The examples of FIDO U2F Raw Message Formats, section 8.
const (
	exampleRegistration = "0504b174bc49c7ca254b70d2e5c207cee9cf174820ebd77ea3c65508c26da51b657c1cc6b952f8621697936482da0a6d3d38" +
		"26a59095daf6cd7c03e2e60385d2f6d9" +
		"402a552dfdb7477ed65fd84133f86196010b2215b57da75d315b7b9e8fe2e3925a6019551bab61d16591659cbaf00b4950f7abfe6660e2e006f76868b772d70c25" +
		"3082013c3081e4a003020102020a47901280001155957352300a06082a8648ce3d0403023017311530130603550403130c476e756262792050696c6f74301e170d" +
		"3132303831343138323933325a170d3133303831343138323933325a3031312f302d0603550403132650696c6f74476e756262792d302e342e312d34373930313238" +
		"303030313135353935373335323059301306072a8648ce3d020106082a8648ce3d030107034200048d617e65c9508e64bcc5673ac82a6799da3c1446682c258c463f" +
		"ffdf58dfd2fa3e6c378b53d795c4a4dffb4199edd7862f23abaf0203b4b8911ba0569994e101300a06082a8648ce3d0403020347003044022060cdb6061e9c22262d" +
		"1aac1d96d8c70829b2366531dda268832cb836bcd30dfa0220631b1459f09e6330055722c8d89b7f48883b9089b88d60d1d9795902b30410df" +
		"304502201471899bcc3987e62e8202c9b39c33c19033f7340352dba80fcab017db9230e402210082677d673d891933ade6f6" +
		"17e5dbde2e247e70423fd5ad7804a6d3d3961ef871"
	channel = `"cid_pubkey":{"kty":"EC","crv":"P-256","x":"HzQwlfXX7Q4S5MtCCnZUNBw3RMzPO9tOyWjBqRl4tJ8",` +
		`"y":"XVguGFLIZx1fXg3wNqfdbn75hi4-_7-BxhMljw42Ht4"}`
	enrollChallenge  = "vqrS6WXDe1JUs5_c3i4-LkKIHRr-3XVb3azuA5TifHo"
	enrollClientData = `{"typ":"navigator.id.finishEnrollment","challenge":"` + enrollChallenge + `",` + channel +
		`,"origin":"http://example.com"}`
	exampleKey = "04d368f1b665bade3c33a20f1e429c7750d5033660c019119d29aa4ba7abc04aa7c80a46bbe11ca8cb5674d74f31f8a903f6" +
		"bad105fb6ab74aefef4db8b0025e1d"
	assertChallenge  = "opsXqUifDriAAmWclinfbS0e-USY0CgyJHe_Otd7z8o"
	assertClientData = `{"typ":"navigator.id.getAssertion","challenge":"` + assertChallenge + `",` + channel +
		`,"origin":"http://example.com"}`
	exampleSignatureDat = "0100000001304402204b5f0cd17534cedd8c34ee09570ef542a353df4436030ce43d406de870b847780220267bb998fac9b7" +
		"266eb60e7cb0b5eabdfd5ba9614f53c7b22272ec10047a923f"
)

func unhex(t testing.TB, text string) []byte {
	data, err := hex.DecodeString(text)
	require.NoError(t, err)
	return data
}

func TestSpecificationExamples(t *testing.T) {
	site := u2f.Site{AppID: "http://example.com", Origin: "http://example.com"}
	r, err := site.Register(enrollChallenge, []byte(enrollClientData), unhex(t, exampleRegistration))
	require.NoError(t, err)
	require.Equal(t, exampleRegistration[2:132], hex.EncodeToString(r.PublicKey))
	require.Equal(t, exampleRegistration[134:262], hex.EncodeToString(r.KeyHandle))
	require.Zero(t, r.Counter)

	site.AppID = "https://gstatic.com/securitykey/a/example.com"
	counter, err := site.Authenticate(u2f.Registration{PublicKey: unhex(t, exampleKey)}, assertChallenge, []byte(assertClientData),
		unhex(t, exampleSignatureDat))
	require.NoError(t, err)
	require.EqualValues(t, 1, counter)
}

const (
	enroll = "navigator.id.finishEnrollment"
	assert = "navigator.id.getAssertion"
	origin = "http://localhost:8080"
)

var site = u2f.Site{AppID: origin, Origin: origin}

func TestRegisterAndAuthenticate(t *testing.T) {
	d := fidotest.NewToken(t)
	data := fidotest.ClientData(t, enroll, "c1", origin)
	r, err := site.Register("c1", data, d.Register(t, origin, data))
	require.NoError(t, err)
	require.Equal(t, d.Handle, r.KeyHandle)
	require.Equal(t, d.Point(t), r.PublicKey)
	for want := uint32(1); want < 4; want++ {
		data := fidotest.ClientData(t, assert, "c2", origin)
		answer := d.Authenticate(t, origin, data, 1)
		counter, err := site.Authenticate(r, "c2", data, answer)
		require.NoError(t, err)
		require.Equal(t, want, counter)
		r.Counter = counter
		_, err = site.Authenticate(r, "c2", data, answer)
		require.ErrorIs(t, err, u2f.ErrCounter)
	}
}

func TestRegister_Rejected(t *testing.T) {
	d, other := fidotest.NewToken(t), fidotest.NewToken(t)
	good := fidotest.ClientData(t, enroll, "c", origin)
	message := d.Register(t, origin, good)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 1024) //nolint:gosec // the key protects nothing
	require.NoError(t, err)
	with := func(certificate []byte) []byte {
		changed := *d
		changed.Certificate = certificate
		return changed.Register(t, origin, good)
	}
	handle := 1 + 65 + 1
	for name, c := range map[string]struct {
		clientData, message []byte
		want                error
	}{
		"for another challenge":                  {fidotest.ClientData(t, enroll, "d", origin), nil, u2f.ErrClientData},
		"for no challenge":                       {fidotest.ClientData(t, enroll, "", origin), nil, u2f.ErrClientData},
		"from another origin":                    {fidotest.ClientData(t, enroll, "c", "http://localhost:8081"), nil, u2f.ErrClientData},
		"for another action":                     {fidotest.ClientData(t, assert, "c", origin), nil, u2f.ErrClientData},
		"with client data that is not an object": {[]byte(`"c"`), nil, u2f.ErrMessage},
		"with client data that is not JSON":      {[]byte(`{`), nil, u2f.ErrMessage},
		"for another application":                {good, d.Register(t, "http://localhost", good), u2f.ErrSignature},
		"over other client data":                 {good, d.Register(t, origin, append([]byte(" "), good...)), u2f.ErrSignature},
		"with a certificate of another maker":    {good, with(other.Certificate), u2f.ErrSignature},
		"with an RSA certificate":                {good, with(fidotest.Certificate(t, &rsaKey.PublicKey, rsaKey)), u2f.ErrMessage},
		"with another key":                       {good, bytes.Join([][]byte{message[:1], other.Point(t), message[66:]}, nil), u2f.ErrSignature},
		"with another handle": {
			good, bytes.Join([][]byte{message[:handle], bytes.Repeat([]byte{8}, 64), message[handle+64:]}, nil), u2f.ErrSignature,
		},
		"with another mark":                     {good, append([]byte{6}, message[1:]...), u2f.ErrMessage},
		"with a point that is not on the curve": {good, bytes.Join([][]byte{message[:10], {message[10] ^ 1}, message[11:]}, nil), u2f.ErrMessage},
		"with an empty handle":                  {good, bytes.Join([][]byte{message[:66], {0}, message[handle+64:]}, nil), u2f.ErrMessage},
		"with a handle beyond the end":          {good, message[:handle+63], u2f.ErrMessage},
		"without a certificate":                 {good, message[:handle+64], u2f.ErrMessage},
		"with half a certificate":               {good, message[:handle+100], u2f.ErrMessage},
		"without a signature":                   {good, message[:handle+64+len(d.Certificate)], u2f.ErrSignature},
		"with trailing data":                    {good, append(bytes.Clone(message), 0), u2f.ErrSignature},
		"empty":                                 {good, []byte{}, u2f.ErrMessage},
	} {
		t.Run(name, func(t *testing.T) {
			if c.message == nil {
				c.message = d.Register(t, origin, c.clientData)
			}
			_, err := site.Register("c", c.clientData, c.message)
			require.ErrorIs(t, err, c.want)
		})
	}
}

func TestAuthenticate_Rejected(t *testing.T) {
	d, other := fidotest.NewToken(t), fidotest.NewToken(t)
	r := u2f.Registration{KeyHandle: d.Handle, PublicKey: d.Point(t)}
	good := fidotest.ClientData(t, assert, "c", origin)
	flipped := func(at int) []byte {
		message := d.Authenticate(t, origin, good, 1)
		message[at] ^= 2
		return message
	}
	for name, c := range map[string]struct {
		clientData, message []byte
		want                error
	}{
		"for another challenge":          {fidotest.ClientData(t, assert, "d", origin), nil, u2f.ErrClientData},
		"from another origin":            {fidotest.ClientData(t, assert, "c", "https://localhost:8080"), nil, u2f.ErrClientData},
		"for another action":             {fidotest.ClientData(t, enroll, "c", origin), nil, u2f.ErrClientData},
		"for another application":        {good, d.Authenticate(t, "http://localhost", good, 1), u2f.ErrSignature},
		"over other client data":         {good, d.Authenticate(t, origin, append([]byte(" "), good...), 1), u2f.ErrSignature},
		"by another token":               {good, other.Authenticate(t, origin, good, 1), u2f.ErrSignature},
		"without user presence":          {good, d.Authenticate(t, origin, good, 0), u2f.ErrPresence},
		"when the presence was changed":  {good, flipped(0), u2f.ErrSignature},
		"when the counter was changed":   {good, flipped(4), u2f.ErrSignature},
		"when the signature was changed": {good, flipped(20), u2f.ErrSignature},
		"without a signature":            {good, d.Authenticate(t, origin, good, 1)[:5], u2f.ErrMessage},
		"cut short":                      {good, d.Authenticate(t, origin, good, 1)[:40], u2f.ErrSignature},
		"empty":                          {good, []byte{}, u2f.ErrMessage},
	} {
		t.Run(name, func(t *testing.T) {
			if c.message == nil {
				c.message = d.Authenticate(t, origin, c.clientData, 1)
			}
			_, err := site.Authenticate(r, "c", c.clientData, c.message)
			require.ErrorIs(t, err, c.want)
		})
	}
}

func FuzzRegister(f *testing.F) {
	f.Add([]byte(enrollClientData), unhex(f, exampleRegistration))
	d := fidotest.NewToken(f)
	data := fidotest.ClientData(f, enroll, enrollChallenge, "http://example.com")
	f.Add(data, d.Register(f, "http://example.com", data))
	f.Add([]byte{}, []byte{5})
	site := u2f.Site{AppID: "http://example.com", Origin: "http://example.com"}
	f.Fuzz(func(t *testing.T, clientData, message []byte) {
		r, err := site.Register(enrollChallenge, clientData, message)
		if err == nil {
			require.Len(t, r.PublicKey, 65)
			require.NotEmpty(t, r.KeyHandle)
		}
	})
}

func FuzzAuthenticate(f *testing.F) {
	f.Add([]byte(assertClientData), unhex(f, exampleSignatureDat))
	f.Add([]byte{}, []byte{1})
	site := u2f.Site{AppID: "https://gstatic.com/securitykey/a/example.com", Origin: "http://example.com"}
	r := u2f.Registration{PublicKey: unhex(f, exampleKey)}
	f.Fuzz(func(t *testing.T, clientData, message []byte) {
		if counter, err := site.Authenticate(r, assertChallenge, clientData, message); err == nil {
			require.Positive(t, counter)
		}
	})
}
