package authn

import (
	"context"
	"errors"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
)

type signInRequest struct {
	Body struct {
		Username   string `json:"username" doc:"Login, or its part before the @ if that is unambiguous."`
		Password   string `json:"password" writeOnly:"true" doc:"The password."`
		Token      string `json:"token" writeOnly:"true" doc:"Activation token, instead of login and password."`
		RelayState string `json:"relayState" max:"2048" doc:"Returned unchanged in every response."`
	} `body:"required"`

	enroll model.PasswordEnrollment
}

func (s *Slice) prepareSignIn(ctx context.Context, r *signInRequest) (err error) {
	r.enroll, err = s.PasswordEnrollment(ctx, s.Store.Reader())
	return err
}

// checkSignIn requires a token, or login and password. If no password is required, the login is enough.
func checkSignIn(_ context.Context, r *signInRequest, causes *rest.Causes) error {
	if r.Body.Token != "" {
		return nil
	}
	if r.Body.Username == "" {
		causes.Blank("username")
	}
	if r.Body.Password == "" && r.enroll == model.PasswordRequired {
		causes.Blank("password")
	}
	return nil
}

// Reasons of failed sign-ins, for the log only.
const (
	unknownUser   = "Unknown user"
	wrongPassword = "The password is wrong" //nolint:gosec // a text
	wrongStatus   = "The status of the user does not allow sign-in"
	lockedOut     = "The user is locked out"
	unverified    = "The password import hook did not respond"
)

func (s *Slice) signIn(ctx context.Context, r *signInRequest) (Transaction, error) {
	if r.Body.Token != "" {
		return s.activate(ctx, r.Body.Token, r.Body.RelayState)
	}
	if r.Body.Password == "" {
		return s.signInByEmail(ctx, r.Body.Username, r.Body.RelayState)
	}
	known, err := s.FindUser(ctx, s.Store.Reader(), r.Body.Username)
	if err != nil && !errors.Is(err, docstore.ErrNotFound) {
		return Transaction{}, err
	}
	found := err == nil
	policy, err := s.PasswordPolicy(ctx, s.Store.Reader())
	if err != nil {
		return Transaction{}, err
	}
	if found && lockoutEnded(&policy, &known.Value, s.Now()) {
		if known, err = s.unlock(ctx, known.ID, &policy); err != nil {
			return Transaction{}, err
		}
	}
	if found && known.Value.Status == model.UserLockedOut && !policy.HideLockout {
		return s.rejectLocked(ctx, &policy, known)
	}
	if !found || !known.Value.HasPassword() || known.Value.AsksHook() {
		// Hash takes as long as a comparison with a stored hash. Otherwise the response time would reveal which users exist.
		if _, err := s.hasher.Hash(r.Body.Password); err != nil {
			return Transaction{}, err
		}
	}
	signsIn := known.Value.Status == model.UserActive || known.Value.Status == model.UserPasswordExpired
	right, answered := false, true
	if found && (signsIn || !known.Value.AsksHook()) { // a hook receives a password only if its user may sign in
		right, answered = password.VerifyOrAsk(ctx, s.hook, known, r.Body.Password)
	}
	switch {
	case !found:
		if s.refusals.AllowN(s.Now(), 1) {
			err = s.logRejection(ctx, nil, unknownUser)
		}
	case known.Value.Status == model.UserLockedOut:
		return s.rejectLocked(ctx, &policy, known)
	case !signsIn || !known.Value.HasPassword():
		err = s.logRejection(ctx, &known, wrongStatus)
	case !answered:
		err = s.logRejection(ctx, &known, unverified)
	case !right:
		var counted bool
		if counted, err = s.countFailure(ctx, known.ID, wrongPassword); err == nil && !counted {
			return s.rejectLocked(ctx, &policy, known)
		}
	default:
		return s.accept(ctx, &policy, known, r.Body.Password, r.Body.RelayState)
	}
	if err != nil {
		return Transaction{}, err
	}
	return Transaction{}, rest.Fail(rest.CodeSignIn)
}

// lockoutEnded reports whether a lockout has expired.
func lockoutEnded(policy *model.PasswordSettings, u *model.User, now time.Time) bool {
	return u.Status == model.UserLockedOut && policy.AutoUnlock > 0 && now.Sub(u.StatusChanged) >= policy.AutoUnlock
}

// unlock unlocks a user whose lockout has expired. No timer does this: each sign-in compares the time.
func (s *Slice) unlock(ctx context.Context, id string, policy *model.PasswordSettings) (doc docstore.Doc[model.User], err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if doc, err = s.Users.Get(ctx, tx, id); err != nil {
			return err
		}
		if !lockoutEnded(policy, &doc.Value, s.Now()) {
			return nil
		}
		user := doc.Value
		user.Unlock(s.Now())
		if doc, err = s.Users.Update(ctx, tx, doc.ID, doc.Rev, user); err != nil {
			return err
		}
		party := audit.User(doc)
		entry := audit.Entry{Type: audit.UserAutoUnlock, Actor: &party, Targets: []model.LogParty{party}}
		if err := audit.Write(ctx, tx, s.Deps, entry); err != nil {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.UserChanged{ID: doc.ID})
	})
	if errors.Is(err, docstore.ErrNotFound) { // deleted concurrently
		return doc, rest.Fail(rest.CodeSignIn)
	}
	return doc, err
}

// rejectLocked rejects the sign-in of a locked-out user without checking the password.
func (s *Slice) rejectLocked(ctx context.Context, policy *model.PasswordSettings, user docstore.Doc[model.User]) (Transaction, error) {
	if err := s.logRejection(ctx, &user, lockedOut); err != nil {
		return Transaction{}, err
	}
	if policy.HideLockout {
		return Transaction{}, rest.Fail(rest.CodeSignIn)
	}
	return Transaction{Status: string(model.SignInLockedOut)}, nil
}

// logRejection logs a sign-in that is rejected whatever the password is.
func (s *Slice) logRejection(ctx context.Context, user *docstore.Doc[model.User], why string) error {
	entry := audit.Entry{Type: audit.UserSessionStart, Failure: why}
	if user != nil {
		party := audit.User(*user)
		entry.Actor, entry.Targets = &party, []model.LogParty{party}
	}
	return s.Update(ctx, func(tx *docstore.Tx) error { return audit.Write(ctx, tx, s.Deps, entry) })
}

// countFailure counts a failed attempt. It reports false if the user is locked out and the attempt was not counted.
func (s *Slice) countFailure(ctx context.Context, user, why string) (counted bool, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.Users.Get(ctx, tx, user)
		if err != nil {
			return err
		}
		counted, err = callers.FailedAttempt(ctx, tx, s.Deps, doc, audit.Entry{Type: audit.UserSessionStart, Failure: why})
		return err
	})
	if errors.Is(err, docstore.ErrNotFound) { // deleted concurrently
		return true, nil
	}
	return counted, err
}

// rejectWrong counts a failed attempt in a later step of a sign-in and returns the error refusal. If the user is locked out, it returns the
// error for an invalid state token instead.
func (s *Slice) rejectWrong(ctx context.Context, user, why string, refusal *rest.Error) error {
	counted, err := s.countFailure(ctx, user, why)
	switch {
	case err != nil:
		return err
	case !counted:
		return rest.Fail(rest.CodeToken)
	}
	return refusal
}

// accept continues a sign-in with a verified password. If another system has hashed the password, accept stores a hash of this service
// instead. An expired password must be changed first.
func (s *Slice) accept(ctx context.Context, policy *model.PasswordSettings, known docstore.Doc[model.User],
	value, relay string) (out Transaction, err error) {
	var hash string
	var told []audit.Type
	var locked bool
	if known.Value.Imported != nil {
		if hash, err = s.hasher.Hash(value); err != nil {
			return Transaction{}, err
		}
		told = []audit.Type{audit.UserImportPassword}
	}
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.Users.Get(ctx, tx, known.ID)
		if err != nil && !errors.Is(err, docstore.ErrNotFound) {
			return err
		}
		if locked = err == nil && doc.Value.Status == model.UserLockedOut; locked {
			return nil // concurrent failed attempts have locked the user out
		}
		if err != nil || !doc.Value.SamePassword(&known.Value) || doc.Value.Status != known.Value.Status {
			return rest.Fail(rest.CodeSignIn) // the password or the status of the user changed after the comparison of the password
		}
		if doc.Value.Status == model.UserActive && password.TooOld(policy, &doc.Value, s.Now()) {
			if doc, err = s.expire(ctx, tx, doc); err != nil {
				return err
			}
		}
		in := model.SignIn{UserID: doc.ID, Status: model.SignInPasswordExpired, RelayState: relay}
		if doc.Value.Status == model.UserPasswordExpired {
			token, in, err := s.store(ctx, tx, in)
			out = show(ctx, token, in, doc)
			return err
		}
		user := doc.Value
		if hash != "" {
			password.TakeOver(&user, hash)
		}
		in = model.SignIn{RelayState: relay, Methods: []string{byPassword}, PasswordVerified: s.Now()}
		if out, err = s.complete(ctx, tx, doc, user, in, told...); err != nil {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.PasswordKnown{User: doc.ID, Plain: value})
	})
	if err == nil && locked {
		return s.rejectLocked(ctx, policy, known)
	}
	return out, s.orDenied(ctx, known, err)
}

// expire sets a user with an expired password to PASSWORD_EXPIRED.
func (s *Slice) expire(ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.User]) (docstore.Doc[model.User], error) {
	user := doc.Value
	user.Enter(model.UserPasswordExpired, s.Now())
	doc, err := s.Users.Update(ctx, tx, doc.ID, doc.Rev, user)
	if err != nil {
		return doc, err
	}
	party := audit.User(doc)
	entry := audit.Entry{Type: audit.UserExpirePassword, Actor: &party, Targets: []model.LogParty{party}}
	if err := audit.Write(ctx, tx, s.Deps, entry); err != nil {
		return doc, err
	}
	return doc, s.Feed.Emit(ctx, tx, model.UserChanged{ID: doc.ID})
}

// complete stores the signed-in user and a session token, unless the sign-on policy denies access or requires a factor that has not been
// verified. It logs the events that told lists, and then the event of the sign-in.
func (s *Slice) complete(
	ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.User], user model.User, in model.SignIn, told ...audit.Type,
) (Transaction, error) {
	rule, err := s.SignOnRuleFor(ctx, tx, doc.ID)
	switch {
	case err != nil:
		return Transaction{}, err
	case rule == nil:
	case rule.Access == model.AccessDeny:
		return Transaction{}, errDenied
	case rule.Factor && in.FactorVerified.IsZero():
		return s.demandFactor(ctx, tx, doc, user, in, told...)
	}
	user.LastLogin = s.Now()
	user.Attempts++
	if doc, err = s.Users.Update(ctx, tx, doc.ID, doc.Rev, user); err != nil {
		return Transaction{}, err
	}
	in.UserID, in.Status = doc.ID, model.SignInSuccess
	token, in, err := s.store(ctx, tx, in)
	if err != nil {
		return Transaction{}, err
	}
	if err := s.logEvents(ctx, tx, doc, append(told, audit.UserSessionStart)...); err != nil {
		return Transaction{}, err
	}
	return show(ctx, token, in, doc), s.Feed.Emit(ctx, tx, model.UserChanged{ID: doc.ID})
}

// logEvents writes events of a user who signs in to the log.
func (s *Slice) logEvents(ctx context.Context, tx *docstore.Tx, doc docstore.Doc[model.User], events ...audit.Type) error {
	party := audit.User(doc)
	for _, event := range events {
		entry := audit.Entry{Type: event, Actor: &party, Targets: []model.LogParty{party}}
		if err := audit.Write(ctx, tx, s.Deps, entry); err != nil {
			return err
		}
	}
	return nil
}
