package factors

import (
	"context"
	"encoding/base64"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido/softkey"
)

// webauthn is a security key, or what a phone or computer has instead (W3C Web Authentication). Every signature is checked, unless
// Options.RelaxedFIDO says otherwise.
func webauthn() *kind {
	return &kind{
		Type: model.FactorWebAuthn, Provider: model.FactorProviderFIDO, Prefix: "fwf", Org: "fido_webauthn",
		Several: true, Enroll: enrollWebAuthn, Pending: createOptions, Activate: register, Challenge: requestOptions, Verify: assert,
		Rejected: voidChallenge(func(s *webAuthnState) *pendingChallenge { return &s.Sign }), Attest: attestWebAuthn, Assert: assertWebAuthn,
	}
}

// webAuthnState is the sealed state of a WebAuthn factor.
type webAuthnState struct {
	Sign pendingChallenge `json:"sign,omitzero"`
	// Exclude are the ids of the other credentials of the user when the enrollment began.
	Exclude    []string        `json:"exclude,omitempty"`
	Credential fido.Credential `json:"credential,omitzero"`
	// Software is the key of the sandbox, nil if the user has another one.
	Software *softkey.Key `json:"software,omitempty"`
}

// CreateOptions are what a browser makes a credential with (W3C Web Authentication, section 5.4), binary values in base64url.
type CreateOptions struct {
	Attestation string                 `json:"attestation"`
	Selection   AuthenticatorSelection `json:"authenticatorSelection"`
	Challenge   string                 `json:"challenge"`
	Exclude     []CredentialDescriptor `json:"excludeCredentials"`
	Parameters  []CredentialParameter  `json:"pubKeyCredParams"`
	Party       PartyEntity            `json:"rp"`
	User        UserEntity             `json:"user"`
}

// AuthenticatorSelection says which authenticators may be used.
type AuthenticatorSelection struct {
	RequireResidentKey bool   `json:"requireResidentKey"`
	UserVerification   string `json:"userVerification"`
}

// CredentialDescriptor names a credential.
type CredentialDescriptor struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// CredentialParameter is a kind of key that a credential may have.
type CredentialParameter struct {
	Type      string `json:"type"`
	Algorithm int    `json:"alg"`
}

// PartyEntity is who asks.
type PartyEntity struct {
	Name string `json:"name"`
}

// UserEntity is whose the credential will be.
type UserEntity struct {
	DisplayName string `json:"displayName"`
	Name        string `json:"name"`
	ID          string `json:"id"`
}

// credentialType is the one type of credentials that there is.
const credentialType = "public-key"

func enrollWebAuthn(ctx context.Context, a *act) error {
	if _, err := a.party(ctx); err != nil {
		return err
	}
	state := webAuthnState{Sign: a.newChallenge()}
	for _, doc := range a.others {
		if f := &doc.Value; f.Type == a.kind.Type && f.Profile["credentialId"] != "" {
			state.Exclude = append(state.Exclude, f.Profile["credentialId"])
		}
	}
	return a.seal(state)
}

func createOptions(_ context.Context, a *act) (any, error) {
	var state webAuthnState
	if err := a.open(&state); err != nil {
		return nil, err
	}
	user := a.user.Value
	options := CreateOptions{
		Attestation: "direct", Challenge: state.Sign.Challenge, Selection: AuthenticatorSelection{UserVerification: "preferred"},
		Exclude: []CredentialDescriptor{}, Party: PartyEntity{Name: issuer},
		User: UserEntity{DisplayName: audit.UserName(&user), Name: user.Login(), ID: a.user.ID},
	}
	for _, id := range state.Exclude {
		options.Exclude = append(options.Exclude, CredentialDescriptor{Type: credentialType, ID: id})
	}
	for _, algorithm := range fido.Algorithms() {
		options.Parameters = append(options.Parameters, CredentialParameter{Type: credentialType, Algorithm: algorithm})
	}
	return options, nil
}

// register completes an enrollment by the credential that was made.
func register(ctx context.Context, a *act) (*Activation, error) {
	data, err := decodeMembers(proofMember{"attestation", a.proof.Attestation}, proofMember{"clientData", a.proof.ClientData})
	if err != nil {
		return nil, err
	}
	var state webAuthnState
	if err := a.open(&state); err != nil {
		return nil, err
	}
	challenge, err := state.Sign.take(a.now)
	if err != nil {
		return nil, err
	}
	credential, err := a.registered(ctx, challenge, fido.Registration{Attestation: data[0], ClientData: data[1]})
	if err != nil {
		return nil, err
	}
	id := base64.RawURLEncoding.EncodeToString(credential.ID)
	if err := a.enrolledAs(ctx, id); err != nil {
		return nil, err
	}
	a.factor.Profile = map[string]string{"credentialId": id}
	return nil, a.seal(webAuthnState{Credential: credential, Software: ownKey(state.Software, credential.ID)})
}

// registered checks a registration.
func (a *act) registered(ctx context.Context, challenge string, r fido.Registration) (out fido.Credential, err error) {
	if a.relaxedFIDO {
		out, err = fido.RegisterUnsigned(challenge, r)
		return out, signatureError(err)
	}
	asks, err := a.party(ctx)
	if err != nil {
		return out, err
	}
	out, err = asks.Register(challenge, r)
	return out, signatureError(err)
}

// RequestOptions are what a browser asks a credential with.
type RequestOptions struct {
	Challenge  string         `json:"challenge"`
	Extensions map[string]any `json:"extensions"`
}

func requestOptions(ctx context.Context, a *act) (*Verification, error) {
	var state webAuthnState
	if err := a.open(&state); err != nil {
		return nil, err
	}
	state.Sign = a.newChallenge()
	out := a.challenged(ctx)
	out.Embedded = map[string]any{"challenge": RequestOptions{Challenge: state.Sign.Challenge, Extensions: map[string]any{}}}
	return out, a.seal(state)
}

// assert checks what a credential has signed.
func assert(ctx context.Context, a *act) error {
	data, err := decodeMembers(
		proofMember{"clientData", a.proof.ClientData}, proofMember{"authenticatorData", a.proof.AuthenticatorData},
		proofMember{"signatureData", a.proof.SignatureData},
	)
	if err != nil {
		return err
	}
	var state webAuthnState
	if err := a.open(&state); err != nil {
		return err
	}
	challenge, err := state.Sign.take(a.now)
	if err != nil {
		return err
	}
	assertion := fido.Assertion{ClientData: data[0], AuthenticatorData: data[1], Signature: data[2]}
	if a.relaxedFIDO {
		if err := fido.AssertUnsigned(challenge, assertion); err != nil {
			return signatureError(err)
		}
		return a.seal(state)
	}
	asks, err := a.party(ctx)
	if err != nil {
		return err
	}
	counter, err := asks.Assert(state.Credential, challenge, assertion)
	if err != nil {
		return signatureError(err)
	}
	state.Credential.Counter = counter
	return a.seal(state)
}
