package factors_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// Proves B-factors-01, B-factors-02, B-factors-03, B-factors-04, B-factors-05, B-factors-07, B-factors-46, B-factors-47, B-factors-52.
func TestFactor_Members(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	e.Unrecorded()
	h := withHolder(t, e)
	const now = "2026-03-04T05:06:07.000Z"
	given := `,"id":"x","status":"ACTIVE","created":"2001-01-01T00:00:00.000Z","lastUpdated":"2001-01-01T00:00:00.000Z",` +
		`"vendorName":"VENDOR_A"}`
	for body, status := range map[string]string{
		questionBody: "ACTIVE", smsBody: "PENDING_ACTIVATION", emailBody: "PENDING_ACTIVATION", totpBody: "PENDING_ACTIVATION",
		pushBody: "PENDING_ACTIVATION",
		`{"factorType":"call","provider":"SVC","profile":{"phoneNumber":"+1-555-415-1337"}}`: "PENDING_ACTIVATION",
		`{"factorType":"u2f","provider":"FIDO"}`:                                             "PENDING_ACTIVATION",
		webAuthn:                                                                             "PENDING_ACTIVATION",
		`{"factorType":"token:software:totp","provider":"VENDOR_B"}`:                         "PENDING_ACTIVATION",
		`{"factorType":"web","provider":"VENDOR_A"}`:                                         "PENDING_ACTIVATION",
		`{"factorType":"token","provider":"VENDOR_C","profile":{"credentialId":"a"},"verify":{"passCode":"123456"}}`: "ACTIVE",
	} {
		a := h.ok(t, "POST", "", strings.TrimSuffix(body, "}")+given)
		require.Regexp(t, "^[0-9A-Za-z]{20}$", a.Value("id"), body)
		is(t, a, map[string]string{"status": status, "created": now, "lastUpdated": now})
		require.Contains(t, body, `"factorType":"`+a.Value("factorType")+`"`)
		require.Contains(t, body, `"provider":"`+a.Value("provider")+`"`)
		require.Equal(t, a.Value("provider"), a.Value("vendorName"), body)
		is(t, h.ok(t, "GET", "/"+a.Value("id"), ""), map[string]string{
			"id": a.Value("id"), "status": status, "factorType": a.Value("factorType"), "provider": a.Value("provider"), "created": now,
		})
		require.Contains(t, string(h.ok(t, "GET", "", "").Body), `"id":"`+a.Value("id")+`"`)
		if a.Value("factorType") == "push" { // remove the push factor, which also removes the TOTP factor that was enrolled with it
			h.ok(t, "DELETE", "/"+a.Value("id"), "")
		}
	}
}

// Proves B-factors-48, B-factors-49.
func TestCatalog_Entries(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	e.Unrecorded()
	h := withHolder(t, e)
	catalog := h.ok(t, "GET", "/catalog", "")
	found := map[string]bool{}
	for i := range catalog.JSON.([]any) {
		at := func(path string) string { return catalog.Value(fmt.Sprintf("%d.%s", i, path)) }
		found[at("provider")+" "+at("factorType")] = true
		require.NotEmpty(t, at("vendorName"))
		require.Equal(t, e.Server.URL+h.factors, at("_links.enroll.href"))
		require.Equal(t, "POST", at("_links.enroll.hints.allow.0"))
	}
	for _, pair := range []string{
		"CUSTOM token:hotp", "VENDOR_A web", "FIDO webauthn", "VENDOR_B token:software:totp", "SVC call", "SVC email", "SVC push",
		"SVC question", "SVC sms",
		"SVC token:software:totp", "VENDOR_C token", "VENDOR_D token", "VENDOR_E token:hardware",
	} {
		require.True(t, found[pair], pair)
	}
}

// Proves B-factors-56, B-factors-57.
func TestEmail_PasscodeLifetime(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	e.Unrecorded()
	h := withHolder(t, e)
	for query, seconds := range map[string]int{"": 300, "?tokenLifetimeSeconds=1": 1, "?tokenLifetimeSeconds=86399": 86399} {
		for _, late := range []bool{false, true} {
			id := h.ok(t, "POST", query, emailBody).Value("id")
			code := e.Do(t, "GET "+outbox+"?limit=1", "", nil).Value("0.otp")
			wait := time.Duration(seconds) * time.Second
			if !late {
				wait -= time.Millisecond
			}
			e.Clock.Advance(wait)
			body := members(t, map[string]string{"passCode": code})
			if late {
				h.refused(t, "POST", "/"+id+"/lifecycle/activate", body, "E0000068")
			} else {
				is(t, h.ok(t, "POST", "/"+id+"/lifecycle/activate", body), map[string]string{"status": "ACTIVE"})
			}
			h.ok(t, "DELETE", "/"+id, "")
			e.Clock.Advance(10 * time.Minute) // after that time, the wrong codes no longer count toward the limit
		}
	}
}

// Proves B-factors-73, B-factors-74, B-factors-75, B-factors-76.
func TestAttempts_OfEveryKind(t *testing.T) {
	for _, body := range []string{
		smsBody, emailBody, totpBody, `{"factorType":"call","provider":"SVC","profile":{"phoneNumber":"+1-555-415-1337"}}`,
		`{"factorType":"token:software:totp","provider":"VENDOR_B"}`,
	} {
		t.Run(body, func(t *testing.T) {
			e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
			e.Unrecorded()
			h := withHolder(t, e)
			question := h.ok(t, "POST", "", questionBody).Value("id")
			id := h.ok(t, "POST", "", body).Value("id")
			e.Clock.Advance(time.Minute) // after that time, the API sends the next message
			activate, wrong := "/"+id+"/lifecycle/activate", `{"passCode":"000"}`
			for range 4 {
				h.refused(t, "POST", activate, wrong, "E0000068")
			}
			// counts toward the same limit, which applies per user
			h.refused(t, "POST", "/"+question+"/verify", `{"answer":"ketchup"}`, "E0000068")
			h.refused(t, "POST", activate, wrong, "E0000047")
			if !strings.Contains(body, "totp") {
				h.refused(t, "POST", "/"+id+"/resend", "", "E0000047")
			}
			e.Clock.Advance(5 * time.Minute)
			h.refused(t, "POST", activate, wrong, "E0000068")
			if !strings.Contains(body, "totp") {
				h.ok(t, "POST", "/"+id+"/resend", "")
			}
		})
	}
}
