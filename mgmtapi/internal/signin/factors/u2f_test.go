package factors_test

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido/fidotest"
)

// The types of client data of U2F clients.
const (
	u2fEnrolls = "navigator.id.finishEnrollment"
	u2fAsserts = "navigator.id.getAssertion"
)

// Proves B-factors-28, B-factors-42, B-factors-43, B-factors-68, B-factors-69.
func TestU2FFactor_Lifecycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		h, device, origin := withHolder(t, e), fidotest.NewToken(t), e.Server.URL
		begun := h.ok(t, "POST", "", `{"factorType":"u2f","provider":"FIDO"}`)
		id, nonce := begun.Value("id"), begun.Value("_embedded.activation.nonce")
		require.Regexp(t, "^fuf[0-9A-Za-z]{17}$", id)
		for path, want := range map[string]string{
			"status": "PENDING_ACTIVATION", "_embedded.activation.version": "U2F_V2", "_embedded.activation.timeoutSeconds": "20",
			"vendorName": "FIDO",
		} {
			require.Equal(t, want, begun.Value(path), path)
		}
		activate, verify := "/"+id+"/lifecycle/activate", "/"+id+"/verify"
		registered := func(nonce, from string, encoding *base64.Encoding) map[string]string {
			data := fidotest.ClientData(t, u2fEnrolls, nonce, from)
			return map[string]string{"registrationData": encoding.EncodeToString(device.Register(t, from, data)),
				"clientData": encoding.EncodeToString(data)}
		}
		signed := func(nonce, from string, presence byte, encoding *base64.Encoding) map[string]string {
			data := fidotest.ClientData(t, u2fAsserts, nonce, from)
			return map[string]string{"signatureData": encoding.EncodeToString(device.Authenticate(t, from, data, presence)),
				"clientData": encoding.EncodeToString(data)}
		}

		t.Run("only a genuine registration activates the factor", func(t *testing.T) {
			asks := func() string {
				return h.ok(t, "GET", "/"+id, "").Value("_embedded.activation.nonce")
			}
			for member := range registered(nonce, origin, base64.RawURLEncoding) {
				for how := range ways {
					shown := asks()
					h.refused(t, "POST", activate, members(t, tampered(registered(shown, origin, base64.RawURLEncoding), member, how)), "E0000068")
					require.Equal(t, "PENDING_ACTIVATION", h.status(t, id), "%s %s", member, how)
					require.NotEqual(t, shown, asks())
				}
			}
			h.refused(t, "POST", activate, members(t, registered(nonce, origin, base64.StdEncoding)), "E0000068")
			h.refused(t, "POST", activate, members(t, registered(asks(), "http://localhost:1", base64.StdEncoding)), "E0000068")
			nonce = asks()
			h.refused(t, "POST", activate, "", "E0000001")
			require.Equal(t, "registrationData: The field cannot be left blank",
				h.refused(t, "POST", activate, `{"clientData":"AAAA"}`, "E0000001").Value("errorCauses.0.errorSummary"))
			h.refused(t, "POST", verify, "", "E0000079")
		})
		active := h.ok(t, "POST", activate, members(t, registered(nonce, origin, base64.StdEncoding)))
		require.Equal(t, "ACTIVE", active.Value("status"))
		require.Equal(t, "U2F_V2", active.Value("profile.version"))
		require.Equal(t, base64.RawURLEncoding.EncodeToString(device.Handle), active.Value("profile.credentialId"))

		h.refused(t, "POST", verify, members(t, signed(nonce, origin, 1, base64.StdEncoding)), "E0000068")
		for i, encoding := range encodings {
			asked := h.ok(t, "POST", verify, "")
			require.Equal(t, "CHALLENGE", asked.Value("factorResult"))
			require.Equal(t, "20", asked.Value("_embedded.challenge.timeoutSeconds"))
			fresh := asked.Value("_embedded.challenge.nonce")
			if i == 0 {
				for member := range signed(fresh, origin, 1, encoding) {
					for how := range ways {
						h.refused(t, "POST", verify, members(t, tampered(signed(fresh, origin, 1, encoding), member, how)), "E0000068")
						h.refused(t, "POST", verify, members(t, signed(fresh, origin, 1, encoding)), "E0000068")
						fresh = h.ok(t, "POST", verify, "").Value("_embedded.challenge.nonce")
					}
				}
				h.refused(t, "POST", verify, members(t, signed(fresh, origin, 0, encoding)), "E0000068")
				fresh = h.ok(t, "POST", verify, "").Value("_embedded.challenge.nonce")
			}
			proof := members(t, signed(fresh, origin, 1, encoding))
			require.Equal(t, "SUCCESS", h.ok(t, "POST", verify, proof).Value("factorResult"))
			h.refused(t, "POST", verify, proof, "E0000068")
		}
		fresh := h.ok(t, "POST", verify, "").Value("_embedded.challenge.nonce")
		copied := *device
		device.Authenticate(t, origin, nil, 1)
		h.ok(t, "POST", verify, members(t, signed(fresh, origin, 1, base64.StdEncoding)))
		fresh = h.ok(t, "POST", verify, "").Value("_embedded.challenge.nonce")
		*device = copied
		h.refused(t, "POST", verify, members(t, signed(fresh, origin, 1, base64.StdEncoding)), "E0000068")

		h.ok(t, "DELETE", "/"+id, "")
		h.refused(t, "GET", "/"+id, "", "E0000007")
	})
}
