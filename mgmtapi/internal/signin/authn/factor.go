package authn

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/signin/mfa"
)

func (s *Slice) factorRoutes() []rest.Route {
	const one = root + "/factors/{factorId}"
	return []rest.Route{
		rest.Op[verifyRequest, Transaction]{
			ID: "verifySignInFactor", Route: one + "/verify", Tag: tag, Public: true,
			Summary: "Verifies the factor that a sign-in requires, or starts the verification",
			Description: "Without a proof, the request starts a verification if the factor needs a challenge; the status is then MFA_CHALLENGE. " +
				"For a factor that a device verifies, repeat the request without a proof to poll the result.",
			Do: s.verify,
		},
		rest.Op[enrollRequest, Transaction]{
			ID: "enrollSignInFactor", Route: root + "/factors", Tag: tag, Public: true, Summary: "Enrolls the factor that a sign-in requires",
			Description: "The status of a sign-in that requires a factor is MFA_ENROLL until the user has one.", Do: s.enroll,
		},
		rest.Op[activateRequest, Transaction]{
			ID: "activateSignInFactor", Route: one + "/lifecycle/activate", Tag: tag, Public: true,
			Summary: "Completes the enrollment of the factor that a sign-in requires", Do: s.activateFactor,
		},
		rest.Op[previousRequest, Transaction]{
			ID: "previousSignInStep", Route: root + "/previous", Tag: tag, Public: true,
			Summary: "Returns to the choice of a factor", Do: s.previous,
		},
	}
}

// factorStep is a step of a sign-in with a factor: the factor, the sign-in and the proof.
type factorStep struct {
	Factor string `path:"factorId" doc:"Id of the factor."`
	Body   struct {
		StateToken string `json:"stateToken" required:"true" writeOnly:"true" doc:"Token of the sign-in."`
		mfa.Proof
	} `body:"required"`
}

type verifyRequest struct{ factorStep }

type activateRequest struct{ factorStep }

type enrollRequest struct {
	Body struct {
		StateToken string `json:"stateToken" required:"true" writeOnly:"true" doc:"Token of the sign-in."`
		factorKind
		Profile mfa.FactorProfile `json:"profile" doc:"Profile of the factor, by its type."`
		Verify  mfa.Proof         `json:"verify" writeOnly:"true" doc:"Proof of possession, for tokens."`
	} `body:"required"`
}

// factorKind is the type and the provider of a factor.
type factorKind struct {
	Type     string `json:"factorType" required:"true" doc:"Type of the factor."`
	Provider string `json:"provider" required:"true" doc:"Provider of the factor."`
}

// MoreTags implements rest.Described.
func (factorKind) MoreTags() map[string]reflect.StructTag {
	return map[string]reflect.StructTag{
		"factorType": `enum:"question,sms,call,email,push,token:software:totp,token,token:hardware,web,u2f,webauthn"`,
		"provider":   `enum:"SVC,FIDO,VENDOR_A,VENDOR_B,VENDOR_C,VENDOR_D,VENDOR_E"`,
	}
}

type previousRequest struct {
	Body struct {
		StateToken string `json:"stateToken" required:"true" writeOnly:"true" doc:"Token of the sign-in."`
	} `body:"required"`
}

// findFactor rejects unknown factor ids, but only for callers with a valid state token. The step checks that the factor belongs to the
// user.
func (s *Slice) findFactor(ctx context.Context, r *factorStep) error {
	q := s.Store.Reader()
	if _, _, err := s.pending(ctx, q, r.Body.StateToken); err != nil {
		return err
	}
	_, err := s.Model.Factors.Get(ctx, q, r.Factor)
	return rest.Missing(err, "UserFactor", r.Factor)
}

// The authentication methods of a sign-in (RFC 8176): password, and several factors.
const (
	byPassword     = "pwd"
	severalMethods = "mfa"
)

type (
	userDoc   = docstore.Doc[model.User]
	signInDoc = docstore.Doc[model.SignIn]
)

// errDenied reports that the sign-on policy denies access.
var errDenied = errors.New("the sign-on policy denies access")

// denied logs a sign-in that the sign-on policy denies and returns the same error as for a wrong password.
func (s *Slice) denied(ctx context.Context, user userDoc) error {
	if err := s.logRejection(ctx, &user, "The sign-on policy denies access"); err != nil {
		return err
	}
	return rest.Fail(rest.CodeSignIn)
}

// demandFactor starts the step for a further factor after the first one was verified. It stores the user and logs the events in told.
func (s *Slice) demandFactor(
	ctx context.Context, tx *docstore.Tx, doc userDoc, user model.User, in model.SignIn, told ...audit.Type,
) (Transaction, error) {
	user.Attempts++
	doc, err := s.Users.Update(ctx, tx, doc.ID, doc.Rev, user)
	if err != nil {
		return Transaction{}, err
	}
	if err := s.logEvents(ctx, tx, doc, told...); err != nil {
		return Transaction{}, err
	}
	usable, err := s.usable(ctx, tx, doc, in)
	if err != nil {
		return Transaction{}, err
	}
	in.UserID, in.PasswordChanged, in.Status = doc.ID, user.PasswordChanged, model.SignInFactorRequired
	if len(usable) == 0 {
		in.Status = model.SignInFactorEnroll
	}
	token, in, err := s.store(ctx, tx, in)
	if err != nil {
		return Transaction{}, err
	}
	out, err := s.offer(ctx, tx, token, in, doc)
	if err != nil {
		return Transaction{}, err
	}
	return out, s.Feed.Emit(ctx, tx, model.UserChanged{ID: doc.ID})
}

// usable lists the factors with which the sign-in can continue: an email factor in place of a password, and otherwise any factor except the
// first one.
func (s *Slice) usable(ctx context.Context, q docstore.Reader, user userDoc, in model.SignIn) ([]mfa.SignInFactor, error) {
	list, err := s.factors.Usable(ctx, q, user)
	return slices.DeleteFunc(list, func(f mfa.SignInFactor) bool {
		return f.ID == in.First || len(in.Methods) == 0 && f.Type != string(model.FactorEmail)
	}), err
}

// offer returns the state of a sign-in in which the user must choose a factor to verify or to enroll.
func (s *Slice) offer(ctx context.Context, q docstore.Reader, token string, in model.SignIn, user userDoc) (Transaction, error) {
	out := show(ctx, token, in, user)
	var list []mfa.SignInFactor
	var err error
	if in.Status == model.SignInFactorEnroll {
		list, err = s.factors.Enrollable(ctx, q, user)
	} else {
		list, err = s.usable(ctx, q, user, in)
	}
	for i := range list {
		if in.Status == model.SignInFactorEnroll {
			list[i].Links = rest.Links{"enroll": rest.To(authnURL(ctx, "factors"), "POST")}
		} else {
			list[i].Links = rest.Links{"verify": rest.To(authnURL(ctx, "factors", list[i].ID, "verify"), "POST")}
		}
	}
	out.Embedded.Factors = list
	return out, err
}

// showStep returns the state of a sign-in in which a factor is being verified or enrolled.
func showStep(ctx context.Context, token string, in model.SignIn, user userDoc, o mfa.Outcome) Transaction {
	out := show(ctx, token, in, user)
	out.FactorResult, out.Embedded.Factor = string(o.Result), &o.Factor
	name, verb := "verify", []string{"verify"}
	if in.Status == model.SignInFactorActivate {
		name, verb = "activate", []string{"lifecycle", "activate"}
	}
	next := rest.To(authnURL(ctx, append([]string{"factors", in.Factor}, verb...)...), "POST")
	next.Name = name
	if in.Transaction != "" || o.Result == model.FactorWaiting && o.Factor.Type == string(model.FactorPush) {
		next.Name = "poll"
	}
	out.Links["next"], out.Links["prev"] = next, rest.To(authnURL(ctx, "previous"), "POST")
	return out
}

// pendingFactor reads a sign-in that requires a factor. The user must not have changed since the first factor was verified.
func (s *Slice) pendingFactor(
	ctx context.Context, q docstore.Reader, token string, statuses ...model.SignInStatus,
) (signInDoc, userDoc, error) {
	in, user, err := s.pending(ctx, q, token, statuses...)
	if err == nil && (user.Value.Status != model.UserActive || !user.Value.PasswordChanged.Equal(in.Value.PasswordChanged)) {
		err = rest.Fail(rest.CodeToken)
	}
	return in, user, err
}

// verifying reads a sign-in whose factor is being verified. It returns an error if another factor is being verified: the client must first
// return to the choice of a factor.
func (s *Slice) verifying(ctx context.Context, q docstore.Reader, r *factorStep) (signInDoc, userDoc, error) {
	in, user, err := s.pendingFactor(ctx, q, r.Body.StateToken, model.SignInFactorRequired, model.SignInFactorChallenge)
	if err == nil && in.Value.Status == model.SignInFactorChallenge && in.Value.Factor != r.Factor {
		err = rest.Fail(rest.CodeStateToken)
	}
	return in, user, err
}

func (s *Slice) verify(ctx context.Context, r *verifyRequest) (out Transaction, err error) {
	if err := s.findFactor(ctx, &r.factorStep); err != nil {
		return out, err
	}
	known, user, err := s.verifying(ctx, s.Store.Reader(), &r.factorStep)
	if err != nil {
		return out, err
	}
	attempt := mfa.Attempt{User: user.ID, Factor: r.Factor, Proof: r.Body.Proof, Transaction: known.Value.Transaction}
	err = s.factors.Verify(ctx, attempt, func(tx *docstore.Tx, o mfa.Outcome) error {
		in, user, err := s.verifying(ctx, tx, &r.factorStep)
		if err != nil {
			return err
		}
		if in.Value.Transaction != known.Value.Transaction { // another verification has started concurrently
			return rest.Fail(rest.CodeStateToken)
		}
		if o.Result == model.FactorSuccess {
			out, err = s.continueVerified(ctx, tx, in, user, o)
			return err
		}
		in.Value.Status, in.Value.Factor, in.Value.Transaction = model.SignInFactorChallenge, r.Factor, o.Transaction
		if _, err := s.SignIns.Update(ctx, tx, in.ID, in.Rev, in.Value); err != nil {
			return err
		}
		out = showStep(ctx, r.Body.StateToken, in.Value, user, o)
		return nil
	})
	return out, s.orDenied(ctx, user, err)
}

// continueVerified continues a sign-in after its factor was verified, with a new token.
func (s *Slice) continueVerified(ctx context.Context, tx *docstore.Tx, in signInDoc, user userDoc, o mfa.Outcome) (Transaction, error) {
	if err := s.SignIns.Delete(ctx, tx, in.ID); err != nil {
		return Transaction{}, err
	}
	next := model.SignIn{
		RelayState: in.Value.RelayState, PasswordVerified: in.Value.PasswordVerified, First: in.Value.First,
		Methods: append(slices.Clone(in.Value.Methods), o.Method),
	}
	if len(in.Value.Methods) == 0 {
		next.First = o.Factor.ID
	} else {
		next.FactorVerified, next.Methods = s.Now(), append(next.Methods, severalMethods)
	}
	return s.complete(ctx, tx, user, user.Value, next)
}

// orDenied converts errDenied to the response of a denied sign-in.
func (s *Slice) orDenied(ctx context.Context, user userDoc, err error) error {
	if errors.Is(err, errDenied) {
		return s.denied(ctx, user)
	}
	return err
}

// enrolling reads a sign-in in which a factor is being enrolled.
func (s *Slice) enrolling(ctx context.Context, q docstore.Reader, token, factor string) (signInDoc, userDoc, error) {
	status := model.SignInFactorActivate
	if factor == "" {
		status = model.SignInFactorEnroll
	}
	in, user, err := s.pendingFactor(ctx, q, token, status)
	if err == nil && in.Value.Factor != factor {
		err = rest.Fail(rest.CodeStateToken)
	}
	return in, user, err
}

func (s *Slice) enroll(ctx context.Context, r *enrollRequest) (out Transaction, err error) {
	known, user, err := s.enrolling(ctx, s.Store.Reader(), r.Body.StateToken, "")
	if err != nil {
		return out, err
	}
	// reject the enrollment before the API sends a code
	if err := s.mayEnroll(ctx, s.Store.Reader(), user, known.Value, mfa.SignInFactor{}); err != nil {
		return out, err
	}
	e := mfa.Enrollment{User: user.ID, Type: r.Body.Type, Provider: r.Body.Provider, Profile: r.Body.Profile, Proof: r.Body.Verify}
	err = s.factors.Enroll(ctx, e, func(tx *docstore.Tx, o mfa.Outcome) error {
		out, err = s.enrolled(ctx, tx, r.Body.StateToken, "", o)
		return err
	})
	return out, s.orDenied(ctx, user, err)
}

func (s *Slice) activateFactor(ctx context.Context, r *activateRequest) (out Transaction, err error) {
	if err := s.findFactor(ctx, &r.factorStep); err != nil {
		return out, err
	}
	_, user, err := s.enrolling(ctx, s.Store.Reader(), r.Body.StateToken, r.Factor)
	if err != nil {
		return out, err
	}
	attempt := mfa.Attempt{User: user.ID, Factor: r.Factor, Proof: r.Body.Proof}
	err = s.factors.Activate(ctx, attempt, func(tx *docstore.Tx, o mfa.Outcome) error {
		out, err = s.enrolled(ctx, tx, r.Body.StateToken, r.Factor, o)
		return err
	})
	return out, s.orDenied(ctx, user, err)
}

// mayEnroll rejects an enrollment of a user who already has another factor: a password alone must not be enough to add one.
func (s *Slice) mayEnroll(ctx context.Context, q docstore.Reader, user userDoc, in model.SignIn, factor mfa.SignInFactor) error {
	usable, err := s.usable(ctx, q, user, in)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(usable, func(f mfa.SignInFactor) bool { return f.ID != factor.ID && !alongWith(f, factor) }) {
		return rest.Fail(rest.CodeStateToken)
	}
	return nil
}

// enrolled continues a sign-in after a step of an enrollment.
func (s *Slice) enrolled(ctx context.Context, tx *docstore.Tx, token, factor string, o mfa.Outcome) (Transaction, error) {
	in, user, err := s.enrolling(ctx, tx, token, factor)
	if err != nil {
		return Transaction{}, err
	}
	if err := s.mayEnroll(ctx, tx, user, in.Value, o.Factor); err != nil {
		return Transaction{}, err
	}
	if o.Result == model.FactorSuccess {
		return s.continueVerified(ctx, tx, in, user, o)
	}
	in.Value.Status, in.Value.Factor = model.SignInFactorActivate, o.Factor.ID
	if _, err := s.SignIns.Update(ctx, tx, in.ID, in.Rev, in.Value); err != nil {
		return Transaction{}, err
	}
	return showStep(ctx, token, in.Value, user, o), nil
}

// alongWith reports whether f is enrolled together with main: f is the TOTP factor and main the push factor of the same provider.
func alongWith(f, main mfa.SignInFactor) bool {
	return main.Type == string(model.FactorPush) && f.Type == string(model.FactorTOTP) && f.Provider == main.Provider
}

// previous returns to the choice of a factor.
func (s *Slice) previous(ctx context.Context, r *previousRequest) (out Transaction, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		in, user, err := s.pendingFactor(ctx, tx, r.Body.StateToken, model.SignInFactorChallenge, model.SignInFactorActivate)
		if err != nil {
			return err
		}
		next := model.SignInFactorRequired
		if in.Value.Status == model.SignInFactorActivate {
			next = model.SignInFactorEnroll
		}
		in.Value.Status, in.Value.Factor, in.Value.Transaction = next, "", ""
		if _, err := s.SignIns.Update(ctx, tx, in.ID, in.Rev, in.Value); err != nil {
			return err
		}
		out, err = s.offer(ctx, tx, r.Body.StateToken, in.Value, user)
		return err
	})
	return out, err
}
