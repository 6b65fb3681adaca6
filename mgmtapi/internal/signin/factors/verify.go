package factors

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

type verifyRequest struct {
	target
	TemplateID string `query:"templateId" max:"100" doc:"Id of the SMS template, for the type sms. An unknown id selects the built-in text."`
	Lifetime   int    `query:"tokenLifetimeSeconds" default:"300" min:"1" max:"86400" doc:"Validity of a code sent by email, in seconds."`
	Body       *Proof `body:"optional"`
}

func (s *Slice) verify(ctx context.Context, r *verifyRequest) (Verification, error) {
	a := s.actOn(&r.target)
	out, refusal, err := a.prove(ctx, r, "", nil)
	switch {
	case err != nil || refusal == nil:
		return out, err
	case s.answerReplays && refusal.result != "":
		return Verification{Result: refusal.result}, nil
	}
	return out, a.refusal(refusal.code, refusal)
}

// prove checks the proof of the request. If there is none, it returns the state of the given transaction (a pending verification), or
// starts a verification if transaction is "". Unless the proof is rejected or an error occurs, it then calls then, if not nil, before it
// commits the database transaction.
func (a *act) prove(
	ctx context.Context, r *verifyRequest, transaction string, then func(Verification) error,
) (out Verification, refusal *wrong, err error) {
	a.query.TemplateID, a.query.Lifetime = r.TemplateID, r.Lifetime
	if r.Body != nil {
		a.proof = *r.Body
	}
	if a.kind.Prepare != nil {
		if err := a.prepareProof(ctx); err != nil {
			return out, nil, err
		}
	}
	err = a.change(ctx, func(tx *docstore.Tx) error {
		out, refusal = Verification{}, nil
		if err := a.reload(ctx, tx, &r.target); err != nil {
			return err
		}
		if err := a.mayVerify(ctx, tx); err != nil {
			return err
		}
		switch {
		case a.proof != (Proof{}):
			if a.kind.Verify == nil {
				return rest.Fail(rest.CodeStateToken)
			}
			if refusal, err = a.try(ctx, audit.FactorVerify, func() error { return a.kind.Verify(ctx, a) }); err != nil || refusal != nil {
				return err
			}
			if err := a.write(ctx); err != nil {
				return err
			}
			out = Verification{Result: model.FactorSuccess}
			err = a.log(ctx, audit.FactorVerify, "")
		case transaction != "":
			out, err = a.transactionState(ctx, transaction)
		default:
			out, err = a.challenge(ctx)
		}
		if err == nil && then != nil {
			err = then(out)
		}
		return err
	})
	return out, refusal, err
}

// transactionState returns the state of a verification on a device. A deleted transaction has timed out.
func (a *act) transactionState(ctx context.Context, transaction string) (Verification, error) {
	doc, err := model.Optional(ctx, a.tx, a.FactorTransactions, transaction)
	if err != nil {
		return Verification{}, err
	}
	if doc == nil || doc.Value.Factor != a.id {
		return Verification{Result: model.FactorTimeout, transaction: transaction}, nil
	}
	out := a.polled(ctx, transaction, &doc.Value)
	out.transaction = transaction
	return out, nil
}

// prepareProof runs Prepare of the kind. If every proof would be rejected, because of a status or the limit of wrong proofs, it returns
// that error instead.
func (a *act) prepareProof(ctx context.Context) error {
	q := a.Store.Reader()
	if err := a.mayVerify(ctx, q); err != nil {
		return err
	}
	if err := a.checkAttemptLimit(ctx, q); err != nil {
		a.logExceeded(ctx)
		return err
	}
	return a.kind.Prepare(ctx, a)
}

// mayVerify returns an error if the factor cannot be verified now.
func (a *act) mayVerify(ctx context.Context, q docstore.Reader) error {
	if err := mayUse(&a.user.Value); err != nil {
		return err
	}
	status, err := a.statusOf(ctx, q, &a.factor)
	if err == nil && status != model.FactorActive && status != model.FactorEnrolled {
		err = rest.Failf(rest.CodeStateToken, "The factor is %s.", status)
	}
	return err
}

// challenge starts a verification.
func (a *act) challenge(ctx context.Context) (Verification, error) {
	if a.kind.Challenge == nil {
		var causes rest.Causes
		causes.Blank(a.kind.RequiredMember)
		return Verification{}, causes.Err()
	}
	if err := a.checkAttemptLimit(ctx, a.tx); err != nil {
		return Verification{}, err
	}
	out, err := a.kind.Challenge(ctx, a)
	if err != nil {
		return Verification{}, err
	}
	return *out, a.write(ctx)
}

// challenged returns the response to a started verification that requires a proof.
func (a *act) challenged(ctx context.Context) *Verification {
	return &Verification{Result: model.FactorChallenge, Profile: a.factor.Profile, Links: rest.Links{
		"verify": rest.To(a.url(ctx, "verify"), "POST"), "factor": rest.To(a.url(ctx), "GET", "DELETE"),
	}}
}
