package factors

import (
	"context"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/outbox"
)

// sms returns the kind of factor that sends codes by text message. A user has one phone number for these codes.
func sms() *kind {
	return messaging(&kind{
		Type: model.FactorSMS, Provider: model.FactorProviderService, Prefix: "sms", Org: "svc_sms",
		Several: true, Resend: "sms", Enroll: enrollSMS,
		Send: func(ctx context.Context, a *act) error {
			return a.send(ctx, sending{channel: outbox.SMS, to: "phoneNumber", digits: 6, life: codeLife, limit: textsToOne, event: audit.FactorSMS})
		},
	})
}

// enrollSMS sets the phone number. If the user has a verified sms factor with this number, the enrollment returns that factor.
func enrollSMS(ctx context.Context, a *act) error {
	number, err := a.phone()
	if err != nil {
		return err
	}
	if verified := a.has(func(f *model.Factor) bool { return f.Status != model.FactorPending }); verified != nil {
		if verified.Value.Profile["phoneNumber"] != number {
			return rest.Invalid("factorEnrollRequest", "There is an existing verified phone number.")
		}
		a.adopt(verified)
		return nil
	}
	pending := a.has(func(f *model.Factor) bool { return f.Status == model.FactorPending })
	updates := a.query.UpdatePhone && pending != nil
	if updates {
		a.adopt(pending)
		a.factor.State = "" // invalidates the code that was sent to the previous number
		a.factor.Enrolled, a.factor.Changed = a.now, a.now
	}
	a.factor.Profile = map[string]string{"phoneNumber": number}
	if updates {
		return a.log(ctx, audit.FactorUpdate, "")
	}
	return nil
}
