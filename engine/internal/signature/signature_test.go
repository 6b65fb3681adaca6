package signature_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/engine/internal/signature"
)

// The example of the reference libraries of Standard Webhooks.
func TestSign_ReferenceExample(t *testing.T) {
	keys, err := signature.Keys("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	require.NoError(t, err)
	h := http.Header{}
	signature.Sign(h, keys, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	require.Equal(t, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", h.Get(signature.HeaderSignature))
	require.Equal(t, "1614265330", h.Get(signature.HeaderTimestamp))
	require.Equal(t, "msg_p5jXN8AQM9LWM0D4loKWxJek", h.Get(signature.HeaderID))
}

func TestVerify_Rotation(t *testing.T) {
	old, fresh, other := signature.NewSecret(), signature.NewSecret(), signature.NewSecret()
	both, err := signature.Keys(fresh, old)
	require.NoError(t, err)
	h, now, body := http.Header{}, time.Now(), []byte("{}")
	signature.Sign(h, both, "m", now, body)
	for secret, ok := range map[string]bool{old: true, fresh: true, other: false} {
		keys, err := signature.Keys(secret)
		require.NoError(t, err)
		require.Equal(t, ok, signature.Verify(h, keys, body, now) == nil)
	}
}

func TestVerify_Rejected(t *testing.T) {
	keys, err := signature.Keys(signature.NewSecret())
	require.NoError(t, err)
	now, body := time.Now(), []byte(`{"a":1}`)
	sign := func() http.Header {
		h := http.Header{}
		signature.Sign(h, keys, "m", now, body)
		return h
	}
	require.NoError(t, signature.Verify(sign(), keys, body, now.Add(signature.Tolerance-time.Second)))
	for name, change := range map[string]func(h http.Header) ([]byte, time.Time){
		"body":       func(http.Header) ([]byte, time.Time) { return []byte(`{"a":2}`), now },
		"id":         func(h http.Header) ([]byte, time.Time) { h.Set(signature.HeaderID, "n"); return body, now },
		"without id": func(h http.Header) ([]byte, time.Time) { h.Del(signature.HeaderID); return body, now },
		"time":       func(h http.Header) ([]byte, time.Time) { h.Set(signature.HeaderTimestamp, "1"); return body, now },
		"not a time": func(h http.Header) ([]byte, time.Time) { h.Set(signature.HeaderTimestamp, "x"); return body, now },
		"old":        func(http.Header) ([]byte, time.Time) { return body, now.Add(signature.Tolerance + 2*time.Second) },
		"future":     func(http.Header) ([]byte, time.Time) { return body, now.Add(-signature.Tolerance - 2*time.Second) },
		"unsigned":   func(h http.Header) ([]byte, time.Time) { h.Del(signature.HeaderSignature); return body, now },
		"not base64": func(h http.Header) ([]byte, time.Time) { h.Set(signature.HeaderSignature, "v1,?"); return body, now },
		"version two": func(h http.Header) ([]byte, time.Time) {
			h.Set(signature.HeaderSignature, "v2"+strings.TrimPrefix(h.Get(signature.HeaderSignature), "v1"))
			return body, now
		},
	} {
		h := sign()
		b, at := change(h)
		require.ErrorIs(t, signature.Verify(h, keys, b, at), signature.ErrInvalid, name)
	}
}

func TestKey_Rejected(t *testing.T) {
	for _, secret := range []string{"", "whsec_", "secret", "whsec_!", "whsec_" + strings.Repeat("A", 28), "whsec_" +
		base64.StdEncoding.EncodeToString(make([]byte, 65))} {
		_, err := signature.Key(secret)
		require.Error(t, err, secret)
	}
	_, err := signature.Keys()
	require.Error(t, err)
}
