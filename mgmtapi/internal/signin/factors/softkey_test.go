package factors_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/descope/virtualwebauthn"
	"github.com/stretchr/testify/require"

	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/internal/sqldb"
	"github.com/scimwright/scimwright/internal/sqldb/sqldbtest"
	"github.com/scimwright/scimwright/mgmtapi/internal/apitest"
	"github.com/scimwright/scimwright/mgmtapi/internal/assembly"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido/fidotest"
)

const u2fFactor = `{"factorType":"u2f","provider":"FIDO"}`

// keys are the types of security keys: the body of the enrollment, the path of the challenge, and the members of the responses of the key.
var keys = []struct {
	name, enroll, challenge string
	attested, asserted      []string
}{
	{"u2f", u2fFactor, "_embedded.challenge.nonce", []string{"clientData", "registrationData"}, []string{"clientData", "signatureData"}},
	{"webauthn", webAuthn, "_embedded.challenge.challenge", []string{"attestation", "clientData"},
		[]string{"authenticatorData", "clientData", "signatureData"}},
}

// answer calls the software key of a factor and returns the body to send.
func (h *holder) answer(t *testing.T, verb, id string) *apitest.Answer {
	t.Helper()
	return h.e.Do(t, "POST /sandbox/v1/fido/"+id+"/"+verb, "", nil)
}

func TestSoftwareKey(t *testing.T) {
	for _, key := range keys {
		t.Run(key.name, func(t *testing.T) {
			sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
				secrets := &watched{Secrets: seal.Random()}
				e := apitest.New(t, db, apitest.Sandboxed, func(o *assembly.Options) { o.Secrets = secrets })
				h := withHolder(t, e)
				id := h.ok(t, "POST", "", key.enroll).Value("id")
				activate, verify := "/"+id+"/lifecycle/activate", "/"+id+"/verify"
				require.Equal(t, "E0000079", h.answer(t, "assert", id).Value("errorCode"), "before the enrollment is complete")

				first, second := h.answer(t, "attest", id), h.answer(t, "attest", id)
				require.Equal(t, 200, second.Status, "%s", second.Body)
				require.ElementsMatch(t, key.attested, membersOf(second))
				require.Equal(t, "PENDING_ACTIVATION", h.status(t, id), "the caller activates")
				h.refused(t, "POST", activate, `{"clientData":"AAAA","attestation":"AAAA","registrationData":"AAAA"}`, "E0000068")
				h.refused(t, "POST", activate, string(first.Body), "E0000068")
				active := h.ok(t, "POST", activate, string(h.answer(t, "attest", id).Body))
				require.Equal(t, "ACTIVE", active.Value("status"))
				require.NotEmpty(t, active.Value("profile.credentialId"))
				require.Equal(t, "E0000107", h.answer(t, "attest", id).Value("errorCode"), "once it is complete")

				require.Equal(t, "E0000107", h.answer(t, "assert", id).Value("errorCode"), "without a challenge")
				for range 2 {
					require.NotEmpty(t, h.ok(t, "POST", verify, "").Value(key.challenge))
					asserted := h.answer(t, "assert", id)
					require.Equal(t, 200, asserted.Status, "%s", asserted.Body)
					require.ElementsMatch(t, key.asserted, membersOf(asserted))
					require.Equal(t, "SUCCESS", h.ok(t, "POST", verify, string(asserted.Body)).Value("factorResult"))
					h.refused(t, "POST", verify, string(asserted.Body), "E0000068")
				}
				require.NotEmpty(t, secrets.private(), "the key is encrypted at rest")
				stored, err := e.Model.Factors.Get(t.Context(), e.Store.Reader(), id)
				require.NoError(t, err)
				text, err := json.Marshal(stored.Value)
				require.NoError(t, err)
				require.NotContains(t, string(text), secrets.private())
				require.NotContains(t, string(active.Body), secrets.private())
			})
		})
	}
}

// watched records the last plaintext that was encrypted.
type watched struct {
	seal.Secrets
	last string
}

func (w *watched) Seal(text, binding string) (string, error) {
	w.last = text
	return w.Secrets.Seal(text, binding)
}

// private returns the private key in the last plaintext.
func (w *watched) private() string {
	var state struct {
		Software struct {
			Private string `json:"private"`
		} `json:"software"`
	}
	_ = json.Unmarshal([]byte(w.last), &state)
	return state.Software.Private
}

func membersOf(a *apitest.Answer) (names []string) {
	object, _ := a.JSON.(map[string]any)
	for name := range object {
		names = append(names, name)
	}
	return names
}

func TestSoftwareKey_Rejected(t *testing.T) {
	e := apitest.New(t, sqldbtest.SQLite(t), apitest.Sandboxed)
	h := withHolder(t, e)
	question := h.ok(t, "POST", "",
		`{"factorType":"question","provider":"SVC","profile":{"question":"disliked_food","answer":"mayonnaise"}}`).Value("id")
	for _, verb := range []string{"attest", "assert"} {
		for _, id := range []string{"nobody", question} {
			a := h.answer(t, verb, id)
			require.Equal(t, 404, a.Status, "%s %s", verb, a.Body)
			require.Equal(t, "E0000007", a.Value("errorCode"))
		}
	}
	browser := fidotest.NewBrowser(e.Server.URL, virtualwebauthn.KeyTypeEC2)
	begun := h.ok(t, "POST", "", webAuthn)
	id := begun.Value("id")
	require.Equal(t, 200, h.answer(t, "attest", id).Status)
	h.ok(t, "POST", "/"+id+"/lifecycle/activate",
		members(t, attested(browser.Create(t, begun.Value("_embedded.activation.challenge")), base64.StdEncoding)))
	h.ok(t, "POST", "/"+id+"/verify", "")
	a := h.answer(t, "assert", id)
	require.Equal(t, "E0000107", a.Value("errorCode"))
	require.Contains(t, a.Value("errorSummary"), "another security key")

	outside := withHolder(t, apitest.New(t, sqldbtest.SQLite(t)))
	other := outside.ok(t, "POST", "", webAuthn).Value("id")
	require.Equal(t, "E0000008", outside.answer(t, "attest", other).Value("errorCode"), "only a sandbox has a software key")
}

// relaxed disables all checks of the data of security keys, except that of the challenge.
func relaxed(o *assembly.Options) { o.RelaxedFIDO = true }

// made returns a proof of the right form whose signature is not genuine. also lists the members in addition to clientData.
func made(t *testing.T, clientData map[string]string, also ...string) string {
	t.Helper()
	text, err := json.Marshal(clientData)
	require.NoError(t, err)
	body := map[string]string{"clientData": base64.StdEncoding.EncodeToString(text)}
	for _, member := range also {
		body[member] = base64.StdEncoding.EncodeToString([]byte("made up"))
	}
	return members(t, body)
}

// With RelaxedFIDO, only the challenge is checked and generated data is accepted. By default the same data is rejected.
func TestRelaxedFIDO(t *testing.T) {
	for _, on := range []bool{true, false} {
		name, adjust := "strict", []func(*assembly.Options){apitest.Sandboxed}
		if on {
			name, adjust = "relaxed", append(adjust, relaxed)
		}
		t.Run(name, func(t *testing.T) {
			e := apitest.New(t, sqldbtest.SQLite(t), adjust...)
			h := withHolder(t, e)
			for _, key := range keys {
				t.Run(key.name, func(t *testing.T) {
					asks := func(id string) string {
						shown := h.ok(t, "GET", "/"+id, "")
						return shown.Value("_embedded.activation.nonce") + shown.Value("_embedded.activation.challenge")
					}
					creates, gets := map[string]string{"type": "webauthn.create"}, map[string]string{"type": "webauthn.get"}
					with := func(said map[string]string, challenge string) map[string]string {
						out := map[string]string{"challenge": challenge}
						if key.name == "webauthn" {
							out["type"] = said["type"]
						}
						return out
					}
					id := h.ok(t, "POST", "", key.enroll).Value("id")
					activate, verify := "/"+id+"/lifecycle/activate", "/"+id+"/verify"
					proof := []string{"registrationData", "attestation"}
					h.refused(t, "POST", activate, made(t, with(creates, "another"), proof...), "E0000068")
					h.refused(t, "POST", activate, made(t, with(creates, asks(id))), "E0000001")
					if key.name == "webauthn" {
						h.refused(t, "POST", activate, made(t, with(gets, asks(id)), proof...), "E0000068")
						h.refused(t, "POST", activate, made(t, map[string]string{"challenge": asks(id)}, proof...), "E0000068")
					}
					h.refused(t, "POST", activate, strings.Replace(made(t, with(creates, asks(id)), proof...), `bWFkZSB1cA==`, `%%%`, 2), "E0000068")
					if !on {
						h.refused(t, "POST", activate, made(t, with(creates, asks(id)), proof...), "E0000068")
						return
					}
					active := h.ok(t, "POST", activate, made(t, with(creates, asks(id)), proof...))
					require.Equal(t, "ACTIVE", active.Value("status"))
					credential, err := base64.RawURLEncoding.DecodeString(active.Value("profile.credentialId"))
					require.NoError(t, err)
					require.Len(t, credential, 32, "a hash")

					proof = []string{"authenticatorData", "signatureData"}
					h.refused(t, "POST", verify, made(t, with(gets, "another"), proof...), "E0000068")
					h.ok(t, "POST", verify, "")
					h.refused(t, "POST", verify, made(t, with(gets, "another"), proof...), "E0000068")
					challenge := h.ok(t, "POST", verify, "").Value(key.challenge)
					h.refused(t, "POST", verify, made(t, with(gets, challenge)), "E0000001")
					body := made(t, with(gets, challenge), proof...)
					require.Equal(t, "SUCCESS", h.ok(t, "POST", verify, body).Value("factorResult"))
					h.refused(t, "POST", verify, body, "E0000068")

					again := h.ok(t, "POST", "", key.enroll).Value("id")
					genuine := h.ok(t, "POST", "/"+again+"/lifecycle/activate", string(h.answer(t, "attest", again).Body))
					require.NotEqual(t, active.Value("profile.credentialId"), genuine.Value("profile.credentialId"), "that of the attestation")
					h.ok(t, "POST", "/"+again+"/verify", "")
					require.Equal(t, "SUCCESS", h.ok(t, "POST", "/"+again+"/verify", string(h.answer(t, "assert", again).Body)).Value("factorResult"))
				})
			}
		})
	}
}

// A credential that was enrolled with its genuine attestation can later be verified with signatures. A generated one cannot.
func TestRelaxedFIDO_Disabled(t *testing.T) {
	db := sqldbtest.SQLite(t)
	secrets := seal.Random()
	keep := func(o *assembly.Options) { o.Secrets = secrets }
	h := withHolder(t, apitest.New(t, db, apitest.Sandboxed, relaxed, keep))
	browser := fidotest.NewBrowser(h.e.Server.URL, virtualwebauthn.KeyTypeEC2)
	begun := h.ok(t, "POST", "", webAuthn)
	id := begun.Value("id")
	active := h.ok(t, "POST", "/"+id+"/lifecycle/activate",
		members(t, attested(browser.Create(t, begun.Value("_embedded.activation.challenge")), base64.StdEncoding)))
	require.Equal(t, base64.RawURLEncoding.EncodeToString(browser.Credential.ID), active.Value("profile.credentialId"))
	begun = h.ok(t, "POST", "", webAuthn)
	up := begun.Value("id")
	h.ok(t, "POST", "/"+up+"/lifecycle/activate",
		made(t, map[string]string{"type": "webauthn.create", "challenge": begun.Value("_embedded.activation.challenge")}, "attestation"))

	h.e = apitest.New(t, db, apitest.Sandboxed, keep)
	browser.Page = fidotest.NewBrowser(h.e.Server.URL, virtualwebauthn.KeyTypeEC2).Page
	challenge := h.ok(t, "POST", "/"+id+"/verify", "").Value("_embedded.challenge.challenge")
	h.ok(t, "POST", "/"+id+"/verify", members(t, asserted(browser.Get(t, challenge), base64.StdEncoding)))
	challenge = h.ok(t, "POST", "/"+up+"/verify", "").Value("_embedded.challenge.challenge")
	h.refused(t, "POST", "/"+up+"/verify",
		made(t, map[string]string{"type": "webauthn.get", "challenge": challenge}, "authenticatorData", "signatureData"), "E0000068")
}
