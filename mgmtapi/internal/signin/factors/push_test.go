package factors_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

const (
	pushBody = `{"factorType":"push","provider":"SVC"}`
	sandbox  = "/sandbox/v1"
)

// device sends a request of the simulated device of a factor.
func (h *holder) device(t *testing.T, path, body, code string) {
	t.Helper()
	a := h.e.Do(t, "POST "+sandbox+path, body, nil)
	require.Equal(t, code, a.Value("errorCode"), "%s", a.Body)
	if code == "" {
		require.Equal(t, http.StatusNoContent, a.Status)
	}
}

// is compares values of a response.
func is(t *testing.T, a *apitest.Answer, want map[string]string) {
	t.Helper()
	for path, value := range want {
		require.Equal(t, value, a.Value(path), "%s; the body is %s", path, a.Body)
	}
}

// Proves B-factors-12, B-factors-27, B-factors-31, B-factors-32, B-factors-33, B-factors-34, B-factors-40, B-factors-42,
// B-factors-43, B-factors-44, B-factors-45, B-factors-65, B-factors-66, B-factors-67.
func TestPushFactor_Lifecycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db, apitest.Sandboxed)
		h := withHolder(t, e)
		begun := h.ok(t, "POST", "", pushBody)
		id := begun.Value("id")
		require.Regexp(t, "^opf[0-9A-Za-z]{17}$", id)
		at := e.Server.URL + h.factors + "/" + id
		activate, poll, verify := "/"+id+"/lifecycle/activate", "/"+id+"/lifecycle/activate/poll", "/"+id+"/verify"
		is(t, begun, map[string]string{
			"status": "PENDING_ACTIVATION", "vendorName": "SVC", "_embedded.activation.factorResult": "WAITING",
			"_embedded.activation.expiresAt": "2026-03-04T05:16:07.000Z",
			"_links.poll.href":               at + "/lifecycle/activate/poll", "_links.activate": "",
			"_embedded.activation._links.poll.href":   at + "/lifecycle/activate/poll",
			"_embedded.activation._links.send.0.name": "email", "_embedded.activation._links.send.0.href": at + "/lifecycle/activate/email",
			"_embedded.activation._links.send.1.name": "sms", "_embedded.activation._links.send.1.href": at + "/lifecycle/activate/sms",
		})
		qr := begun.Value("_embedded.activation._links.qrcode.href")
		picture := e.Do(t, "GET "+qr, "", map[string]string{"Authorization": ""})
		require.Equal(t, "image/png", picture.Header.Get("Content-Type"), "%s", picture.Body)

		for _, path := range []string{activate, poll} {
			is(t, h.ok(t, "POST", path, ""), map[string]string{"factorResult": "WAITING", "_links.qrcode.href": qr, "status": ""})
		}
		h.refused(t, "POST", verify, "", "E0000079")
		t.Run("the link can be sent", func(t *testing.T) {
			is(t, h.ok(t, "POST", activate+"/email", ""), map[string]string{"factorResult": "WAITING"})
			require.Equal(t, "1", h.refused(t, "POST", activate+"/email", "", "E0000118").Header.Get("X-Rate-Limit-Limit"))
			require.Equal(t, "profile.phoneNumber: The field cannot be left blank",
				h.refused(t, "POST", activate+"/sms", "", "E0000001").Value("errorCauses.0.errorSummary"))
			h.refused(t, "POST", activate+"/sms", `{"profile":{"phoneNumber":"none"}}`, "E0000098")
			h.refused(t, "POST", activate+"/sms", `{"profile":7}`, "E0000001")
			const phone = `{"profile":{"phoneNumber":"+1-555-415-1337"}}`
			is(t, h.ok(t, "POST", activate+"/sms", phone), map[string]string{"factorResult": "WAITING"})
			h.refused(t, "POST", activate+"/sms", phone, "E0000109")
			box := e.Do(t, "GET "+outbox+"?userId="+h.user, "", nil)
			is(t, box, map[string]string{
				"#": "2", "0.channel": "sms", "0.to": "+15554151337", "0.template": "factor.push", "1.channel": "email", "1.to": "ada@example.com",
				"0.link": box.Value("1.link"), "0.otp": "",
			})
			require.Contains(t, box.Value("0.link"), id)
			require.Equal(t, 1, h.events(t, "system.sms.send_factor_verify_message", "SUCCESS"))
			require.Equal(t, 1, h.events(t, "system.email.send_factor_verify_message", "SUCCESS"))
		})
		t.Run("the enrollment expires and restarts", func(t *testing.T) {
			e.Clock.Advance(10 * time.Minute)
			over := h.ok(t, "POST", poll, "")
			is(t, over,
				map[string]string{"factorResult": "TIMEOUT", "_links.activate.href": at + "/lifecycle/activate", "_links.poll": "",
					"_links.qrcode": ""})
			is(t, h.ok(t, "POST", activate+"/email", ""), map[string]string{"factorResult": "TIMEOUT"})
			h.device(t, "/push/"+id+"/device", `{}`, "E0000107")
			is(t, h.ok(t, "POST", activate, ""), map[string]string{"factorResult": "WAITING", "expiresAt": "2026-03-04T05:26:07.000Z"})
			require.Equal(t, http.StatusNotFound, e.Do(t, "GET "+qr, "", map[string]string{"Authorization": ""}).Status,
				"the earlier QR code is void")
		})
		passcodes := h.ok(t, "GET", "", "")
		is(t, passcodes,
			map[string]string{"#": "2", "0.factorType": "token:software:totp", "0.status": "PENDING_ACTIVATION", "1.factorType": "push"})

		t.Run("a phone completes it", func(t *testing.T) {
			h.device(t, "/push/opf00000000000000000/device", `{}`, "E0000007")
			h.device(t, "/push/"+passcodes.Value("0.id")+"/device", `{}`, "E0000007")
			h.device(t, "/push/"+id+"/device", `{"name":7}`, "E0000001")
			require.Equal(t, "PENDING_ACTIVATION", h.status(t, id))
			h.device(t, "/push/"+id+"/device", `{"name":"Ada's phone","platform":"IOS","deviceType":"SmartPhone_IPhone","version":"19"}`, "")
			for _, path := range []string{poll, activate} {
				done := h.ok(t, "POST", path, "")
				is(t, done, map[string]string{
					"status": "ACTIVE", "profile.name": "Ada's phone", "profile.platform": "IOS", "profile.deviceType": "SmartPhone_IPhone",
					"profile.version":      "19",
					"profile.credentialId": "ada@example.com", "_embedded": "", "_links.verify.href": at + "/verify", "_links.poll": "",
				})
			}
			is(t, h.ok(t, "GET", "", ""), map[string]string{"#": "2", "0.status": "ACTIVE", "1.status": "ACTIVE"})
			require.Equal(t, 2, h.events(t, "user.mfa.factor.activate", "SUCCESS"))
			h.device(t, "/push/"+id+"/device", `{}`, "E0000107")
			h.refused(t, "POST", activate+"/email", "", "E0000001")
			h.refused(t, "POST", "", pushBody, "E0000001")
		})
		ask := func() string {
			asked := h.ok(t, "POST", verify, "")
			require.Equal(t, http.StatusCreated, asked.Status)
			is(t, asked,
				map[string]string{"factorResult": "WAITING", "profile.name": "Ada's phone", "_links.cancel.href": asked.Value("_links.poll.href")})
			require.NotEmpty(t, asked.Value("expiresAt"))
			link := asked.Value("_links.poll.href")
			return link[len(link)-20:]
		}
		result := func(transaction string) *apitest.Answer {
			return h.ok(t, "GET", "/"+id+"/transactions/"+transaction, "")
		}
		t.Run("a verification is approved or rejected on the phone", func(t *testing.T) {
			first, second := ask(), ask()
			require.Regexp(t, "^mst[0-9A-Za-z]{17}$", first)
			is(t, result(first), map[string]string{"factorResult": "WAITING"})
			h.device(t, "/push/transactions/"+first, `{"result":"MAYBE"}`, "E0000001")
			h.device(t, "/push/transactions/"+first, ``, "E0000003")
			h.device(t, "/push/transactions/mst00000000000000000", `{"result":"APPROVE"}`, "E0000007")
			h.device(t, "/push/transactions/"+first, `{"result":"APPROVE"}`, "")
			is(t, result(first), map[string]string{"factorResult": "SUCCESS", "_links": ""})
			is(t, result(second), map[string]string{"factorResult": "WAITING"})
			h.device(t, "/push/transactions/"+first, `{"result":"REJECT"}`, "E0000107")
			h.device(t, "/push/transactions/"+second, `{"result":"REJECT"}`, "")
			is(t, result(second), map[string]string{"factorResult": "REJECTED", "_links.verify.href": at + "/verify", "_links.factor.href": at})
			require.Equal(t, 1, h.events(t, "user.authentication.auth_via_mfa", "SUCCESS"))
			require.Equal(t, 1, h.events(t, "user.authentication.auth_via_mfa", "FAILURE"))
		})
		t.Run("a verification is canceled or expires", func(t *testing.T) {
			gone, late := ask(), ask()
			is(t, h.ok(t, "DELETE", "/"+id+"/transactions/"+gone, ""), map[string]string{"factorResult": "CANCELLED"})
			is(t, result(gone), map[string]string{"factorResult": "CANCELLED"})
			h.device(t, "/push/transactions/"+gone, `{"result":"APPROVE"}`, "E0000107")
			e.Clock.Advance(5 * time.Minute)
			is(t, result(late), map[string]string{"factorResult": "TIMEOUT", "_links.verify.href": at + "/verify", "_links.factor.href": at})
			h.device(t, "/push/transactions/"+late, `{"result":"APPROVE"}`, "E0000107")
			h.refused(t, "DELETE", "/"+id+"/transactions/"+late, "", "E0000107")
			h.refused(t, "GET", "/"+passcodes.Value("0.id")+"/transactions/"+late, "", "E0000007")
			h.refused(t, "POST", verify, `{"passCode":"123456"}`, "E0000079")
		})
		waiting := ask()
		h.ok(t, "DELETE", "/"+id, "")
		is(t, h.ok(t, "GET", "", ""), map[string]string{"#": "0"})
		h.device(t, "/push/transactions/"+waiting, `{"result":"APPROVE"}`, "E0000007")
		require.Equal(t, 2, h.events(t, "user.mfa.factor.deactivate", "SUCCESS"), "the TOTP factor was deleted with it")
	})
}

// TestPushFactor_PasscodesStayPending verifies that the passcodes of a phone stay pending if the organization has deactivated their factor
// type.
func TestPushFactor_PasscodesStayPending(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	h := withHolder(t, e)
	id := h.ok(t, "POST", "", pushBody).Value("id")
	e.Run(t, apitest.Step{Do: "POST /api/v1/org/factors/svc_otp/lifecycle/deactivate"})
	h.device(t, "/push/"+id+"/device", ``, "")
	is(t, h.ok(t, "GET", "", ""), map[string]string{"#": "2", "0.status": "PENDING_ACTIVATION", "1.id": id, "1.status": "ACTIVE"})
	require.Equal(t, 1, h.events(t, "user.mfa.factor.activate", "SUCCESS"))
}

// A TOTP factor that the user has completed separately stays when another phone starts an enrollment.
func TestPushFactor_ActivePasscodesKept(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	h := withHolder(t, e)
	h.ok(t, "POST", "", pushBody)
	paired := h.ok(t, "GET", "", "").Value("0.id")
	require.NoError(t, e.Store.Update(t.Context(), func(tx *docstore.Tx) error {
		doc, err := e.Model.Factors.Get(t.Context(), tx, paired)
		if err != nil {
			return err
		}
		doc.Value.Status = model.FactorActive
		_, err = e.Model.Factors.Update(t.Context(), tx, doc.ID, doc.Rev, doc.Value)
		return err
	}))
	next := h.ok(t, "POST", "", pushBody).Value("id")
	is(t, h.ok(t, "GET", "", ""), map[string]string{"#": "2", "0.id": paired, "0.status": "ACTIVE", "1.id": next})
	h.ok(t, "DELETE", "/"+next, "")
	is(t, h.ok(t, "GET", "", ""), map[string]string{"#": "1", "0.id": paired})
}

// TestPushFactor_OwnPasscodesSeparate verifies that a push factor neither activates nor deletes passcodes that the user enrolled before.
func TestPushFactor_OwnPasscodesSeparate(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	h := withHolder(t, e)
	own := h.ok(t, "POST", "", `{"factorType":"token:software:totp","provider":"SVC"}`).Value("id")
	id := h.ok(t, "POST", "", pushBody).Value("id")
	next := h.ok(t, "POST", "", pushBody).Value("id")
	h.refused(t, "GET", "/"+id, "", "E0000007")
	h.device(t, "/push/"+next+"/device", ``, "")
	is(t, h.ok(t, "GET", "/"+own, ""), map[string]string{"status": "PENDING_ACTIVATION"})
	is(t, h.ok(t, "GET", "/"+next, ""), map[string]string{"status": "ACTIVE", "profile.name": "Phone"})
	h.ok(t, "DELETE", "/"+next, "")
	is(t, h.ok(t, "GET", "", ""), map[string]string{"#": "1", "0.id": own})
	h.refused(t, "POST", "/"+own+"/lifecycle/activate/email", "", "E0000001")
	require.Equal(t, "{}\n", string(e.Do(t, "POST "+users+"/"+h.user+"/lifecycle/reset_factors", "", nil).Body))
	begun := h.ok(t, "POST", "", pushBody)
	is(t, h.ok(t, "GET", "", ""), map[string]string{"#": "2"})
	require.Equal(t, "{}\n", string(e.Do(t, "POST "+users+"/"+h.user+"/lifecycle/reset_factors", "", nil).Body))
	is(t, h.ok(t, "GET", "", ""), map[string]string{"#": "0"})
	h.device(t, "/push/"+begun.Value("id")+"/device", ``, "E0000007")
	e.Run(t,
		apitest.Step{Name: "without credentials", Do: "POST " + sandbox + "/push/" + id + "/device",
			Header: map[string]string{"Authorization": ""}, Status: 403, Code: "E0000005"},
		apitest.Step{Name: "without credentials", Do: "POST " + h.factors + "/" + own + "/lifecycle/activate/sms",
			Header: map[string]string{"Authorization": ""}, Status: 403, Code: "E0000005"},
	)
}
