package factors

import (
	"context"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/outbox"
)

// call returns the kind of factor that sends codes by voice call.
func call() *kind {
	return messaging(&kind{
		Type: model.FactorCall, Provider: model.FactorProviderService, Prefix: "clf", Org: "svc_call",
		Several: true, Resend: "call", Enroll: enrollCall,
		Send: func(ctx context.Context, a *act) error {
			return a.send(ctx,
				sending{channel: outbox.Voice, to: "phoneNumber", digits: 5, life: codeLife, limit: callsToOne, event: audit.FactorCall})
		},
	})
}

// enrollCall sets the phone number. If the user has a verified call factor with this number, the enrollment returns that factor.
func enrollCall(_ context.Context, a *act) error {
	number, err := a.phone()
	if err != nil {
		return err
	}
	extension := a.profile.Extension
	verified := a.has(func(f *model.Factor) bool {
		return f.Status != model.FactorPending && f.Profile["phoneNumber"] == number && f.Profile["phoneExtension"] == extension
	})
	if verified != nil {
		a.adopt(verified)
		return nil
	}
	a.factor.Profile = map[string]string{"phoneNumber": number}
	if extension != "" {
		a.factor.Profile["phoneExtension"] = extension
	}
	return nil
}
