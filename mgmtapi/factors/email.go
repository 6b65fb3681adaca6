package factors

import (
	"context"
	"strings"
	"time"

	"github.com/scimwright/scimwright/mgmtapi/audit"
	"github.com/scimwright/scimwright/mgmtapi/model"
	"github.com/scimwright/scimwright/mgmtapi/outbox"
	"github.com/scimwright/scimwright/mgmtapi/rest"
)

// email is a code by e-mail, to an address of the user.
func email() *kind {
	return messaging(&kind{
		Type: model.FactorEmail, Provider: model.FactorProviderService, Prefix: "emf", Org: "svc_email",
		Resend: "email", Enrol: enrolEmail,
		Send: func(ctx context.Context, a *act) error {
			life := time.Duration(a.query.Lifetime) * time.Second
			return a.send(ctx, sending{channel: outbox.Email, to: "email", digits: 6, life: life, limit: emailsToOne, event: audit.FactorEmail})
		},
	})
}

func enrolEmail(_ context.Context, a *act) error {
	given := a.profile.Email
	if given == "" {
		var causes rest.Causes
		causes.Blank("profile.email")
		return causes.Err()
	}
	for _, attribute := range []string{"email", "secondEmail"} {
		if address := a.user.Value.Text(attribute); strings.EqualFold(address, given) {
			a.factor.Profile = map[string]string{"email": address}
			return nil
		}
	}
	return rest.Invalid("profile.email", "The address must be the primary or the secondary one of the user")
}
