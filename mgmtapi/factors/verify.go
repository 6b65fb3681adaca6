package factors

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/audit"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/rest"
)

type verifyRequest struct {
	target
	TemplateID string `query:"templateId" max:"100" doc:"Id of the SMS template of the message, for factors of the type sms. An unknown id chooses the built-in text."`
	Lifetime   int    `query:"tokenLifetimeSeconds" default:"300" min:"1" max:"86400" doc:"How long a code sent by e-mail is valid."`
	Body       *Proof `body:"optional"`
}

func (s *Slice) findForVerify(ctx context.Context, r *verifyRequest) error {
	return s.find(ctx, &r.target)
}

func (s *Slice) verify(ctx context.Context, r *verifyRequest) (out Verification, err error) {
	a := s.actOn(&r.target)
	a.query.TemplateID, a.query.Lifetime = r.TemplateID, r.Lifetime
	if r.Body != nil {
		a.proof = *r.Body
	}
	if a.kind.Prepare != nil {
		if err := a.prepareProof(ctx); err != nil {
			return out, err
		}
	}
	var refusal *wrong
	err = a.change(ctx, func(tx *docstore.Tx) error {
		if err := a.again(ctx, tx, &r.target); err != nil {
			return err
		}
		if err := a.mayVerify(ctx, tx); err != nil {
			return err
		}
		if a.proof == (Proof{}) {
			out, err = a.challenge(ctx)
			return err
		}
		if a.kind.Verify == nil {
			return rest.Fail(rest.CodeStateToken)
		}
		refusal, err = a.try(ctx, audit.FactorVerify, func() error { return a.kind.Verify(ctx, a) })
		if err != nil || refusal != nil {
			return err
		}
		if err := a.write(ctx); err != nil {
			return err
		}
		out = Verification{Result: model.FactorSuccess}
		return a.log(ctx, audit.FactorVerify, "")
	})
	switch {
	case err != nil || refusal == nil:
		return out, err
	case s.answerReplays && refusal.result != "":
		return Verification{Result: refusal.result}, nil
	}
	return out, a.refusal(refusal.code, refusal)
}

// prepareProof does what takes long for a proof, unless that is refused whatever it is.
func (a *act) prepareProof(ctx context.Context) error {
	q := a.Store.Reader()
	if err := a.mayVerify(ctx, q); err != nil {
		return err
	}
	if err := a.patience(ctx, q); err != nil {
		a.tellExceeded(ctx)
		return err
	}
	return a.kind.Prepare(ctx, a)
}

// mayVerify answers factors that cannot be verified now.
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

// challenge begins a verification.
func (a *act) challenge(ctx context.Context) (Verification, error) {
	if a.kind.Challenge == nil {
		var causes rest.Causes
		causes.Blank(a.kind.Asks)
		return Verification{}, causes.Err()
	}
	if err := a.patience(ctx, a.tx); err != nil {
		return Verification{}, err
	}
	out, err := a.kind.Challenge(ctx, a)
	if err != nil {
		return Verification{}, err
	}
	return *out, a.write(ctx)
}

// challenged is the answer to a verification that has begun and goes on with a proof.
func (a *act) challenged(ctx context.Context) *Verification {
	return &Verification{Result: model.FactorChallenge, Profile: a.factor.Profile, Links: rest.Links{
		"verify": rest.To(a.url(ctx, "verify"), "POST"), "factor": rest.To(a.url(ctx), "GET", "DELETE"),
	}}
}
