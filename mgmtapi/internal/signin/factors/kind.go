package factors

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// kind implements one type of factor of one provider. A nil function means that the kind does not support the step. All functions except
// Prepare run in the transaction of the operation, which may run again. They reject a request with an error of package rest, and a wrong
// proof with a *wrong.
type kind struct {
	Type     model.FactorType
	Provider model.FactorProvider
	// Prefix is the prefix of the ids of factors of this kind.
	Prefix model.Kind
	// Org is the id of the model.OrgFactor that allows this kind.
	Org string

	// Several reports whether a user can have more than one ACTIVE factor of this kind.
	Several bool
	// ActiveAtEnrollment reports whether a new factor is ACTIVE immediately. MaySkipActivation reports whether a request with activate=true
	// makes a new factor ACTIVE immediately.
	ActiveAtEnrollment, MaySkipActivation bool
	// OutOfBand reports whether another device completes an enrollment. An activation of a factor that is complete returns the factor.
	OutOfBand bool
	// Guessable reports whether an attacker could guess a proof. Wrong proofs are then counted and limited.
	Guessable bool
	// RequiredMember is the member of the proof that a verification requires, for kinds without Challenge.
	RequiredMember string

	// Prepare does slow work such as hashing before the transaction, for enrollment, update and verification. It stores its result in
	// act.prepared. It must not reject anything that depends on more than the request.
	Prepare func(ctx context.Context, a *act) error
	// Enroll checks the request and sets the profile and the state.
	Enroll func(ctx context.Context, a *act) error
	// Send sends a code: after an enrollment that is not complete, for a resend, and for a challenge.
	Send func(ctx context.Context, a *act) error
	// Resend is the name of the channel of Send in links.
	Resend string
	// Pending returns the embedded member "activation" of a pending enrollment.
	Pending func(ctx context.Context, a *act) (any, error)
	// QR returns the content of the QR code of a pending enrollment.
	QR func(ctx context.Context, a *act) (string, error)
	// Activate completes an enrollment. It returns nil and no error if the proof is right, and an Activation if the enrollment is still
	// pending.
	Activate func(ctx context.Context, a *act) (*Activation, error)
	// Challenge starts a verification without a proof. If nil, every verification requires a proof.
	Challenge func(ctx context.Context, a *act) (*Verification, error)
	// Rejected invalidates the challenge that a wrong proof has used.
	Rejected func(ctx context.Context, a *act) error
	// Verify checks a proof.
	Verify func(ctx context.Context, a *act) error
	// Update changes the profile.
	Update func(ctx context.Context, a *act) error
	// Link adds or changes links of a factor.
	Link func(ctx context.Context, id string, f *model.Factor, links rest.Links)
	// Removed deletes what depends on a factor that is removed or replaced by another enrollment.
	Removed func(ctx context.Context, a *act) error
	// Attest and Assert return the response of the sandbox's security key: to the pending enrollment, and to the verification.
	Attest, Assert func(ctx context.Context, a *act) (KeyProof, error)
}

// kinds returns all kinds in the order of the catalog.
func kinds() []*kind {
	return []*kind{
		question(), sms(), call(), email(), push(),
		totp(model.FactorProviderService, "svc_otp"), totp(model.FactorProviderB, "vendor_b_otp"),
		tokenC(), tokenD(), hardware(), hotp(), web(), u2f(), webauthn(),
	}
}

// kindOf returns the kind with the type and the provider, nil if the provider has no factors of the type.
func (s *Slice) kindOf(t model.FactorType, p model.FactorProvider) *kind {
	i := slices.IndexFunc(s.kinds, func(k *kind) bool { return k.Type == t && k.Provider == p })
	if i < 0 {
		return nil
	}
	return s.kinds[i]
}

// act is one operation on one factor.
type act struct {
	*Slice
	kind *kind
	tx   *docstore.Tx // nil in the function Prepare and for operations that only read
	now  time.Time
	user docstore.Doc[model.User]

	// id and factor identify and hold the factor. The operation stores its changes to factor on success.
	id     string
	factor model.Factor
	// rev is the revision that was read, 0 for a new factor.
	rev int64
	// others are all factors of the user, set by loadFactors.
	others []docstore.Doc[model.Factor]

	// The request.
	profile  FactorProfile
	proof    Proof
	query    enrollQuery
	ofCustom string // factorProfileId

	// prepared is the result of Prepare.
	prepared any
	// outgoing is a message to deliver by a hook after the transaction. exceeded is the limit that aborted the transaction. See change.
	outgoing *message
	exceeded *limit
	// fresh reports whether the enrollment starts with this request. Only then are its secrets shown.
	fresh bool
	// polling reports whether the request only reads the state of an enrollment.
	polling bool
}

// open decrypts the state of the factor into a pointer.
func (a *act) open(state any) error {
	if a.factor.State == "" {
		return nil
	}
	text, err := a.secrets.Open(a.factor.State, model.FactorBinding(a.id))
	if err == nil {
		err = json.Unmarshal([]byte(text), state)
	}
	if err != nil {
		return fmt.Errorf("state of the factor %s: %w", a.id, err)
	}
	return nil
}

// seal encrypts and replaces the state of the factor.
func (a *act) seal(state any) error {
	text, err := json.Marshal(state)
	if err == nil {
		a.factor.State, err = a.secrets.Seal(string(text), model.FactorBinding(a.id))
	}
	if err != nil {
		return fmt.Errorf("state of the factor %s: %w", a.id, err)
	}
	return nil
}

// write stores the factor.
func (a *act) write(ctx context.Context) error {
	var doc docstore.Doc[model.Factor]
	var err error
	if a.rev == 0 {
		doc, err = a.Factors.Insert(ctx, a.tx, a.id, a.factor)
	} else {
		doc, err = a.Factors.Update(ctx, a.tx, a.id, a.rev, a.factor)
	}
	a.rev = doc.Rev
	return err
}

// remove deletes the factor and what depends on it.
func (a *act) remove(ctx context.Context) error {
	if a.kind.Removed != nil {
		if err := a.kind.Removed(ctx, a); err != nil {
			return err
		}
	}
	if _, err := a.FactorTransactions.DeleteWhere(ctx, a.tx, docstore.Eq(model.FactorTransactionByFactor, a.id)); err != nil {
		return err
	}
	return a.Factors.Delete(ctx, a.tx, a.id)
}

// forFactor returns an act for another factor of the user, in the same transaction.
func (a *act) forFactor(doc docstore.Doc[model.Factor]) *act {
	return &act{
		Slice: a.Slice, kind: a.kindOf(doc.Value.Type, doc.Value.Provider), tx: a.tx, now: a.now, user: a.user,
		id: doc.ID, factor: doc.Value, rev: doc.Rev, query: defaultQuery,
	}
}

// log writes an event about the factor to the system log.
func (a *act) log(ctx context.Context, event audit.Type, failure string) error {
	return audit.Write(ctx, a.tx, a.Deps, audit.Entry{
		Type: event, Failure: failure, Actor: a.actor(ctx), Targets: []model.LogParty{audit.User(a.user), audit.Factor(a.id, &a.factor)},
	})
}

// actor returns the actor of log events: nil means the caller; a sign-in has no caller, so its actor is the user.
func (a *act) actor(ctx context.Context) *model.LogParty {
	if caller := rest.Caller(ctx); caller.UserID != "" || caller.ClientID != "" || rest.RequestID(ctx) == "" {
		return nil
	}
	party := audit.User(a.user)
	return &party
}

// wrong is the rejection of a wrong proof. It is counted and logged. The response contains the error code, or the result if
// Options.AnswerReplays is set.
type wrong struct {
	code   rest.Code
	result model.FactorResult // result for the response; empty if the response contains only the code
	why    string             // for the log
}

// Error returns the reason for the log.
func (w *wrong) Error() string { return w.why }

// message returns the reason for the caller. It does not distinguish a passcode for another time from a wrong one, because a passcode for a
// future time will be valid later.
func (w *wrong) message() string {
	if w == errOutside {
		return errWrong.why
	}
	return w.why
}

// The rejections of wrong proofs.
var (
	errWrong    = &wrong{code: rest.CodeFactorWrong, why: "The passcode or answer is wrong"}
	errExpired  = &wrong{code: rest.CodeFactorWrong, why: "The passcode has expired"}
	errReplayed = &wrong{code: rest.CodeReplayed, result: model.FactorReplayed, why: "The passcode was already used"}
	errOutside  = &wrong{code: rest.CodeFactorWrong, result: model.FactorOutside, why: "The passcode is for another time"}
)

// try checks a proof. The check and the count of wrong proofs share one transaction, so that concurrent attempts cannot exceed the limit.
// After a refusal the transaction must commit; err is any other error.
func (a *act) try(ctx context.Context, event audit.Type, check func() error) (refusal *wrong, err error) {
	if err := a.checkAttemptLimit(ctx, a.tx); err != nil {
		return nil, err
	}
	err = check()
	refusal, ok := errors.AsType[*wrong](err)
	if !ok {
		return nil, err
	}
	if a.kind.Guessable {
		if err := a.count(ctx); err != nil {
			return nil, err
		}
	}
	if a.kind.Rejected != nil && a.rev != 0 {
		if err := a.kind.Rejected(ctx, a); err != nil {
			return nil, err
		}
		if err := a.write(ctx); err != nil {
			return nil, err
		}
	}
	return refusal, a.log(ctx, event, refusal.why)
}

// refusal returns the error response to a wrong proof. It names the member with the proof.
func (a *act) refusal(code rest.Code, w *wrong) error {
	return rest.Fail(code, cmp.Or(a.kind.RequiredMember, "clientData")+": "+w.message())
}
