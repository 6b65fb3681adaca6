package factors

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/fido"
	u2fdevice "github.com/scimwright/scimwright/mgmtapi/internal/signin/fido/u2f"
)

// signLife is how long something that is to be signed is good.
const challengeLife = 5 * time.Minute

// toSign is something random that a device is to sign, once. It is empty when nothing is.
type pendingChallenge struct {
	Challenge string    `json:"challenge,omitempty"`
	Expires   time.Time `json:"expires,omitzero"`
}

// newToSign is something new.
func (a *act) newChallenge() pendingChallenge {
	return pendingChallenge{Challenge: fido.NewChallenge(), Expires: a.now.Add(challengeLife)}
}

// toSignAfter is what is to be signed after a wrong proof, which has used up what there was: something new for an enrollment, which
// shows it, and nothing for a verification, which begins again.
func (a *act) challengeAfterWrong() pendingChallenge {
	if a.factor.Status == model.FactorPending {
		return a.newChallenge()
	}
	return pendingChallenge{}
}

// take returns the challenge, which is gone with that: see toSignAfter for proofs that are refused.
func (s *pendingChallenge) take(now time.Time) (string, error) {
	challenge := s.Challenge
	if challenge == "" || !now.Before(s.Expires) {
		return "", errExpired
	}
	*s = pendingChallenge{}
	return challenge, nil
}

// voids makes the Refused of a kind whose sealed state, an S, has something to sign in it.
func voidChallenge[S any](sign func(*S) *pendingChallenge) func(context.Context, *act) error {
	return func(_ context.Context, a *act) error {
		var state S
		if err := a.open(&state); err != nil {
			return err
		}
		*sign(&state) = a.challengeAfterWrong()
		return a.seal(state)
	}
}

// signed is a member of a proof, in Base64.
type proofMember struct{ name, text string }

// decoded reads the members of a proof. What is not Base64 is as wrong as any other data that nobody has signed.
func decodeMembers(members ...proofMember) ([][]byte, error) {
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
			return nil, errUnsigned
		}
		out[i] = data
	}
	return out, nil
}

// Refusals of devices.
var (
	errUnsigned = &wrong{code: rest.CodeFactorWrong, why: "The data differs from the challenge, or the signature of the device is invalid"}
	errCounter  = &wrong{code: rest.CodeFactorWrong,
		why: "The counter of the device did not increase: the device is a copy, or the data was already used"}
	errEnrolled = &wrong{code: rest.CodeFactorWrong, why: "The device is already enrolled"}
)

// unsigned is the refusal of something that is not signed as it has to be. What exactly is wrong with it stays inside: the error may
// have in it what was to be signed. No error stays none.
func signatureError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fido.ErrCounter) || errors.Is(err, u2fdevice.ErrCounter) {
		return errCounter
	}
	return errUnsigned
}

// party is who asks devices: the API at its public base. Where none is configured, requests could name any: only those of the machine
// itself are believed. Where no origin is checked, any will do.
func (a *act) party(ctx context.Context) (fido.Party, error) {
	p, err := fido.PartyAt(rest.URL(ctx))
	if at := rest.SentTo(ctx); err == nil && at != "" && isLoopback(p.ID) {
		p, err = fido.PartyAt(at) // browsers know this machine by the name in their address bar
	}
	if err == nil && a.baseURL == "" && !a.relaxedFIDO && !isLoopback(p.ID) {
		err = rest.Failf(rest.CodeUnsupported, "Security keys require a configured public base URL of the service.")
	}
	return p, err
}

// isLoopback says whether a host is this machine.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// enrolledAs rejects devices that are enrolled already. Where no signature is checked, recorded data may be sent for several users.
func (a *act) enrolledAs(ctx context.Context, credential string) error {
	if a.relaxedFIDO {
		return nil
	}
	page, err := a.Factors.Query(ctx, a.tx, docstore.Query[model.Factor]{Where: docstore.Eq(model.FactorByCredential, credential), Limit: 1})
	if err == nil && len(page.Docs) > 0 {
		err = errEnrolled
	}
	return err
}
