package factors_test

import (
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/yubikey"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/yubikey/yubikeytest"
)

const hardwareTokens = "/api/v1/org/factors/hardware_token/tokens"

// pressed is a hardware token of a user.
type pressed struct {
	publicID string
	token    yubikey.Token
	session  uint16
	use      uint8
}

// otp returns the next password.
func (p *pressed) otp(t *testing.T) string {
	p.use++
	return yubikeytest.GenerateOTP(t, p.publicID, p.token, p.session, p.use, [5]byte{1, 2, 3, 4, 5})
}

// withHardware adds a token to the organization.
func withHardware(t *testing.T, e *apitest.Env, serial, publicID string, key byte) (*pressed, string) {
	t.Helper()
	p := &pressed{publicID: publicID, session: 1}
	p.token.Key[3], p.token.PrivateID[1] = key, key
	a := e.Do(t, "POST "+hardwareTokens, members(t, map[string]string{
		"serialNumber": serial, "publicId": publicID, "privateId": hex.EncodeToString(p.token.PrivateID[:]),
		"aesKey": hex.EncodeToString(p.token.Key[:]),
	}), nil)
	require.Equal(t, 200, a.Status, "%s", a.Body)
	return p, hardwareTokens + "/" + a.Value("id")
}

func pressing(otp string) string {
	return fmt.Sprintf(`{"factorType":"token:hardware","provider":"VENDOR_E","verify":{"passCode":%q}}`, otp)
}

// Proves B-factors-06, B-factors-14, B-factors-72.
func TestHardwareFactor_Lifecycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		h := withHolder(t, e)
		token, record := withHardware(t, e, "4711", "cccccccccccb", 7)
		other, otherRecord := withHardware(t, e, "4712", "cccccccccccd", 8)

		require.Equal(t, "verify.passCode: The field cannot be left blank",
			h.refused(t, "POST", "", `{"factorType":"token:hardware","provider":"VENDOR_E"}`, "E0000001").Value("errorCauses.0.errorSummary"))
		unknown := &pressed{publicID: "vvvvvvvvvvvv"}
		forged := &pressed{publicID: token.publicID, token: other.token, session: 9}
		for _, otp := range []string{"123456", "cccccccccccb", unknown.otp(t), forged.otp(t)} {
			h.refused(t, "POST", "", pressing(otp), "E0000068")
		}
		require.Equal(t, "0", h.ok(t, "GET", "", "").Value("#"))
		require.Equal(t, "UNASSIGNED", e.Do(t, "GET "+record, "", nil).Value("status"))

		used := token.otp(t)
		begun := h.ok(t, "POST", "", pressing(used))
		id := begun.Value("id")
		require.Regexp(t, "^ykf[0-9A-Za-z]{17}$", id)
		require.Equal(t, "ACTIVE", begun.Value("status"))
		require.Equal(t, "000000004711", begun.Value("profile.credentialId"))
		require.NotContains(t, string(begun.Body), used)
		verify := "/" + id + "/verify"
		seed := e.Do(t, "GET "+record+"?expand=user", "", nil)
		for path, want := range map[string]string{
			"status": "ACTIVE", "_embedded.user.id": h.user, "_links.deactivate.href": e.Server.URL + h.factors + "/" + id,
			"activated": "2026-03-04T05:06:07.000Z", "lastVerified": "2026-03-04T05:06:07.000Z",
		} {
			require.Equal(t, want, seed.Value(path), path)
		}
		require.Equal(t, "1", e.Do(t, "GET "+hardwareTokens+"?filter=user.id+eq+%22"+h.user+"%22", "", nil).Value("#"))
		require.Equal(t, "E0000107", e.Do(t, "DELETE "+record, "", nil).Value("errorCode"))
		h.refused(t, "POST", "", pressing(other.otp(t)), "E0000001")

		h.refused(t, "POST", verify, members(t, map[string]string{"passCode": used}), "E0000082")
		skipped := token.otp(t)
		e.Clock.Advance(time.Hour)
		require.Equal(t, "SUCCESS", h.ok(t, "POST", verify, members(t, map[string]string{"passCode": token.otp(t)})).Value("factorResult"))
		require.Equal(t, "2026-03-04T06:06:07.000Z", e.Do(t, "GET "+record, "", nil).Value("lastVerified"))
		h.refused(t, "POST", verify, members(t, map[string]string{"passCode": skipped}), "E0000082")
		h.refused(t, "POST", verify, members(t, map[string]string{"passCode": other.otp(t)}), "E0000068")
		h.refused(t, "POST", verify, members(t, map[string]string{"passCode": "x"}), "E0000068")
		h.refused(t, "POST", verify, `{"passCode":7}`, "E0000001")
		require.Equal(t, "passCode: The field cannot be left blank",
			h.refused(t, "POST", verify, "", "E0000001").Value("errorCauses.0.errorSummary"))
		token.session, token.use = 2, 0
		h.ok(t, "POST", verify, members(t, map[string]string{"passCode": token.otp(t)}))

		last := token.otp(t)
		h.ok(t, "POST", verify, members(t, map[string]string{"passCode": last}))
		h.ok(t, "DELETE", "/"+id, "")
		returned := e.Do(t, "GET "+record, "", nil)
		require.Equal(t, "UNASSIGNED", returned.Value("status"))
		require.Equal(t, "2026-03-04T06:06:07.000Z", returned.Value("lastVerified"))
		h.refused(t, "POST", "", pressing(last), "E0000082")
		require.Equal(t, "ACTIVE", h.ok(t, "POST", "", pressing(token.otp(t))).Value("status"), "it can be enrolled again, with a new password")

		otherUser := e.Run(t, apitest.Step{
			Do: "POST " + users, Body: `{"profile":{"login":"bob@example.com","email":"bob@example.com","firstName":"B","lastName":"O"}}`,
			Save: map[string]string{"id": "id"},
		})["id"]
		taken := e.Do(t, "POST "+users+"/"+otherUser+"/factors", pressing(token.otp(t)), nil)
		require.Equal(t, "E0000068", taken.Value("errorCode"), "the token of another user")
		require.Equal(t, h.user, e.Do(t, "GET "+record+"?expand=user", "", nil).Value("_embedded.user.id"))
		a := e.Do(t, "POST "+users+"/"+otherUser+"/factors", pressing(other.otp(t)), nil)
		require.Equal(t, 200, a.Status, "%s", a.Body)

		stray := members(t, map[string]string{"passCode": token.otp(t)})
		theirs := "POST " + users + "/" + otherUser + "/factors/" + a.Value("id") + "/verify"
		for range 2 {
			require.Equal(t, "E0000068", e.Do(t, theirs, stray, nil).Value("errorCode"), "of the token of another, used or not")
		}
		h.refused(t, "POST", "/"+h.ok(t, "GET", "", "").Value("0.id")+"/verify", stray, "E0000082")
		require.Equal(t, "E0000007", e.Do(t, "POST "+h.factors+"/"+a.Value("id")+"/verify", "", nil).Value("errorCode"),
			"the factor of another user")
		require.Equal(t, "{}\n", string(e.Do(t, "POST "+users+"/"+otherUser+"/lifecycle/reset_factors", "", nil).Body))
		require.Equal(t, "UNASSIGNED", e.Do(t, "GET "+otherRecord, "", nil).Value("status"))
		for range 2 {
			require.Equal(t, 204, e.Do(t, "DELETE "+users+"/"+h.user, "", nil).Status)
		}
		require.Equal(t, "UNASSIGNED", e.Do(t, "GET "+record, "", nil).Value("status"), "tokens of deleted users are released")
	})
}
