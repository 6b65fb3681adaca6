package factors_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/hookstest"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/hooks/calls"
)

// telephony registers a hook for telephony at an endpoint and returns its id.
func telephony(t *testing.T, e *apitest.Env, endpoint *hookstest.Endpoint) string {
	t.Helper()
	return e.Run(t, apitest.Step{Do: "POST /api/v1/inlineHooks", Save: map[string]string{"id": "id"}, Body: fmt.Sprintf(
		`{"name":"phones","type":"com.svc.telephony.provider","version":"1.0.0","channel":{"type":"HTTP","version":"1.0.0","config":{"uri":%q,`+
			`"authScheme":{"type":"HEADER","key":"X-Key","value":"the-key"}}}}`, endpoint.URL)})["id"]
}

// asked returns the request data of the last call of the hook.
func asked(t *testing.T, endpoint *hookstest.Endpoint) (message, user map[string]any) {
	t.Helper()
	calls := endpoint.Calls()
	require.NotEmpty(t, calls)
	var event struct {
		Type string `json:"eventType"`
		Data struct {
			Context struct{ Request map[string]any }
			User    map[string]any `json:"userProfile"`
			Message map[string]any `json:"messageProfile"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(calls[len(calls)-1].Body), &event))
	require.Equal(t, "com.svc.telephony.provider", event.Type)
	require.NotEmpty(t, event.Data.Context.Request["id"])
	return event.Data.Message, event.Data.User
}

// did returns a hook endpoint that reports one provider for each of the statuses.
func did(statuses ...string) http.HandlerFunc {
	tried := []map[string]string{}
	for _, status := range statuses {
		tried = append(tried, map[string]string{"status": status, "provider": "P", "transactionId": "1"})
	}
	text, _ := json.Marshal(map[string]any{"commands": []any{map[string]any{"type": "com.svc.telephony.action", "value": tried}}})
	return hookstest.JSON(http.StatusOK, string(text))
}

func TestTelephonyHook_DeliversMessages(t *testing.T) {
	endpoint := hookstest.New(t)
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed, func(o *assembly.Options) { o.Hooks = calls.Network{CA: endpoint.CA} })
	t.Cleanup(e.API.CloseIdleConnections)
	h := withHolder(t, e)
	sent := func() string { return e.Do(t, "GET "+outbox, "", nil).Value("#") }
	endpoint.Answer(did("SUCCESSFUL"))
	h.ok(t, "POST", "", smsBody)
	endpoint.Called(0)
	require.Equal(t, "1", sent(), "without a hook the message is in the outbox")
	telephony(t, e, endpoint)

	for _, c := range []struct {
		name      string
		answer    http.HandlerFunc
		calls     int
		delivered bool
	}{
		{"delivered", did("SUCCESSFUL"), 1, true},
		{"delivery pending", did("PENDING"), 1, true},
		{"delivered by the second provider", did("FAILED", "SUCCESSFUL"), 1, true},
		{"failed", did("FAILED"), 1, false},
		{"empty response", hookstest.JSON(http.StatusNoContent, ""), 1, false},
		{"no status of providers", did(), 1, false},
		{"an unknown status", did("SUCCESSFUL", "MAYBE"), 1, false},
		{"another command", hookstest.JSON(http.StatusOK, `{"commands":[{"type":"com.svc.action.update","value":[{"status":"SUCCESSFUL"}]}]}`), 1,
			false},
		{"denied", hookstest.JSON(http.StatusOK, `{"error":{"errorSummary":"no phones today"}}`), 1, false},
		{"the endpoint is broken", hookstest.JSON(http.StatusInternalServerError, `{}`), 2, false},
		{"invalid JSON", hookstest.JSON(http.StatusOK, `SUCCESSFUL`), 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e.Clock.Advance(time.Minute)
			e.Do(t, "DELETE "+outbox, "", nil)
			endpoint.Answer(c.answer)
			id := h.ok(t, "POST", "", smsBody).Value("id")
			endpoint.Called(c.calls)
			message, user := asked(t, endpoint)
			require.Equal(t, map[string]any{"firstName": "Ada", "lastName": "L", "login": "ada@example.com", "userId": h.user}, user)
			code, _ := message["otpCode"].(string)
			require.Regexp(t, "^[0-9]{6}$", code)
			delete(message, "otpCode")
			require.Equal(t, map[string]any{
				"msgTemplate": "Your verification code is " + code + ". It is valid for 5 minutes.", "phoneNumber": "+15554151337",
				"deliveryChannel": "SMS", "locale": "en",
				"otpExpires": e.Clock.Now().Add(5 * time.Minute).UTC().Truncate(time.Second).Format("2006-01-02T15:04:05.000Z"),
			}, message)
			if c.delivered {
				require.Equal(t, "0", sent())
			} else {
				is(t, e.Do(t, "GET "+outbox, "", nil), map[string]string{"#": "1", "0.otp": code, "0.to": "+15554151337"})
			}
			is(t, h.ok(t, "POST", "/"+id+"/lifecycle/activate", members(t, map[string]string{"passCode": code})),
				map[string]string{"status": "ACTIVE"})
			h.ok(t, "DELETE", "/"+id, "")
			require.NotContains(t, string(e.Do(t, "GET /api/v1/logs?limit=1000", "", nil).Body), "verification code")
		})
	}
	require.Equal(t, 12, h.events(t, "system.sms.send_factor_verify_message", "SUCCESS"))
	require.Equal(t, 9, h.events(t, "inline_hook.executed", "SUCCESS"))
	require.Equal(t, 2, h.events(t, "inline_hook.executed", "FAILURE"))
	require.Equal(t, 5, h.events(t, "inline_hook.response.processed", "SUCCESS"))
	require.Equal(t, 4, h.events(t, "inline_hook.response.processed", "FAILURE"))
}

// TestTelephonyHook_VoiceAndLinks verifies that the API also calls the telephony hook for voice calls and for push activation links.
func TestTelephonyHook_VoiceAndLinks(t *testing.T) {
	endpoint := hookstest.New(t)
	e := apitest.New(t, sqldbtest.SQLite(t), func(o *assembly.Options) { o.Hooks = calls.Network{CA: endpoint.CA} })
	t.Cleanup(e.API.CloseIdleConnections)
	h := withHolder(t, e)
	hook := telephony(t, e, endpoint)

	endpoint.Answer(did("SUCCESSFUL"))
	id := h.ok(t, "POST", "",
		`{"factorType":"call","provider":"SVC","profile":{"phoneNumber":"+1-555-415-1337","phoneExtension":"42"}}`).Value("id")
	message, _ := asked(t, endpoint)
	require.Equal(t, "VOICE", message["deliveryChannel"])
	require.Equal(t, "42", message["phoneExtension"])
	require.Contains(t, message["msgTemplate"], "extension 42")
	h.refused(t, "POST", "/"+id+"/resend", "", "E0000047")
	endpoint.Called(1)
	e.Clock.Advance(time.Minute)
	h.ok(t, "POST", "/"+id+"/resend", "")
	message, _ = asked(t, endpoint)
	h.ok(t, "POST", "/"+id+"/lifecycle/activate", members(t, map[string]string{"passCode": message["otpCode"].(string)}))
	e.Clock.Advance(time.Minute)
	is(t, h.ok(t, "POST", "/"+id+"/verify", ""), map[string]string{"factorResult": "CHALLENGE"})
	message, _ = asked(t, endpoint)
	is(t, h.ok(t, "POST", "/"+id+"/verify", members(t, map[string]string{"passCode": message["otpCode"].(string)})),
		map[string]string{"factorResult": "SUCCESS"})
	endpoint.Called(3)

	push := h.ok(t, "POST", "", pushBody).Value("id")
	h.ok(t, "POST", "/"+push+"/lifecycle/activate/sms", "")
	message, _ = asked(t, endpoint)
	require.NotContains(t, message, "otpCode")
	require.Contains(t, message["msgTemplate"], "scimwright-push://activate?")
	endpoint.Called(4)

	endpoint.Answer(did("FAILED"))
	e.Clock.Advance(time.Minute)
	h.refused(t, "POST", "/"+id+"/verify", "", "E0000060") // this API has no outbox, so it cannot deliver the message without the hook
	endpoint.Called(1)
	h.refused(t, "POST", "", emailBody, "E0000060")
	endpoint.Called(1)
	e.Run(t, apitest.Step{Do: "POST /api/v1/inlineHooks/" + hook + "/lifecycle/deactivate"})
	e.Clock.Advance(time.Minute)
	h.refused(t, "POST", "/"+id+"/verify", "", "E0000060")
	endpoint.Called(1)
}
