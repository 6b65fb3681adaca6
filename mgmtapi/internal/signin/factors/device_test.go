package factors_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/otp"
)

const (
	activate = "POST " + factor + "/lifecycle/activate"
	verify   = "POST " + factor + "/verify"
)

// app simulates an authenticator app: it stores the secret of the enrollment and computes the passcodes.
type app struct {
	env    *apitest.Env
	secret otp.Secret
}

// code returns the passcode of the time step that is the given number of steps after the current one; a negative number means before.
func (a *app) code(t *testing.T, steps int) string {
	t.Helper()
	code, err := otp.Device{}.Time(a.secret, a.env.Clock.Now().Add(time.Duration(steps)*30*time.Second))
	require.NoError(t, err)
	return code
}

// prove returns the body of a request with the passcode that code returns for steps.
func (a *app) prove(t *testing.T, steps int) string {
	return fmt.Sprintf(`{"passCode":%q}`, a.code(t, steps))
}

// unlike returns a passcode that differs from all passcodes of the app around now.
func (a *app) unlike(t *testing.T) string {
	t.Helper()
	var near []string
	for i := -15; i <= 15; i++ {
		near = append(near, a.code(t, i))
	}
	for n := range 1000000 {
		if code := fmt.Sprintf("%06d", n); !strings.Contains(strings.Join(near, " "), code) {
			return code
		}
	}
	return ""
}

// Proves B-factors-11, B-factors-12, B-factors-25, B-factors-29, B-factors-30, B-factors-34, B-factors-42, B-factors-43,
// B-factors-62, B-factors-63, B-factors-64.
func TestTOTPFactor_Lifecycle(t *testing.T) {
	for _, provider := range []string{"SVC", "VENDOR_B"} {
		t.Run(provider, func(t *testing.T) {
			e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
			mine := &app{env: e}
			completes := activate
			if provider == "VENDOR_B" {
				completes = activate + "/poll" // does the same
			}
			saved := e.Run(t, withPerson(), apitest.Step{
				Do: "POST " + factors, Body: fmt.Sprintf(`{"factorType":"token:software:totp","provider":%q}`, provider),
				Save: map[string]string{"id": "id", "qr": "_embedded.activation._links.qrcode.href"},
				Equal: map[string]any{
					"status": "PENDING_ACTIVATION", "profile.credentialId": "ada@example.com", "provider": provider, "vendorName": provider,
					"_embedded.activation._links.qrcode.type": "image/png",
					"_embedded.activation.timeStep":           30, "_embedded.activation.encoding": "base32", "_embedded.activation.keyLength": 6,
				},
				Has: []string{"_links.activate"}, Lacks: []string{"_links.verify", "_links.resend"},
				Then: func(t *testing.T, a *apitest.Answer) {
					mine.secret = otp.Secret(a.Value("_embedded.activation.sharedSecret"))
					require.Regexp(t, "^[A-Z2-7]{32}$", string(mine.secret))
					require.Equal(t, "ost", a.Value("id")[:3])
				},
			})
			at := func(s apitest.Step) apitest.Step { return stepFor(saved, s) }
			anonymous := map[string]string{"Authorization": ""}
			e.Run(t,
				at(
					apitest.Step{Name: "the secret is shown once", Do: "GET " + factor, Equal: map[string]any{"_embedded.activation.timeStep": 30},
						Lacks: []string{"_embedded.activation.sharedSecret", "_embedded.activation._links"}}),
				at(
					apitest.Step{Do: "GET " + factors, Equal: map[string]any{"0.id": "{{id}}", "0._embedded.activation.keyLength": 6},
						Lacks: []string{"0._embedded.activation.sharedSecret", "0._embedded.activation._links"}}),
				apitest.Step{Name: "the image requires no credentials", Do: "GET " + saved["qr"], Header: anonymous,
					Then: func(t *testing.T, a *apitest.Answer) {
						require.Equal(t, "image/png", a.Header.Get("Content-Type"))
						picture, err := png.Decode(bytes.NewReader(a.Body))
						require.NoError(t, err)
						require.Equal(t, 256, picture.Bounds().Dx())
					}},
				apitest.Step{Name: "but it requires the token", Do: "GET " + saved["qr"] + "x", Header: anonymous, Status: 404, Code: "E0000007"},
				at(apitest.Step{Do: activate, Body: `{}`, Status: 400, Code: "E0000001", Causes: []string{"passCode: The field cannot be left blank"}}),
				at(apitest.Step{Do: activate, Body: `{"passCode":123456}`, Status: 400, Code: "E0000001", Causes: []string{"passCode: "}}),
				at(apitest.Step{Do: activate, Body: `{"passCode":"` + mine.unlike(t) + `"}`, Status: 403, Code: "E0000068"}),
				at(apitest.Step{Name: "expired passcode", Do: activate, Body: mine.prove(t, -2), Status: 403, Code: "E0000068"}),
				at(apitest.Step{Name: "future passcode", Do: activate, Body: mine.prove(t, 2), Status: 403, Code: "E0000068"}),
				at(
					apitest.Step{Name: "other passcodes do not complete it", Do: "POST " + factor + "/lifecycle/activate/poll", Status: 400,
						Code:   "E0000001",
						Causes: []string{"passCode: "}}),
				at(
					apitest.Step{Name: "of the step before", Do: completes, Body: mine.prove(t, -1), Equal: map[string]any{"status": "ACTIVE"},
						Has: []string{"_links.verify"}, Lacks: []string{"_embedded"}}),
				at(
					apitest.Step{Name: "the secret is no longer shown", Do: "GET " + factor, Equal: map[string]any{"status": "ACTIVE"},
						Lacks: []string{"_embedded"}, Then: func(t *testing.T, a *apitest.Answer) {
							require.NotContains(t, string(a.Body), string(mine.secret))
						}}),
				apitest.Step{Name: "the image is no longer shown", Do: "GET " + saved["qr"], Header: anonymous, Status: 404, Code: "E0000007"},
				at(apitest.Step{Name: "the passcode of the activation is used up", Do: verify, Body: mine.prove(t, -1), Status: 403, Code: "E0000082"}),
				at(apitest.Step{Name: "now", Do: verify, Body: mine.prove(t, 0), Equal: map[string]any{"factorResult": "SUCCESS"}}),
				wait(e, 10*time.Minute),
			)
			changed := ""
			e.Run(t,
				at(apitest.Step{Name: "again", Do: verify, Body: mine.prove(t, 0), Equal: map[string]any{"factorResult": "SUCCESS"}}),
				at(apitest.Step{Name: "and again", Do: verify, Body: mine.prove(t, 0), Status: 403, Code: "E0000082"}),
				at(apitest.Step{Name: "the next step", Do: verify, Body: mine.prove(t, 1), Equal: map[string]any{"factorResult": "SUCCESS"}}),
				at(apitest.Step{Name: "not this one after that", Do: verify, Body: mine.prove(t, 0), Status: 403, Code: "E0000082"}),
				at(apitest.Step{Do: verify, Status: 400, Code: "E0000001", Causes: []string{"passCode: "}}),
				at(apitest.Step{Do: "GET " + factor, Then: func(t *testing.T, a *apitest.Answer) { changed = a.Value("lastUpdated") }}),
				at(apitest.Step{Name: "verifications are not changes", Do: "GET " + factor, Then: func(t *testing.T, a *apitest.Answer) {
					require.Equal(t, a.Value("created"), changed)
				}}),
				at(
					apitest.Step{Name: "a second factor is rejected", Do: "POST " + factors,
						Body: fmt.Sprintf(`{"factorType":"token:software:totp","provider":%q}`, provider), Status: 400, Code: "E0000001",
						Causes: []string{"factorEnrollRequest: "}}),
				at(
					apitest.Step{Do: "GET /api/v1/logs?filter=eventType+eq+%22user.authentication.auth_via_mfa%22+and+outcome.result+eq+%22SUCCESS%22",
						Equal: map[string]any{"#": 3}}),
				at(
					apitest.Step{Do: "GET /api/v1/logs?filter=eventType+eq+%22user.authentication.auth_via_mfa%22+and+outcome.result+eq+%22FAILURE%22",
						Equal: map[string]any{"#": 3, "0.outcome.reason": "The passcode was already used"}}),
				at(apitest.Step{Do: "DELETE " + factor + "?removeRecoveryEnrollment=true", Status: 204}),
				at(apitest.Step{Do: verify, Body: mine.prove(t, 2), Status: 404, Code: "E0000007"}),
			)
		})
	}
}

// An attacker with only the database has no secret that verifies a user.
func TestSecrets_EncryptedAtRest(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	const own = "31323334353637383930313233343536373839aa"
	saved := e.Run(t, withPerson(),
		apitest.Step{Do: "POST " + factors, Body: totpBody,
			Save: map[string]string{"a": "_embedded.activation.sharedSecret", "qr": "_embedded.activation._links.qrcode.href"}},
		apitest.Step{Do: "POST " + factors,
			Body: `{"factorType":"question","provider":"SVC","profile":{"question":"first_award","answer":"chessboard"}}`},
		apitest.Step{Do: "POST " + factors + "?activate=true",
			Body: `{"factorType":"token:hotp","provider":"CUSTOM","factorProfileId":"` + model.CustomOTPProfile() + `","profile":{"sharedSecret":"` +
				own + `"}}`},
		apitest.Step{Do: "POST " + factors, Body: pushBody,
			Save: map[string]string{"push": "_embedded.activation._links.qrcode.href", "id": "id"}},
		apitest.Step{Do: "POST " + factor + "/lifecycle/activate/email"},
		wait(e, time.Minute),
		apitest.Step{Do: "POST " + factors, Body: emailBody},
		lastCode(),
	)
	key, err := hex.DecodeString(own)
	require.NoError(t, err)
	token := func(link string) string { return link[strings.LastIndex(link, "/")+1:] }
	// Without delimiters, the digits of a code could be part of another number.
	secrets := []string{saved["a"], token(saved["qr"]), token(saved["push"]), own, string(otp.SecretOf(key)), "chessboard",
		`"` + saved["code"] + `"`, " " + saved["code"] + "."}
	dump := dumped(t, e)
	require.Contains(t, dump, "ada@example.com")
	for _, secret := range secrets {
		require.NotEmpty(t, strings.Trim(secret, `". `))
		require.NotContains(t, dump, secret)
		require.NotContains(t, e.Log.String(), secret)
	}
}

// dumped returns the content of the database.
func dumped(t *testing.T, e *apitest.Env) string {
	t.Helper()
	rows := func(query string) (out [][]any) {
		rows, err := e.Store.Reader().Query(t.Context(), query)
		require.NoError(t, err)
		defer rows.Close()
		columns, err := rows.Columns()
		require.NoError(t, err)
		for rows.Next() {
			values, targets := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				targets[i] = &values[i]
			}
			require.NoError(t, rows.Scan(targets...))
			out = append(out, values)
		}
		require.NoError(t, rows.Err())
		return out
	}
	var out strings.Builder
	for _, table := range rows("SELECT name FROM sqlite_master WHERE type = 'table'") {
		for _, row := range rows(fmt.Sprintf("SELECT * FROM %q", table[0])) {
			fmt.Fprintf(&out, "%s\n", row)
		}
	}
	return out.String()
}

// Proves B-factors-36, B-factors-37.
func TestAnswerReplays_ReturnsResults(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed, func(o *assembly.Options) { o.AnswerReplays = true })
	mine := &app{env: e}
	saved := e.Run(t, withPerson(), apitest.Step{
		Do: "POST " + factors, Body: `{"factorType":"token:software:totp","provider":"SVC"}`, Save: map[string]string{"id": "id"},
		Then: func(_ *testing.T, a *apitest.Answer) {
			mine.secret = otp.Secret(a.Value("_embedded.activation.sharedSecret"))
		},
	})
	at := func(s apitest.Step) apitest.Step { return stepFor(saved, s) }
	e.Run(t,
		at(apitest.Step{Name: "results are not used for activations", Do: activate, Body: mine.prove(t, 5), Status: 403, Code: "E0000068"}),
		at(apitest.Step{Do: activate, Body: mine.prove(t, 0)}),
		at(apitest.Step{Do: verify, Body: mine.prove(t, 0), Equal: map[string]any{"factorResult": "PASSCODE_REPLAYED"}}),
		at(apitest.Step{Do: verify, Body: mine.prove(t, 3), Equal: map[string]any{"factorResult": "TIME_WINDOW_EXCEEDED"}}),
		at(apitest.Step{Do: verify, Body: `{"passCode":"` + mine.unlike(t) + `"}`, Status: 403, Code: "E0000068"}),
	)
}

// Proves B-factors-08.
func TestCustomHOTPFactor_Lifecycle(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	mine := &app{env: e, secret: otp.SecretOf([]byte("12345678901234567890"))}
	const hexed = "3132333435363738393031323334353637383930"
	body := func(profile, secret string) string {
		return fmt.Sprintf(`{"factorType":"token:hotp","provider":"CUSTOM","factorProfileId":%q,"profile":{"sharedSecret":%q}}`, profile, secret)
	}
	saved := e.Run(t, withPerson(),
		apitest.Step{Do: "GET /api/v1/org/factors/custom_hotp", Save: map[string]string{"profile": "factorProfileId"},
			Equal: map[string]any{"status": "ACTIVE", "factorType": "token:hotp", "provider": "CUSTOM"}},
		apitest.Step{Do: "POST " + factors, Body: body("{{profile}}", hexed), Status: 400, Code: "E0000001", Causes: []string{"activate: "}},
		apitest.Step{Do: "POST " + factors + "?activate=true", Body: body("fpr00000000000000000", hexed), Status: 400, Code: "E0000001",
			Causes: []string{"factorProfileId: Unknown profile"}},
		apitest.Step{Do: "POST " + factors + "?activate=true", Body: body("", ""), Status: 400, Code: "E0000001",
			Causes: []string{"factorProfileId: The field", "profile.sharedSecret: The field"}},
		apitest.Step{Do: "POST " + factors + "?activate=true", Body: body("{{profile}}", "0"), Status: 400, Code: "E0000001",
			Causes: []string{"profile.sharedSecret: "}},
		apitest.Step{Do: "POST " + factors + "?activate=true", Body: body("{{profile}}", "no secret!"), Status: 400, Code: "E0000001",
			Causes: []string{"profile.sharedSecret: "}},
		apitest.Step{
			Do: "POST " + factors + "?activate=true", Body: body("{{profile}}", hexed), Save: map[string]string{"id": "id"},
			Equal: map[string]any{"status": "ACTIVE", "vendorName": "Custom OTP", "provider": "CUSTOM"},
			Lacks: []string{"profile.sharedSecret", "_embedded"},
			Then:  func(t *testing.T, a *apitest.Answer) { require.Equal(t, "chf", a.Value("id")[:3]) },
		},
	)
	require.Equal(t, model.CustomOTPProfile(), saved["profile"])
	at := func(s apitest.Step) apitest.Step { return stepFor(saved, s) }
	e.Run(t,
		at(apitest.Step{Do: verify, Body: mine.prove(t, 0), Equal: map[string]any{"factorResult": "SUCCESS"}}),
		at(apitest.Step{Do: verify, Body: mine.prove(t, 0), Status: 403, Code: "E0000082"}),
		at(apitest.Step{Do: verify, Body: mine.prove(t, 3), Status: 403, Code: "E0000068"}),
		at(apitest.Step{Do: verify, Status: 400, Code: "E0000001", Causes: []string{"passCode: "}}),
		at(apitest.Step{Do: activate, Body: mine.prove(t, 1), Status: 400, Code: "E0000001"}),
		at(apitest.Step{Do: "DELETE " + factor, Status: 204}),
		at(
			apitest.Step{Name: "in Base32", Do: "POST " + factors + "?activate=true",
				Body: body(saved["profile"], strings.ToLower(string(mine.secret))), Save: map[string]string{"again": "id"}}),
		at(apitest.Step{Do: "POST " + factors + "/{{again}}/verify", Body: mine.prove(t, 1)}),
	)
}

// Proves B-factors-13, B-factors-25.
func TestVendorTokenFactor_Lifecycle(t *testing.T) {
	for _, c := range []struct {
		provider, prefix, enroll, code string
		wrong                          map[string]string
	}{
		{"VENDOR_C", "rsa", `{"passCode":"1234567890"}`, "654321",
			map[string]string{"zeros": `{"passCode":"000000"}`, "short": `{"passCode":"12345"}`, "long": `{"passCode":"12345678901"}`,
				"letters": `{"passCode":"12345a"}`}},
		{"VENDOR_D", "ufv", `{"passCode":"123456","nextPassCode":"234567"}`, "345678",
			map[string]string{"same": `{"passCode":"123456","nextPassCode":"123456"}`, "zeros": `{"passCode":"123456","nextPassCode":"000000"}`,
				"long": `{"passCode":"1234567","nextPassCode":"234567"}`}},
	} {
		t.Run(c.provider, func(t *testing.T) {
			e := apitest.New(t, sqldbtest.SQLite(t))
			body := func(proof string) string {
				return fmt.Sprintf(`{"factorType":"token","provider":%q,"profile":{"credentialId":"ada@example.com"},"verify":%s}`, c.provider, proof)
			}
			steps := []apitest.Step{
				withPerson(),
				{Do: "POST " + factors, Body: fmt.Sprintf(`{"factorType":"token","provider":%q}`, c.provider), Status: 400, Code: "E0000001",
					Causes: []string{"profile.credentialId: ", "verify.passCode: "}},
			}
			for name, proof := range c.wrong {
				steps = append(steps, apitest.Step{Name: name, Do: "POST " + factors, Body: body(proof), Status: 403, Code: "E0000068"})
			}
			if c.provider == "VENDOR_D" {
				steps = append(steps,
					apitest.Step{Do: "POST " + factors, Body: body(`{"passCode":"123456"}`), Status: 400, Code: "E0000001",
						Causes: []string{"verify.nextPassCode: "}})
			}
			steps = append(steps,
				apitest.Step{Name: "no factor was created", Do: "GET " + factors, Equal: map[string]any{"#": 0}},
				apitest.Step{
					Do: "POST " + factors, Body: body(c.enroll), Save: map[string]string{"id": "id"},
					Equal: map[string]any{"status": "ACTIVE", "profile.credentialId": "ada@example.com"},
					Then:  func(t *testing.T, a *apitest.Answer) { require.Equal(t, c.prefix, a.Value("id")[:3]) },
				},
				apitest.Step{Do: verify, Body: `{"passCode":"` + c.code + `"}`, Equal: map[string]any{"factorResult": "SUCCESS"}},
				apitest.Step{Do: verify, Body: `{"passCode":"000000"}`, Status: 403, Code: "E0000068"},
				apitest.Step{Do: verify, Status: 400, Code: "E0000001", Causes: []string{"passCode: "}},
				apitest.Step{Do: "DELETE " + factor, Status: 204},
			)
			e.Run(t, steps...)
		})
	}
}
