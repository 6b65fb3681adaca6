package factors_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido/fidotest"
)

const webAuthn = `{"factorType":"webauthn","provider":"FIDO"}`

func attested(r fido.Registration, encoding *base64.Encoding) map[string]string {
	return map[string]string{"attestation": encoding.EncodeToString(r.Attestation), "clientData": encoding.EncodeToString(r.ClientData)}
}

func asserted(a fido.Assertion, encoding *base64.Encoding) map[string]string {
	return map[string]string{
		"clientData": encoding.EncodeToString(a.ClientData), "authenticatorData": encoding.EncodeToString(a.AuthenticatorData),
		"signatureData": encoding.EncodeToString(a.Signature),
	}
}

// ways are functions that make a member of a proof invalid, by the name of the change.
var ways = map[string]func(text string) string{
	"cut":        func(text string) string { return text[:4] },
	"of nothing": func(string) string { return "AA" },
	"no Base64":  func(string) string { return "%%%%" },
	"longer":     func(text string) string { return text[:len(text)/4*4] + "AAAA" },
	"changed":    flipped,
}

// tampered returns a proof with one changed member.
func tampered(proof map[string]string, member, how string) map[string]string {
	changed := maps.Clone(proof)
	changed[member] = ways[how](proof[member])
	return changed
}

// flipped changes a character near the end. The characters there are signed or part of the signature: a U2F device does not sign its
// certificate.
func flipped(text string) string {
	at, with := len(text)-20, "A"
	if text[at] == 'A' {
		with = "B"
	}
	return text[:at] + with + text[at+1:]
}

// Proves B-factors-10, B-factors-42, B-factors-43, B-factors-70, B-factors-71.
func TestSecurityKey_Lifecycle(t *testing.T) {
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		e := apitest.New(t, db)
		h := withHolder(t, e)
		browser := fidotest.NewBrowser(e.Server.URL, virtualwebauthn.KeyTypeEC2)
		begun := h.ok(t, "POST", "", webAuthn)
		id, challenge := begun.Value("id"), begun.Value("_embedded.activation.challenge")
		require.Regexp(t, "^fwf[0-9A-Za-z]{17}$", id)
		for path, want := range map[string]string{
			"status": "PENDING_ACTIVATION", "vendorName": "FIDO", "_embedded.activation.attestation": "direct",
			"_embedded.activation.excludeCredentials.#":   "0",
			"_embedded.activation.pubKeyCredParams.0.alg": "-7", "_embedded.activation.pubKeyCredParams.1.alg": "-257",
			"_embedded.activation.pubKeyCredParams.0.type": "public-key",
			"_embedded.activation.user.id":                 h.user, "_embedded.activation.user.name": "ada@example.com",
			"_embedded.activation.user.displayName": "Ada L",
			"_embedded.activation.rp.name":          "scimwright",
			"_links.activate.href":                  e.Server.URL + h.factors + "/" + id + "/lifecycle/activate",
		} {
			require.Equal(t, want, begun.Value(path), path)
		}
		require.Len(t, fidotest.Raw(t, challenge), 32)
		activate, verify := "/"+id+"/lifecycle/activate", "/"+id+"/verify"

		t.Run("only a genuine registration activates the factor", func(t *testing.T) {
			// A rejected proof uses up its challenge, so each attempt reads the new challenge of the enrollment.
			asks := func() string {
				return h.ok(t, "GET", "/"+id, "").Value("_embedded.activation.challenge")
			}
			for member := range attested(browser.Create(t, challenge), base64.RawURLEncoding) {
				for how := range ways {
					shown := asks()
					proof := tampered(attested(browser.Create(t, shown), base64.RawURLEncoding), member, how)
					a := h.refused(t, "POST", activate, members(t, proof), "E0000068")
					require.Equal(t, "clientData: The data differs from the challenge, or the signature of the device is invalid",
						a.Value("errorCauses.0.errorSummary"))
					require.Equal(t, "PENDING_ACTIVATION", h.status(t, id), "%s %s", member, how)
					require.NotEqual(t, shown, asks())
				}
			}
			h.refused(t, "POST", activate, members(t, attested(browser.Create(t, challenge), base64.StdEncoding)), "E0000068")
			elsewhere := fidotest.NewBrowser("http://localhost.example.com", virtualwebauthn.KeyTypeEC2)
			h.refused(t, "POST", activate, members(t, attested(elsewhere.Create(t, asks()), base64.StdEncoding)), "E0000068")
			late := asks()
			e.Clock.Advance(5 * time.Minute)
			h.refused(t, "POST", activate, members(t, attested(browser.Create(t, late), base64.StdEncoding)), "E0000068")
			challenge = asks()
			long := strings.Repeat("A", 40000)
			require.Contains(t,
				h.refused(t, "POST", activate, members(t, map[string]string{"attestation": long, "clientData": long}),
					"E0000001").Value("errorCauses.0.errorSummary"), "clientData: The field must have at most 8192")
			h.refused(t, "POST", activate, "", "E0000001")
			h.refused(t, "POST", activate, `{"attestation":7}`, "E0000001")
			require.Equal(t, "clientData: The field cannot be left blank",
				h.refused(t, "POST", activate, `{"attestation":"AAAA"}`, "E0000001").Value("errorCauses.0.errorSummary"))
			h.refused(t, "POST", verify, "", "E0000079")
			require.Equal(t, "PENDING_ACTIVATION", h.status(t, id))
			require.Equal(t, challenge, asks(), "the pending challenge can still be used")
		})
		require.Positive(t, h.events(t, "user.mfa.factor.activate", "FAILURE"))

		active := h.ok(t, "POST", activate, members(t, attested(browser.Create(t, challenge), base64.StdEncoding)))
		require.Equal(t, "ACTIVE", active.Value("status"))
		require.Equal(t, base64.RawURLEncoding.EncodeToString(browser.Credential.ID), active.Value("profile.credentialId"))
		require.NotContains(t, string(active.Body), challenge)
		require.Equal(t, 1, h.events(t, "user.mfa.factor.activate", "SUCCESS"))
		h.refused(t, "POST", activate, members(t, attested(browser.Create(t, challenge), base64.StdEncoding)), "E0000001")

		t.Run("a genuine assertion is accepted once", func(t *testing.T) {
			h.refused(t, "POST", verify, members(t, asserted(browser.Get(t, challenge), base64.StdEncoding)), "E0000068")
			for i, encoding := range encodings {
				asked := h.ok(t, "POST", verify, "")
				require.Equal(t, "CHALLENGE", asked.Value("factorResult"))
				require.Contains(t, string(asked.Body), `"extensions":{}`)
				require.Equal(t, active.Value("profile.credentialId"), asked.Value("profile.credentialId"))
				fresh := asked.Value("_embedded.challenge.challenge")
				browser.Credential.Counter = uint32(i + 1)
				proof := asserted(browser.Get(t, fresh), encoding)
				if i == 0 {
					for member := range proof {
						for how := range ways {
							fresh = h.ok(t, "POST", verify, "").Value("_embedded.challenge.challenge")
							proof = asserted(browser.Get(t, fresh), encoding)
							h.refused(t, "POST", verify, members(t, tampered(proof, member, how)), "E0000068")
							h.refused(t, "POST", verify, members(t, proof), "E0000068")
						}
					}
					fresh = h.ok(t, "POST", verify, "").Value("_embedded.challenge.challenge")
					proof = asserted(browser.Get(t, fresh), encoding)
				}
				require.Equal(t, "SUCCESS", h.ok(t, "POST", verify, members(t, proof)).Value("factorResult"))
				h.refused(t, "POST", verify, members(t, proof), "E0000068")
			}
			require.Equal(t, len(encodings), h.events(t, "user.authentication.auth_via_mfa", "SUCCESS"))
		})
		t.Run("a lower counter and an expired challenge are rejected", func(t *testing.T) {
			fresh := h.ok(t, "POST", verify, "").Value("_embedded.challenge.challenge")
			behind := h.refused(t, "POST", verify, members(t, asserted(browser.Get(t, fresh), base64.StdEncoding)), "E0000068")
			require.Contains(t, string(behind.Body), "The counter of the device did not increase")
			fresh = h.ok(t, "POST", verify, "").Value("_embedded.challenge.challenge")
			browser.Credential.Counter = 100
			e.Clock.Advance(5 * time.Minute)
			h.refused(t, "POST", verify, members(t, asserted(browser.Get(t, fresh), base64.StdEncoding)), "E0000068")
			require.Equal(t, "clientData: The field cannot be left blank",
				h.refused(t, "POST", verify, `{"signatureData":"AAAA"}`, "E0000001").Value("errorCauses.0.errorSummary"))
		})
		t.Run("a user can have several keys, each once", func(t *testing.T) {
			second := h.ok(t, "POST", "", webAuthn)
			require.Equal(t, active.Value("profile.credentialId"), second.Value("_embedded.activation.excludeCredentials.0.id"))
			again, asks := "/"+second.Value("id")+"/lifecycle/activate", second.Value("_embedded.activation.challenge")
			h.refused(t, "POST", again, members(t, attested(browser.Create(t, asks), base64.StdEncoding)), "E0000068")
			asks = h.ok(t, "GET", "/"+second.Value("id"), "").Value("_embedded.activation.challenge")
			other := fidotest.NewBrowser(e.Server.URL, virtualwebauthn.KeyTypeRSA)
			require.Equal(t, "ACTIVE", h.ok(t, "POST", again, members(t, attested(other.Create(t, asks), base64.URLEncoding))).Value("status"))
			require.Equal(t, "2", h.ok(t, "GET", "", "").Value("#"))
			h.ok(t, "DELETE", "/"+second.Value("id"), "")
		})
		stored, err := e.Model.Factors.Get(t.Context(), e.Store.Reader(), id)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(stored.Value.State, "v1:"), "the state is encrypted at rest")
		h.ok(t, "DELETE", "/"+id, "")
		h.refused(t, "GET", "/"+id, "", "E0000007")
		require.Equal(t, 2, h.events(t, "user.mfa.factor.deactivate", "SUCCESS"))
	})
}

func TestSecurityKey_OneUser(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	h := withHolder(t, e)
	browser := fidotest.NewBrowser(e.Server.URL, virtualwebauthn.KeyTypeEC2)
	begun := h.ok(t, "POST", "", webAuthn)
	h.ok(t, "POST", "/"+begun.Value("id")+"/lifecycle/activate",
		members(t, attested(browser.Create(t, begun.Value("_embedded.activation.challenge")), base64.StdEncoding)))
	otherHolder := &holder{e: e, factors: users + "/me/factors"}
	begun = otherHolder.ok(t, "POST", "", webAuthn)
	a := otherHolder.refused(t, "POST", "/"+begun.Value("id")+"/lifecycle/activate",
		members(t, attested(browser.Create(t, begun.Value("_embedded.activation.challenge")), base64.StdEncoding)), "E0000068")
	require.Contains(t, string(a.Body), "The device is already enrolled")
	require.Equal(t, "PENDING_ACTIVATION", otherHolder.status(t, begun.Value("id")))
}

// The host of a request does not determine the relying party, except for loopback hosts.
func TestSecurityKey_ConfiguredOrigin(t *testing.T) {
	for name, c := range map[string]struct{ base, host, origin, code string }{
		"no base URL, request to another host":       {"", "evil.example.com", "", "E0000060"},
		"no base URL, request to localhost":          {"", "localhost:8080", "http://localhost:8080", ""},
		"no base URL, request to a loopback address": {"", "[::1]:8080", "http://[::1]:8080", ""},
		"base URL, request to another host":          {"https://id.example.com", "evil.example.com", "https://id.example.com", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := apitest.New(t, sqldbtest.SQLite(t), func(o *assembly.Options) { o.BaseURL = c.base })
			ask := func(path, body string) map[string]any {
				request := httptest.NewRequest(http.MethodPost, "http://"+c.host+users+"/me/factors"+path, strings.NewReader(body))
				request.Header.Set("Authorization", "SSWS "+apitest.Token)
				request.Header.Set("Content-Type", "application/json")
				answer := httptest.NewRecorder()
				e.API.ServeHTTP(answer, request)
				out := map[string]any{}
				require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &out))
				return out
			}
			begun := ask("", webAuthn)
			if c.code != "" {
				require.Equal(t, c.code, begun["errorCode"], "%v", begun)
				return
			}
			challenge := begun["_embedded"].(map[string]any)["activation"].(map[string]any)["challenge"].(string)
			browser := fidotest.NewBrowser(c.origin, virtualwebauthn.KeyTypeEC2)
			done := ask("/"+begun["id"].(string)+"/lifecycle/activate", members(t, attested(browser.Create(t, challenge), base64.StdEncoding)))
			require.Equal(t, "ACTIVE", done["status"], "%v", done)
		})
	}
}

func TestSecurityKey_EnrollmentExpires(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t))
	h := withHolder(t, e)
	browser := fidotest.NewBrowser(e.Server.URL, virtualwebauthn.KeyTypeEC2)
	begun := h.ok(t, "POST", "", webAuthn)
	e.Clock.Advance(24 * time.Hour)
	proof := members(t, attested(browser.Create(t, begun.Value("_embedded.activation.challenge")), base64.StdEncoding))
	h.refused(t, "POST", "/"+begun.Value("id")+"/lifecycle/activate", proof, "E0000105")
	next := h.ok(t, "POST", "", webAuthn)
	h.refused(t, "GET", "/"+begun.Value("id"), "", "E0000007")
	h.refused(t, "POST", "/"+next.Value("id")+"/lifecycle/activate", proof, "E0000068")
}
