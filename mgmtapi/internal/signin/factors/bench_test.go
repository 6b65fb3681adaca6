package factors_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/otp"
)

// BenchmarkVerify measures the verification of a passcode through the API, including the write and the log event.
func BenchmarkVerify(b *testing.B) {
	e := apitest.New(b, sqldbtest.SQLite(b))
	e.Unrecorded()
	user := e.Do(b, "POST "+users, person, nil).Value("id")
	base := strings.ReplaceAll(factors, "{{user}}", user)
	made := e.Do(b, "POST "+base, totpBody, nil)
	secret := otp.Secret(made.Value("_embedded.activation.sharedSecret"))
	prove := func() string {
		e.Clock.Advance(30 * time.Second)
		code, err := otp.Device{}.Time(secret, e.Clock.Now())
		require.NoError(b, err)
		return `{"passCode":"` + code + `"}`
	}
	at := "POST " + base + "/" + made.Value("id")
	require.Equal(b, 200, e.Do(b, at+"/lifecycle/activate", prove(), nil).Status)
	b.ResetTimer()
	for b.Loop() {
		if a := e.Do(b, at+"/verify", prove(), nil); a.Status != 200 {
			b.Fatal(string(a.Body))
		}
	}
}
