package factors_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/otp"
)

// BenchmarkCheck measures the verification of a passcode without database and network: decrypting the key, computing the passcodes of the
// window, and encrypting the new state.
func BenchmarkCheck(b *testing.B) {
	type state struct {
		Secret otp.Secret `json:"secret"`
		Last   int64      `json:"last,omitempty"`
	}
	secrets, binding, device, now := seal.Random(), model.FactorBinding("ost1"), otp.Device{}.WithDefaults(), time.Now()
	sealed := func(s state) string {
		text, err := json.Marshal(s)
		require.NoError(b, err)
		out, err := secrets.Seal(string(text), binding)
		require.NoError(b, err)
		return out
	}
	secret := otp.NewSecret()
	stored := sealed(state{Secret: secret})
	for b.Loop() {
		now = now.Add(time.Minute)
		// the passcode of the previous step: Find compares it after those of the current step and the next one
		code, err := device.Time(secret, now.Add(-30*time.Second))
		require.NoError(b, err)
		text, err := secrets.Open(stored, binding)
		require.NoError(b, err)
		var s state
		require.NoError(b, json.Unmarshal([]byte(text), &s))
		step, found, err := device.Find(s.Secret, code, now, 1)
		require.NoError(b, err)
		require.True(b, found && step > s.Last)
		stored = sealed(state{Secret: s.Secret, Last: step})
	}
}
