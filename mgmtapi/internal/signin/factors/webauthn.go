package factors

import (
	"context"
	"encoding/base64"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido/softkey"
)

// webauthn returns the kind of factor for security keys and platform authenticators (W3C Web Authentication). Every signature is checked
// unless Options.RelaxedFIDO is set.
func webauthn() *kind {
	return &kind{
		Type: model.FactorWebAuthn, Provider: model.FactorProviderFIDO, Prefix: "fwf", Org: "fido_webauthn",
		Several: true, Enroll: enrollWebAuthn, Pending: createOptions, Activate: register, Challenge: requestOptions, Verify: assert,
		Rejected: voidChallenge(func(s *webAuthnState) *pendingChallenge { return &s.Sign }), Attest: attestWebAuthn, Assert: assertWebAuthn,
	}
}

// webAuthnState is the encrypted state of a WebAuthn factor.
type webAuthnState struct {
	Sign pendingChallenge `json:"sign,omitzero"`
	// Exclude lists the ids of the other credentials of the user at the start of the enrollment.
	Exclude    []string        `json:"exclude,omitempty"`
	Credential fido.Credential `json:"credential,omitzero"`
	// Software is the sandbox key, nil if the user has another key.
	Software *softkey.Key `json:"software,omitempty"`
}

// CreateOptions are the options to create a credential (W3C Web Authentication, section 5.4), binary values in base64url.
type CreateOptions struct {
	Attestation string                 `json:"attestation"`
	Selection   AuthenticatorSelection `json:"authenticatorSelection"`
	Challenge   string                 `json:"challenge"`
	Exclude     []CredentialDescriptor `json:"excludeCredentials"`
	Parameters  []CredentialParameter  `json:"pubKeyCredParams"`
	Party       PartyEntity            `json:"rp"`
	User        UserEntity             `json:"user"`
}

// AuthenticatorSelection restricts the authenticators.
type AuthenticatorSelection struct {
	RequireResidentKey bool   `json:"requireResidentKey"`
	UserVerification   string `json:"userVerification"`
}

// CredentialDescriptor identifies a credential.
type CredentialDescriptor struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// CredentialParameter is an allowed type and algorithm of a credential.
type CredentialParameter struct {
	Type      string `json:"type"`
	Algorithm int    `json:"alg"`
}

// PartyEntity is the relying party.
type PartyEntity struct {
	Name string `json:"name"`
}

// UserEntity is the user of the new credential.
type UserEntity struct {
	DisplayName string `json:"displayName"`
	Name        string `json:"name"`
	ID          string `json:"id"`
}

// credentialType is the only type of credential.
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

// register completes an enrollment with the new credential.
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

// RequestOptions are the options to request an assertion of a credential.
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

// assert checks the assertion of a credential.
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
