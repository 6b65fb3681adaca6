package factors

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/mgmtapi/fido"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/rest"
)

// signLife is how long something that is to be signed for a verification is good. What an enrolment signs is good as long as that.
const signLife = 5 * time.Minute

// toSign is something random that a device is to sign, once. It is empty when nothing is.
type toSign struct {
	Challenge string    `json:"challenge,omitempty"`
	Expires   time.Time `json:"expires,omitzero"` // of those for verifications
}

// take returns the challenge, which is gone with that when the operation succeeds.
func (s *toSign) take(now time.Time) (string, error) {
	challenge := s.Challenge
	if challenge == "" || !s.Expires.IsZero() && !now.Before(s.Expires) {
		return "", errExpired
	}
	*s = toSign{}
	return challenge, nil
}

// signed is a member of a proof, in Base64.
type signed struct{ name, text string }

// decoded reads the members of a proof. What is not Base64 is as wrong as any other data that nobody has signed.
func decoded(members ...signed) ([][]byte, error) {
	var causes rest.Causes
	for _, m := range members {
		if m.text == "" {
			causes.Blank(m.name)
		}
	}
	if err := causes.Err(); err != nil {
		return nil, err
	}
	out := make([][]byte, len(members))
	for i, m := range members {
		data, err := fido.Decode(m.text)
		if err != nil {
			return nil, unsigned(err)
		}
		out[i] = data
	}
	return out, nil
}

// unsigned is the refusal of something that is not signed as it has to be.
func unsigned(err error) error {
	return &wrong{code: rest.CodeFactorWrong, why: err.Error()}
}

// party is who asks devices: the API at its public base.
func party(ctx context.Context) (fido.Party, error) {
	return fido.PartyAt(rest.URL(ctx))
}

// enrolledAs answers devices that the user has already.
func (a *act) enrolledAs(ctx context.Context, credential string) error {
	if err := a.look(ctx); err != nil {
		return err
	}
	if a.has(func(f *model.Factor) bool { return f.Profile["credentialId"] == credential }) != nil {
		return &wrong{code: rest.CodeFactorWrong, why: "The device is enrolled already"}
	}
	return nil
}
