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

// challengeLife is the validity of a challenge.
const challengeLife = 5 * time.Minute

// pendingChallenge is a random challenge for a device, valid once. It is empty if no challenge is pending.
type pendingChallenge struct {
	Challenge string    `json:"challenge,omitempty"`
	Expires   time.Time `json:"expires,omitzero"`
}

// newChallenge returns a new challenge.
func (a *act) newChallenge() pendingChallenge {
	return pendingChallenge{Challenge: fido.NewChallenge(), Expires: a.now.Add(challengeLife)}
}

// challengeAfterWrong returns the challenge to store after a wrong proof, which has used the previous challenge. For a pending enrollment,
// it returns a new challenge, which the API shows with the factor. For a verification, it returns no challenge: the client must start a new
// verification.
func (a *act) challengeAfterWrong() pendingChallenge {
	if a.factor.Status == model.FactorPending {
		return a.newChallenge()
	}
	return pendingChallenge{}
}

// take returns the challenge and clears it. See challengeAfterWrong for rejected proofs.
func (s *pendingChallenge) take(now time.Time) (string, error) {
	challenge := s.Challenge
	if challenge == "" || !now.Before(s.Expires) {
		return "", errExpired
	}
	*s = pendingChallenge{}
	return challenge, nil
}

// voidChallenge returns the function kind.Rejected for a kind whose encrypted state has the type S. After a wrong proof, this function
// replaces the challenge in the state with the result of challengeAfterWrong. The parameter sign returns the challenge of a state.
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

// proofMember is a member of a proof in Base64.
type proofMember struct{ name, text string }

// decodeMembers decodes the members of a proof. Invalid Base64 is a wrong proof, like data without a valid signature.
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

// The rejections of device proofs.
var (
	errUnsigned = &wrong{code: rest.CodeFactorWrong, why: "The data differs from the challenge, or the signature of the device is invalid"}
	errCounter  = &wrong{code: rest.CodeFactorWrong,
		why: "The counter of the device did not increase: the device is a copy, or the data was already used"}
	errEnrolled = &wrong{code: rest.CodeFactorWrong, why: "The device is already enrolled"}
)

// signatureError returns the rejection for a failed check of signed data, and nil for nil. It omits the details of err, which may contain
// the challenge.
func signatureError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fido.ErrCounter) || errors.Is(err, u2fdevice.ErrCounter) {
		return errCounter
	}
	return errUnsigned
}

// party returns the relying party, which is the host of the API's public base URL. If no URL is configured, party uses the host of the
// request. A client can choose this host, so party rejects it unless it is a loopback host. With RelaxedFIDO, party accepts any host.
func (a *act) party(ctx context.Context) (fido.Party, error) {
	p, err := fido.PartyAt(rest.URL(ctx))
	if at := rest.SentTo(ctx); err == nil && at != "" && isLoopback(p.ID) {
		p, err = fido.PartyAt(at) // the browser reports the host to which it sent the request, such as localhost or 127.0.0.1
	}
	if err == nil && a.baseURL == "" && !a.relaxedFIDO && !isLoopback(p.ID) {
		err = rest.Failf(rest.CodeUnsupported, "Security keys require a configured public base URL of the service.")
	}
	return p, err
}

// isLoopback reports whether a host is a loopback host.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// enrolledAs rejects credentials that are already enrolled. With RelaxedFIDO it accepts them, because recorded data may be sent for several
// users.
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
