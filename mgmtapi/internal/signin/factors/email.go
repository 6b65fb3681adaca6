package factors

import (
	"context"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/outbox"
)

// email returns the kind of factor that sends codes by email, to an address of the user.
func email() *kind {
	k := messaging(&kind{
		Type: model.FactorEmail, Provider: model.FactorProviderService, Prefix: "emf", Org: "svc_email",
		Resend: "email", Enroll: enrollEmail,
		Send: func(ctx context.Context, a *act) error {
			if err := checkOwnAddress(a); err != nil {
				return err
			}
			life := time.Duration(a.query.Lifetime) * time.Second
			return a.send(ctx, sending{channel: outbox.Email, to: "email", digits: 6, life: life, limit: emailsToOne, event: audit.FactorEmail})
		},
	})
	k.Verify = func(ctx context.Context, a *act) error {
		if err := checkOwnAddress(a); err != nil {
			return err
		}
		return compareCode(ctx, a)
	}
	k.Activate = activatedBy(k.Verify)
	return k
}

// ownAddress returns the address as the profile of the user spells it, empty if it is not an address of the user.
func (a *act) ownAddress(address string) string {
	for _, attribute := range []string{"email", "secondEmail"} {
		if known := a.user.Value.Text(attribute); strings.EqualFold(known, address) {
			return known
		}
	}
	return ""
}

// checkOwnAddress returns an error if the address of the factor no longer belongs to the user.
func checkOwnAddress(a *act) error {
	if a.ownAddress(a.factor.Profile["email"]) == "" {
		return rest.Invalid("profile.email", "The address no longer belongs to the user; enroll the factor again")
	}
	return nil
}

func enrollEmail(_ context.Context, a *act) error {
	given := a.profile.Email
	if given == "" {
		var causes rest.Causes
		causes.Blank("profile.email")
		return causes.Err()
	}
	if address := a.ownAddress(given); address != "" {
		a.factor.Profile = map[string]string{"email": address}
		return nil
	}
	return rest.Invalid("profile.email", "The value must be the primary or the secondary email address of the user")
}
