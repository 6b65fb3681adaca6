package factors

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

type activateRequest struct {
	target
	Body *Proof `body:"optional"`

	polling bool // only read the state of the enrollment
}

// pollActivation returns the state of an enrollment without restarting it.
func (s *Slice) pollActivation(ctx context.Context, r *activateRequest) (FactorOrActivation, error) {
	r.polling = true
	return s.activate(ctx, r)
}

func (s *Slice) activate(ctx context.Context, r *activateRequest) (out FactorOrActivation, err error) {
	err = s.activateThen(ctx, r, func(_ *act, shown any) error {
		out.shown = shown
		return nil
	})
	return out, err
}

// activateThen completes an enrollment or returns its state. If the step is not rejected, it calls then in the transaction, with a Factor
// or an *Activation.
func (s *Slice) activateThen(ctx context.Context, r *activateRequest, then func(a *act, shown any) error) error {
	a := s.actOn(&r.target)
	a.polling = r.polling
	if r.Body != nil {
		a.proof = *r.Body
	}
	var refusal *wrong
	err := a.change(ctx, func(tx *docstore.Tx) error {
		refusal = nil
		if err := a.reload(ctx, tx, &r.target); err != nil {
			return err
		}
		if !a.kind.OutOfBand || a.factor.Status != model.FactorActive {
			if err := a.mayActivate(ctx); err != nil {
				return err
			}
			var waiting *Activation
			var err error
			refusal, err = a.try(ctx, audit.FactorActivate, func() (err error) {
				waiting, err = a.kind.Activate(ctx, a)
				return err
			})
			switch {
			case err != nil || refusal != nil:
				return err
			case waiting != nil:
				if err := a.write(ctx); err != nil {
					return err
				}
				return then(a, waiting)
			}
			if err := a.complete(ctx); err != nil {
				return err
			}
		}
		shown, err := s.render(ctx, tx, a)
		if err != nil {
			return err
		}
		return then(a, shown)
	})
	if err == nil && refusal != nil {
		err = a.refusal(rest.CodeFactorWrong, refusal)
	}
	return err
}

// mayActivate returns an error if the enrollment cannot be completed now.
func (a *act) mayActivate(ctx context.Context) error {
	if err := mayUse(&a.user.Value); err != nil {
		return err
	}
	status, err := a.statusOf(ctx, a.tx, &a.factor)
	switch {
	case err != nil:
		return err
	case status == model.FactorExpired:
		return rest.Failf(rest.CodeExpiredLink, "The enrollment of the factor has expired.")
	case status != model.FactorPending && status != model.FactorEnrolled || a.kind.Activate == nil:
		return rest.Invalid("status", "The factor is %s", status)
	}
	allowed, err := a.allowed(ctx, a.tx, a.kind.Org)
	if err == nil && !allowed {
		err = rest.Fail(rest.CodeStateToken)
	}
	return err
}

// complete sets the status of the factor to ACTIVE and stores it.
func (a *act) complete(ctx context.Context) error {
	a.factor.Status, a.factor.Changed, a.factor.QR = model.FactorActive, a.now, ""
	if err := a.write(ctx); err != nil {
		return err
	}
	return a.log(ctx, audit.FactorActivate, "")
}
