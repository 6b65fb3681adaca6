package factors

import (
	"bytes"
	"context"
	"encoding/base64"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido/softkey"
)

// KeyProof is the response of the software security key of a factor: the body of an activation or of a verification, by the type of the
// factor.
type KeyProof struct {
	ClientData        string `json:"clientData" readOnly:"true" doc:"Client data that the key signed, in Base64."`
	RegistrationData  string `json:"registrationData,omitempty" readOnly:"true" doc:"Registration of a U2F key, in Base64."`
	Attestation       string `json:"attestation,omitempty" readOnly:"true" doc:"Attestation of a WebAuthn key, in Base64."`
	AuthenticatorData string `json:"authenticatorData,omitempty" readOnly:"true" doc:"Data of a WebAuthn key, in Base64."`
	SignatureData     string `json:"signatureData,omitempty" readOnly:"true" doc:"Signature of the key, in Base64."`
}

func (s *Slice) findKey(ctx context.Context, r *deviceTarget) error {
	_, err := s.findElsewhere(ctx, s.Store.Reader(), r.Factor, model.FactorU2F, model.FactorWebAuthn)
	return err
}

// attestKey responds to the pending enrollment. It does not use up the challenge; the activation does.
func (s *Slice) attestKey(ctx context.Context, r *deviceTarget) (KeyProof, error) {
	return s.answerWithKey(ctx, r, func(a *act) (KeyProof, error) {
		if a.factor.Status != model.FactorPending {
			return KeyProof{}, rest.Failf(rest.CodeState, "The factor is %s.", a.factor.Status)
		}
		if err := a.mayActivate(ctx); err != nil {
			return KeyProof{}, err
		}
		return a.kind.Attest(ctx, a)
	})
}

// assertKey responds to the challenge of the pending verification.
func (s *Slice) assertKey(ctx context.Context, r *deviceTarget) (KeyProof, error) {
	return s.answerWithKey(ctx, r, func(a *act) (KeyProof, error) {
		if err := a.mayVerify(ctx, a.tx); err != nil {
			return KeyProof{}, err
		}
		return a.kind.Assert(ctx, a)
	})
}

// answerWithKey calls answer for the key of a factor and stores the state of the key.
func (s *Slice) answerWithKey(ctx context.Context, r *deviceTarget, answer func(*act) (KeyProof, error)) (out KeyProof, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		a, err := s.actOnDevice(ctx, tx, r.Factor, model.FactorU2F, model.FactorWebAuthn)
		if err != nil {
			return err
		}
		if out, err = answer(a); err != nil {
			return err
		}
		return a.write(ctx)
	})
	return out, err
}

// ownKey returns the software key if the credential belongs to it, nil if the user enrolled another key.
func ownKey(k *softkey.Key, credential []byte) *softkey.Key {
	if k == nil || !bytes.Equal(k.ID, credential) {
		return nil
	}
	return k
}

// keyFor returns the software key of an enrollment: the existing key, or a new one.
func keyFor(k *softkey.Key) (*softkey.Key, error) {
	if k != nil {
		return k, nil
	}
	return softkey.New()
}

// mayAssert rejects verifications that the software key cannot answer.
func mayAssert(k *softkey.Key, sign pendingChallenge) error {
	switch {
	case k == nil:
		return rest.Failf(rest.CodeState, "The factor was enrolled with another security key.")
	case sign.Challenge == "":
		return rest.Failf(rest.CodeState, "No challenge is pending: start a verification first.")
	}
	return nil
}

func encoded(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func attestWebAuthn(ctx context.Context, a *act) (out KeyProof, err error) {
	var state webAuthnState
	if err := a.open(&state); err != nil {
		return out, err
	}
	asks, err := a.party(ctx)
	if err != nil {
		return out, err
	}
	if state.Software, err = keyFor(state.Software); err != nil {
		return out, err
	}
	registration, err := state.Software.Create(asks, state.Sign.Challenge)
	if err != nil {
		return out, err
	}
	return KeyProof{ClientData: encoded(registration.ClientData), Attestation: encoded(registration.Attestation)}, a.seal(state)
}

func assertWebAuthn(ctx context.Context, a *act) (out KeyProof, err error) {
	var state webAuthnState
	if err := a.open(&state); err != nil {
		return out, err
	}
	if err := mayAssert(state.Software, state.Sign); err != nil {
		return out, err
	}
	asks, err := a.party(ctx)
	if err != nil {
		return out, err
	}
	assertion, err := state.Software.Get(asks, state.Sign.Challenge)
	if err != nil {
		return out, err
	}
	out = KeyProof{
		ClientData:        encoded(assertion.ClientData),
		AuthenticatorData: encoded(assertion.AuthenticatorData),
		SignatureData:     encoded(assertion.Signature),
	}
	return out, a.seal(state)
}

func attestU2F(ctx context.Context, a *act) (out KeyProof, err error) {
	var state u2fState
	if err := a.open(&state); err != nil {
		return out, err
	}
	asks, err := a.site(ctx)
	if err != nil {
		return out, err
	}
	if state.Software, err = keyFor(state.Software); err != nil {
		return out, err
	}
	said, registration, err := state.Software.Register(asks, state.Sign.Challenge, a.now)
	if err != nil {
		return out, err
	}
	return KeyProof{ClientData: encoded(said), RegistrationData: encoded(registration)}, a.seal(state)
}

func assertU2F(ctx context.Context, a *act) (out KeyProof, err error) {
	var state u2fState
	if err := a.open(&state); err != nil {
		return out, err
	}
	if err := mayAssert(state.Software, state.Sign); err != nil {
		return out, err
	}
	asks, err := a.site(ctx)
	if err != nil {
		return out, err
	}
	said, signature, err := state.Software.Authenticate(asks, state.Sign.Challenge)
	if err != nil {
		return out, err
	}
	return KeyProof{ClientData: encoded(said), SignatureData: encoded(signature)}, a.seal(state)
}
