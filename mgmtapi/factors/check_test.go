package factors

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/otp"
	"github.com/scimwright/scimwright/mgmtapi/seal"
)

// BenchmarkCheck is what the verification of a passcode costs without the database and the network: opening the key, computing the
// passcodes of the window, and sealing what is remembered.
func BenchmarkCheck(b *testing.B) {
	a := &act{Slice: &Slice{secrets: seal.Random()}, kind: totp(model.FactorProviderService, "svc_otp"), id: "ost1", now: time.Now()}
	secret := otp.NewSecret()
	require.NoError(b, a.seal(deviceState{Secret: secret}))
	for b.Loop() {
		a.now = a.now.Add(time.Minute)
		code, err := device.Time(secret, a.now.Add(-30*time.Second)) // the one that is looked at last
		if err != nil {
			b.Fatal(err)
		}
		a.proof.PassCode = code
		if err := compareDevice(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}
