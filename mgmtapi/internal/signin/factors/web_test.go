package factors_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// Proves B-factors-09, B-factors-25.
func TestWebFactor_Lifecycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db, apitest.Sandboxed)
		h := withHolder(t, e)
		begun := h.ok(t, "POST", "", `{"factorType":"web","provider":"VENDOR_A","profile":{"credentialId":"ada"}}`)
		id := begun.Value("id")
		require.Regexp(t, "^dsf[0-9A-Za-z]{17}$", id)
		complete := "/web/" + id + "/complete"
		activate, verify := "/"+id+"/lifecycle/activate", "/"+id+"/verify"
		is(t, begun, map[string]string{
			"status": "PENDING_ACTIVATION", "vendorName": "VENDOR_A", "profile.credentialId": "ada", "_embedded.activation.factorResult": "WAITING",
			"_embedded.activation._links.complete.href": e.Server.URL + sandbox + complete,
			"_embedded.activation._links.script.type":   "text/javascript; charset=utf-8",
		})
		signature := begun.Value("_embedded.activation.signature")
		require.Regexp(t, `^TX\|.{40}:APP\|.{40}$`, signature)
		require.NotEmpty(t, begun.Value("_embedded.activation.host"))
		is(t, h.ok(t, "POST", activate, ""), map[string]string{"factorResult": "WAITING", "signature": signature})
		h.refused(t, "POST", verify, "", "E0000079")
		h.device(t, complete, ``, "E0000003")
		h.device(t, complete, `{"result":"PERHAPS"}`, "E0000001")
		h.device(t, "/web/dsf00000000000000000/complete", `{"result":"SUCCESS"}`, "E0000007")
		h.device(t, "/push/"+id+"/device", ``, "E0000007")

		t.Run("the vendor rejects; the enrollment restarts", func(t *testing.T) {
			h.device(t, complete, `{"result":"FAILED"}`, "")
			is(t, h.ok(t, "GET", "/"+id, ""), map[string]string{"status": "PENDING_ACTIVATION", "_embedded.activation.factorResult": "ERROR"})
			h.device(t, complete, `{"result":"SUCCESS"}`, "E0000107")
			is(t, h.ok(t, "POST", activate+"/poll", ""), map[string]string{"factorResult": "ERROR"})
			again := h.ok(t, "POST", activate, "")
			is(t, again, map[string]string{"factorResult": "WAITING"})
			require.NotEqual(t, signature, again.Value("signature"))
			require.Equal(t, 1, h.events(t, "user.mfa.factor.activate", "FAILURE"))
		})
		h.device(t, complete, `{"result":"SUCCESS"}`, "")
		for _, path := range []string{activate, activate + "/poll"} {
			is(t, h.ok(t, "POST", path, ""), map[string]string{"status": "ACTIVE", "profile.credentialId": "ada", "_embedded": ""})
		}
		require.Equal(t, 1, h.events(t, "user.mfa.factor.activate", "SUCCESS"))
		h.device(t, complete, `{"result":"SUCCESS"}`, "E0000107")

		for result, event := range map[string]string{"SUCCESS": "SUCCESS", "FAILED": "FAILURE"} {
			asked := h.ok(t, "POST", verify, "")
			is(t, asked, map[string]string{
				"factorResult": "CHALLENGE", "profile.credentialId": "ada", "_embedded.challenge.factorResult": "WAITING",
				"_embedded.challenge._links.complete.href": e.Server.URL + sandbox + complete, "_links.verify.href": e.Server.URL + h.factors + verify,
			})
			require.NotEqual(t, signature, asked.Value("_embedded.challenge.signature"))
			poll := "GET " + asked.Value("_links.poll.href")
			is(t, e.Do(t, poll, "", nil), map[string]string{"factorResult": "WAITING"})
			h.device(t, complete, `{"result":"`+result+`"}`, "")
			is(t, e.Do(t, poll, "", nil), map[string]string{"factorResult": result})
			h.device(t, complete, `{"result":"SUCCESS"}`, "E0000107")
			require.Equal(t, 1, h.events(t, "user.authentication.auth_via_mfa", event))
		}
		first, second := h.ok(t, "POST", verify, ""), h.ok(t, "POST", verify, "")
		require.Equal(t, "E0000007", e.Do(t, "GET "+first.Value("_links.poll.href"), "", nil).Value("errorCode"),
			"a new request voids the one before")
		e.Clock.Advance(5 * time.Minute)
		is(t, e.Do(t, "GET "+second.Value("_links.poll.href"), "", nil), map[string]string{"factorResult": "TIMEOUT"})
		h.device(t, complete, `{"result":"SUCCESS"}`, "E0000107")
		h.refused(t, "POST", "", `{"factorType":"web","provider":"VENDOR_A"}`, "E0000001")
		h.refused(t, "POST", verify, `{"passCode":"1"}`, "E0000079")
		h.ok(t, "DELETE", "/"+id, "")
		h.device(t, complete, `{"result":"SUCCESS"}`, "E0000007")
		is(t, h.ok(t, "POST", "", `{"factorType":"web","provider":"VENDOR_A"}`), map[string]string{"profile.credentialId": "ada@example.com"})
	})
}
