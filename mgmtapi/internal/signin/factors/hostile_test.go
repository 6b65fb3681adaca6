package factors_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
)

// hostile are invalid and unusual values for a member.
var hostile = []any{
	nil, true, 0, -1, 1e300, "", " ", "000000", "123456", "+1-555-415-1337", "+", "++1", "ada@example.com", "custom", "disliked_food",
	"mayonnaise", "\x00", "\u202e٣٣٣٣٣٣",
	strings.Repeat("9", 20), strings.Repeat("a", 5000), "AAAA", "====", "e30=", "ffffffffffffffff", []any{}, []any{"x"}, map[string]any{},
	map[string]any{"passCode": "123456"},
}

// Every request results in a success or an error of the OpenAPI document, never in a server error.
func TestHostileRequests_NoServerError(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	e.Unrecorded()
	saved := e.Run(t, withPerson())
	base := strings.ReplaceAll(factors, "{{user}}", saved["user"])
	ids := []string{"nothing"}
	types := []any{"question", "sms", "call", "email", "token:software:totp", "token", "token:hotp", "token:hardware", "web", "push", "u2f",
		"webauthn", 1}
	providers := []any{"SVC", "CUSTOM", "FIDO", "VENDOR_A", "VENDOR_B", "VENDOR_C", "VENDOR_D", "VENDOR_E", nil}
	members := []string{"question", "questionText", "answer", "phoneNumber", "phoneExtension", "email", "credentialId", "sharedSecret",
		"passCode", "nextPassCode", "clientData", "registrationData", "attestation", "authenticatorData", "signatureData"}
	rapid.Check(t, func(rt *rapid.T) {
		object := func(label string) map[string]any {
			out := map[string]any{}
			for _, name := range rapid.SliceOfN(rapid.SampledFrom(members), 0, 5).Draw(rt, label) {
				out[name] = rapid.SampledFrom(hostile).Draw(rt, label+" "+name)
			}
			return out
		}
		do, body := "", object("proof")
		at := base + "/" + rapid.SampledFrom(ids).Draw(rt, "factor")
		switch rapid.IntRange(0, 6).Draw(rt, "operation") {
		case 0, 1:
			query := rapid.SampledFrom([]string{"", "?activate=true", "?updatePhone=true", "?tokenLifetimeSeconds=1", "?activate=x"}).Draw(rt,
				"query")
			do = "POST " + base + query
			body = map[string]any{
				"factorType": rapid.SampledFrom(types).Draw(rt, "type"), "provider": rapid.SampledFrom(providers).Draw(rt, "provider"),
				"profile": object("profile"), "verify": object("verify"), "factorProfileId": rapid.SampledFrom(hostile).Draw(rt, "custom"),
			}
		case 2:
			do = "POST " + at + "/lifecycle/activate"
		case 3:
			do = "POST " + at + "/verify"
		case 4:
			do = "POST " + at + "/resend"
		case 5:
			do, body = "PUT "+at, map[string]any{"profile": object("profile")}
		case 6:
			do = "DELETE " + at
		}
		text, err := json.Marshal(body)
		if err != nil {
			rt.Fatal(err)
		}
		a := e.Do(t, do, string(text), nil)
		if a.Status >= 500 {
			rt.Fatalf("%s %s: %d %s", do, text, a.Status, a.Body)
		}
		if id := a.Value("id"); id != "" && a.Status == 200 {
			ids = append(ids, id)
		}
	})
	require.NotContains(t, e.Log.String(), "level=ERROR", fmt.Sprint(len(ids), " factors were made"))
}
