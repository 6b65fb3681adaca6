package factors

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

type resendRequest struct {
	target
	TemplateID string `query:"templateId" max:"100" doc:"Id of the SMS template, for the type sms. An unknown id selects the built-in text."`

	Lifetime int `query:"tokenLifetimeSeconds" min:"1" max:"86400" doc:"Validity of a code sent by email. Default: that of the enrollment."`

	Body struct {
		Type     string        `json:"factorType" doc:"Type of the factor."`
		Provider string        `json:"provider" doc:"Provider of the factor."`
		Profile  FactorProfile `json:"profile" doc:"Destination. If present, it must match the enrollment."`
	} `body:"optional"`
}

func (s *Slice) resend(ctx context.Context, r *resendRequest) (out Factor, err error) {
	a := s.actOn(&r.target)
	a.query.TemplateID, a.query.Lifetime = r.TemplateID, r.Lifetime
	if err := a.checkTemplate(); err != nil {
		return Factor{}, err
	}
	err = a.change(ctx, func(tx *docstore.Tx) error {
		if err := a.reload(ctx, tx, &r.target); err != nil {
			return err
		}
		if err := a.mayResend(ctx, r); err != nil {
			return err
		}
		if err := a.kind.Send(ctx, a); err != nil {
			return err
		}
		if err := a.write(ctx); err != nil {
			return err
		}
		out, err = s.render(ctx, tx, a)
		return err
	})
	return out, err
}

// mayResend returns an error if no code can be resent, or if the request describes another factor.
func (a *act) mayResend(ctx context.Context, r *resendRequest) error {
	var causes rest.Causes
	if r.Body.Type != "" && r.Body.Type != string(a.factor.Type) {
		causes.Add("factorType", "The factor is of the type %s", a.factor.Type)
	}
	if r.Body.Provider != "" && r.Body.Provider != string(a.factor.Provider) {
		causes.Add("provider", "The factor is one of %s", a.factor.Provider)
	}
	if given := r.Body.Profile.PhoneNumber; given != "" && hasPhone(&a.factor) {
		number, err := parsePhone(given)
		if err != nil {
			return err
		}
		if number != a.factor.Profile["phoneNumber"] {
			causes.Add("profile.phoneNumber", "The enrollment is for another number")
		}
	}
	if a.kind.Resend == "" {
		causes.Add("factorType", "Factors of the type %s do not send messages", a.factor.Type)
	}
	if err := causes.Err(); err != nil {
		return err
	}
	if err := a.mayActivate(ctx); err != nil {
		return err
	}
	if a.factor.Status != model.FactorPending {
		return rest.Invalid("status", "The factor is %s", a.factor.Status)
	}
	return a.checkAttemptLimit(ctx, a.tx)
}
