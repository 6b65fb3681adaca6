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

// kind is what one type of factors by one provider does. What is nil is not there for the kind. All functions but Prepare run in the
// transaction of the operation, which may run again, and refuse with an error of rest, or, where a proof is wrong, with a wrong.
type kind struct {
	Type     model.FactorType
	Provider model.FactorProvider
	// Prefix begins the ids of its factors.
	Prefix model.Kind
	// Org is the id of the model.OrgFactor that allows it.
	Org string

	// Several says that a user can have more than one that is ACTIVE.
	Several bool
	// AtOnce says that an enrollment is complete as soon as it is made. Skips says that it is, when the caller says activate=true.
	ActiveAtEnrollment, MaySkipActivation bool
	// Elsewhere says that somebody else than the caller completes an enrollment. Who asks for it after that is answered the factor.
	OutOfBand bool
	// Guessable says that a proof can be found by trying, so that wrong ones are counted and too many are refused.
	Guessable bool
	// Asks names the member that a verification cannot do without, of kinds without Challenge.
	RequiredMember string

	// Prepare does what takes long before the transaction, as hashing: on enrollment, update and verification. It keeps what
	// it finds in act.prepared. It must not refuse what depends on anything but the request.
	Prepare func(ctx context.Context, a *act) error
	// Enroll checks what the caller gives and sets profile and state.
	Enroll func(ctx context.Context, a *act) error
	// Send sends a code: after an enrollment that is not complete, when it is asked for again, and for a challenge.
	Send func(ctx context.Context, a *act) error
	// Resend names the way of Send in links.
	Resend string
	// Pending is what is embedded as "activation" as long as the enrollment is not complete.
	Pending func(ctx context.Context, a *act) (any, error)
	// QR is the content of the QR code of a pending enrollment.
	QR func(ctx context.Context, a *act) (string, error)
	// Activate completes an enrollment: nil and no error when the proof is right. It answers an Activation when there is none yet.
	Activate func(ctx context.Context, a *act) (*Activation, error)
	// Challenge begins a verification without a proof. Without it, there must be one.
	Challenge func(ctx context.Context, a *act) (*Verification, error)
	// Refused voids what a wrong proof has used up.
	Rejected func(ctx context.Context, a *act) error
	// Verify checks a proof.
	Verify func(ctx context.Context, a *act) error
	// Update changes the profile.
	Update func(ctx context.Context, a *act) error
	// Link adds to the links of a factor, or changes them.
	Link func(ctx context.Context, id string, f *model.Factor, links rest.Links)
	// Removed ends what hangs on a factor that goes, or that another enrollment replaces.
	Removed func(ctx context.Context, a *act) error
	// Attest and Assert answer with the security key of the sandbox: the enrollment that waits, and the verification.
	Attest, Assert func(ctx context.Context, a *act) (KeyProof, error)
}

// kinds are all kinds, in the order in which they are offered.
func kinds() []*kind {
	return []*kind{
		question(), sms(), call(), email(), push(),
		totp(model.FactorProviderService, "svc_otp"), totp(model.FactorProviderB, "vendor_b_otp"),
		tokenC(), tokenD(), hardware(), hotp(), web(), u2f(), webauthn(),
	}
}

// kindOf returns the kind of a pair, nil when the two do not go together.
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
	tx   *docstore.Tx // nil in Prepare, and where nothing is changed
	now  time.Time
	user docstore.Doc[model.User]

	// id and factor are the factor. What the operation changes in it is written when it succeeds.
	id     string
	factor model.Factor
	// rev is the revision that was read, 0 for a new factor.
	rev int64
	// others are the factors of the user, on enrollment.
	others []docstore.Doc[model.Factor]

	// The request.
	profile  FactorProfile
	proof    Proof
	query    enrollQuery
	ofCustom string // factorProfileId

	// prepared is what Prepare has kept.
	prepared any
	// outgoing is a message that is handed over when the transaction has ended, exceeded the limit for which it is undone: see change.
	outgoing *message
	exceeded *limit
	// fresh says that the enrollment begins here: its secrets are shown, this once.
	fresh bool
	// polling says that the caller only asks how far an enrollment is.
	polling bool
}

// open reads the sealed state of the factor into a pointer.
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

// seal replaces the state of the factor.
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

// remove ends the factor.
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

// on is the act on another factor of the user, in the same transaction.
func (a *act) forFactor(doc docstore.Doc[model.Factor]) *act {
	return &act{
		Slice: a.Slice, kind: a.kindOf(doc.Value.Type, doc.Value.Provider), tx: a.tx, now: a.now, user: a.user,
		id: doc.ID, factor: doc.Value, rev: doc.Rev, query: defaultQuery,
	}
}

// log tells the system log what happened to the factor.
func (a *act) log(ctx context.Context, event audit.Type, failure string) error {
	return audit.Write(ctx, a.tx, a.Deps, audit.Entry{
		Type: event, Failure: failure, Actor: a.actor(ctx), Targets: []model.LogParty{audit.User(a.user), audit.Factor(a.id, &a.factor)},
	})
}

// actor is who acts: nil for the caller, and the user in a sign-in, which has no caller.
func (a *act) actor(ctx context.Context) *model.LogParty {
	if caller := rest.Caller(ctx); caller.UserID != "" || caller.ClientID != "" || rest.RequestID(ctx) == "" {
		return nil
	}
	party := audit.User(a.user)
	return &party
}

// wrong is a proof that is not right. It is counted, logged and answered with its code, or with its result where callers want that.
type wrong struct {
	code   rest.Code
	result model.FactorResult // empty when there is none to answer instead
	why    string             // for the log
}

// Error returns the text for the log.
func (w *wrong) Error() string { return w.why }

// told is what the caller learns. Where a passcode of another time is a plain refusal, it is not told apart from a wrong one: one of
// the future is one that will be right.
func (w *wrong) message() string {
	if w == errOutside {
		return errWrong.why
	}
	return w.why
}

// Proofs that are not right.
var (
	errWrong    = &wrong{code: rest.CodeFactorWrong, why: "The passcode or answer is wrong"}
	errExpired  = &wrong{code: rest.CodeFactorWrong, why: "The passcode has expired"}
	errReplayed = &wrong{code: rest.CodeReplayed, result: model.FactorReplayed, why: "The passcode was already used"}
	errOutside  = &wrong{code: rest.CodeFactorWrong, result: model.FactorOutside, why: "The passcode is for another time"}
)

// try checks a proof. Everything is decided in the transaction that also counts, so that attempts that run at the same time learn no
// more than as many in a row. A refusal is one that the transaction has to commit for; err is any other.
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

// refusal is what the caller learns of a wrong proof. It names the member that was asked for.
func (a *act) refusal(code rest.Code, w *wrong) error {
	return rest.Fail(code, cmp.Or(a.kind.RequiredMember, "clientData")+": "+w.message())
}
