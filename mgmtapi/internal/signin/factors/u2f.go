package factors

import (
	"context"
	"encoding/base64"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido/softkey"
	u2fdevice "github.com/scimwright/scimwright/mgmtapi/internal/signin/fido/u2f"
)

// u2f returns the kind of factor for security keys of U2F, the predecessor of WebAuthn. Every signature is checked unless
// Options.RelaxedFIDO is set.
func u2f() *kind {
	return &kind{
		Type: model.FactorU2F, Provider: model.FactorProviderFIDO, Prefix: "fuf", Org: "fido_u2f",
		Several: true, Enroll: enrollU2F, Pending: u2fActivation, Activate: registerU2F, Challenge: challengeU2F, Verify: authenticateU2F,
		Rejected: voidChallenge(func(s *u2fState) *pendingChallenge { return &s.Sign }), Attest: attestU2F, Assert: assertU2F,
	}
}

// u2fState is the encrypted state of a U2F factor.
type u2fState struct {
	Sign         pendingChallenge       `json:"sign,omitzero"`
	Registration u2fdevice.Registration `json:"registration,omitzero"`
	// Software is the sandbox key, nil if the user has another key.
	Software *softkey.Key `json:"software,omitempty"`
}

// u2fTimeout is the time that a browser should wait for the device, in seconds.
const u2fTimeout = 20

// U2FActivation is the registration request for a device.
type U2FActivation struct {
	Version string `json:"version"`
	Nonce   string `json:"nonce"`
	Timeout int    `json:"timeoutSeconds"`
}

// U2FChallenge is the authentication request for a device.
type U2FChallenge struct {
	Nonce   string `json:"nonce"`
	Timeout int    `json:"timeoutSeconds"`
}

func enrollU2F(ctx context.Context, a *act) error {
	if _, err := a.party(ctx); err != nil {
		return err
	}
	return a.seal(u2fState{Sign: a.newChallenge()})
}

func u2fActivation(_ context.Context, a *act) (any, error) {
	var state u2fState
	err := a.open(&state)
	return U2FActivation{Version: u2fdevice.Version, Nonce: state.Sign.Challenge, Timeout: u2fTimeout}, err
}

// site returns the U2F site. Registrations are bound to its origin.
func (a *act) site(ctx context.Context) (u2fdevice.Site, error) {
	asks, err := a.party(ctx)
	return u2fdevice.Site{AppID: asks.Origin, Origin: asks.Origin}, err
}

// registerU2F completes an enrollment with the registration of a device.
func registerU2F(ctx context.Context, a *act) (*Activation, error) {
	data, err := decodeMembers(proofMember{"registrationData", a.proof.RegistrationData}, proofMember{"clientData", a.proof.ClientData})
	if err != nil {
		return nil, err
	}
	var state u2fState
	if err := a.open(&state); err != nil {
		return nil, err
	}
	challenge, err := state.Sign.take(a.now)
	if err != nil {
		return nil, err
	}
	if state.Registration, err = a.registeredU2F(ctx, challenge, data[1], data[0]); err != nil {
		return nil, err
	}
	state.Software = ownKey(state.Software, state.Registration.KeyHandle)
	handle := base64.RawURLEncoding.EncodeToString(state.Registration.KeyHandle)
	if err := a.enrolledAs(ctx, handle); err != nil {
		return nil, err
	}
	a.factor.Profile = map[string]string{"credentialId": handle, "version": u2fdevice.Version}
	return nil, a.seal(state)
}

// registeredU2F checks the registration of a device.
func (a *act) registeredU2F(
	ctx context.Context, challenge string, clientData, registration []byte,
) (out u2fdevice.Registration, err error) {
	if a.relaxedFIDO {
		out, err = u2fdevice.RegisterUnsigned(challenge, clientData, registration)
		return out, signatureError(err)
	}
	asks, err := a.site(ctx)
	if err != nil {
		return out, err
	}
	out, err = asks.Register(challenge, clientData, registration)
	return out, signatureError(err)
}

func challengeU2F(ctx context.Context, a *act) (*Verification, error) {
	var state u2fState
	if err := a.open(&state); err != nil {
		return nil, err
	}
	state.Sign = a.newChallenge()
	out := a.challenged(ctx)
	out.Embedded = map[string]any{"challenge": U2FChallenge{Nonce: state.Sign.Challenge, Timeout: u2fTimeout}}
	return out, a.seal(state)
}

// authenticateU2F checks the signed response of a device.
func authenticateU2F(ctx context.Context, a *act) error {
	data, err := decodeMembers(proofMember{"clientData", a.proof.ClientData}, proofMember{"signatureData", a.proof.SignatureData})
	if err != nil {
		return err
	}
	var state u2fState
	if err := a.open(&state); err != nil {
		return err
	}
	challenge, err := state.Sign.take(a.now)
	if err != nil {
		return err
	}
	if a.relaxedFIDO {
		if err := u2fdevice.AuthenticateUnsigned(challenge, data[0]); err != nil {
			return signatureError(err)
		}
		return a.seal(state)
	}
	asks, err := a.site(ctx)
	if err != nil {
		return err
	}
	if state.Registration.Counter, err = asks.Authenticate(state.Registration, challenge, data[0], data[1]); err != nil {
		return signatureError(err)
	}
	return a.seal(state)
}
