package authn

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/mfa"
)

// Options configure the slice.
type Options struct {
	// HashCost is the bcrypt cost of passwords. Default: bcrypt.DefaultCost.
	HashCost int
	// Hook verifies passwords that another system stores. Default: none; users cannot sign in with such a password.
	Hook password.Hook
	// Factors are the further factors of users, which the sign-on policy can require.
	Factors mfa.Factors
}

// Slice serves the primary authentication.
type Slice struct {
	model.Deps
	hasher   password.Hasher
	hook     password.Hook
	factors  mfa.Factors
	refusals *rate.Limiter // limits how many sign-ins of unknown users are logged
}

// maxUnknownLogged is the number of sign-ins of unknown users that are logged in a burst. After that, one per second is logged.
const maxUnknownLogged = 60

// New returns the slice.
func New(d model.Deps, o Options) *Slice {
	return &Slice{
		Deps: d, hasher: password.Hasher{Cost: o.HashCost}, hook: o.Hook, factors: o.Factors,
		refusals: rate.NewLimiter(rate.Every(time.Second), maxUnknownLogged),
	}
}

const (
	tag  = "Primary authentication"
	root = "POST /api/v1/authn"
)

// Routes lists the operations.
func (s *Slice) Routes() []rest.Route {
	return append([]rest.Route{
		rest.Op[signInRequest, Transaction]{
			ID: "authenticate", Route: root, Tag: tag, Public: true, Summary: "Signs in with a password or an activation token",
			Description: "If the enrollment policy does not require a password, a user without one signs in by email, with the username alone.",
			Find:        s.prepareSignIn, Check: checkSignIn, Do: s.signIn,
		},
		rest.Op[recoveryRequest, Transaction]{
			ID: "verifyRecoveryToken", Route: root + "/recovery/token", Tag: tag, Public: true, Summary: "Starts a recovery with its token",
			Do: s.beginRecovery,
		},
		rest.Op[answerRequest, Transaction]{
			ID: "answerRecoveryQuestion", Route: root + "/recovery/answer", Tag: tag, Public: true, Summary: "Answers the recovery question",
			Do: s.answer,
		},
		rest.Op[resetRequest, Transaction]{
			ID: "resetRecoveredPassword", Route: root + "/credentials/reset_password", Tag: tag, Public: true,
			Summary: "Sets the password at the end of an activation or a recovery", Do: s.reset,
		},
		rest.Op[changeRequest, Transaction]{
			ID: "changeExpiredPassword", Route: root + "/credentials/change_password", Tag: tag, Public: true,
			Summary: "Changes an expired password while signing in", Do: s.change,
		},
		rest.Op[cancelRequest, Cancelled]{
			ID: "cancelSignIn", Route: root + "/cancel", Tag: tag, Public: true, Summary: "Cancels a sign-in", Do: s.cancel,
		},
	}, s.factorRoutes()...)
}
