package users

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
)

type forgotRequest struct {
	target
	SendEmail bool `query:"sendEmail" default:"true" doc:"Emails the user the URL that continues the recovery; if false, returns it."`
	Body      struct {
		Password         *PasswordValue  `json:"password" doc:"The new password."`
		RecoveryQuestion *RecoveryAnswer `json:"recovery_question" doc:"The answer."`
	} `body:"optional"`
}

// RecoveryAnswer is the answer to the recovery question in a request.
type RecoveryAnswer struct {
	Answer string `json:"answer" required:"true" writeOnly:"true" doc:"The answer, case-insensitive."`
}

// starts reports whether the request only starts a recovery.
func (r *forgotRequest) starts() bool {
	return r.Body.Password == nil && r.Body.RecoveryQuestion == nil
}

// checkForgot requires both the password and the answer, or neither.
func checkForgot(_ context.Context, r *forgotRequest, causes *rest.Causes) error {
	switch {
	case r.starts():
	case r.Body.Password == nil:
		causes.Blank("password")
	case r.Body.RecoveryQuestion == nil:
		causes.Blank("recovery_question")
	}
	return nil
}

type forgotQuestionRequest struct {
	target
	Body forgottenPassword `body:"required"`
}

// forgottenPassword is a new password with the answer to the recovery question.
type forgottenPassword struct {
	Password         PasswordValue  `json:"password" required:"true" doc:"The new password."`
	RecoveryQuestion RecoveryAnswer `json:"recovery_question" required:"true" doc:"The answer."`
}

// ForgottenPassword is the response to a recovery: the URL that continues it, or the credentials if it is complete.
type ForgottenPassword struct {
	URL string `json:"resetPasswordUrl,omitempty" doc:"URL where the user answers the question and sets a password. Valid for 1h."`

	Password         *Password `json:"password,omitempty" doc:"Empty; present if a password is set."`
	RecoveryQuestion *Recovery `json:"recovery_question,omitempty" doc:"Recovery question."`
	Provider         *Provider `json:"provider,omitempty" doc:"Who checks the password."`
}

// mayRecover returns an error for a user who cannot recover a password.
func mayRecover(u *model.User) error {
	if u.Status != model.UserActive || u.Recovery == nil {
		return rest.Fail(rest.CodeForgot)
	}
	return nil
}

func (s *Slice) forgot(ctx context.Context, r *forgotRequest) (ForgottenPassword, error) {
	if !r.starts() {
		done, err := s.recoverPassword(ctx, &r.target, forgottenPassword{Password: *r.Body.Password, RecoveryQuestion: *r.Body.RecoveryQuestion})
		if err != nil {
			return ForgottenPassword{}, err
		}
		return ForgottenPassword{Password: done.Password, RecoveryQuestion: done.RecoveryQuestion, Provider: &done.Provider}, nil
	}
	if r.SendEmail && s.outbox == nil {
		if err := mayRecover(&r.found.Value); err != nil {
			return ForgottenPassword{}, err
		}
		return ForgottenPassword{}, rest.Failf(rest.CodeUnsupported,
			"This service sends no messages. With sendEmail=false, the response contains the URL.")
	}
	url, token, issued, err := s.issueReset(ctx, true, "signin", "reset-password")
	if err != nil {
		return ForgottenPassword{}, err
	}
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.changeUser(ctx, tx, &r.target, audit.Entry{Type: audit.UserResetPassword}, func(u *model.User) error {
			if err := mayRecover(u); err != nil {
				return err
			}
			u.Reset = issued
			return nil
		})
		if err == nil && r.SendEmail {
			err = s.mailReset(ctx, tx, doc, forgotMessage, url, token)
		}
		return err
	})
	if err != nil || r.SendEmail {
		return ForgottenPassword{}, err
	}
	return ForgottenPassword{URL: url}, nil
}

// recoverPassword sets a password after it has verified the answer to the recovery question. A wrong answer counts as a failed sign-in
// attempt.
func (s *Slice) recoverPassword(ctx context.Context, at *target, given forgottenPassword) (Credentials, error) {
	known := at.found.Value
	if err := mayRecover(&known); err != nil {
		return Credentials{}, err
	}
	if !password.Matches(known.Recovery.AnswerHash, password.NormalizeAnswer(given.RecoveryQuestion.Answer)) {
		return Credentials{}, s.wrongAnswer(ctx, at)
	}
	policy, err := s.PasswordPolicy(ctx, s.Store.Reader())
	if err != nil {
		return Credentials{}, err
	}
	if broken := password.BrokenRules(&policy, given.Password.Value, known.Profile); len(broken) > 0 {
		return Credentials{}, rest.Fail(rest.CodeResetPolicy, "password: "+password.DescribeBroken(broken))
	}
	hash, err := s.hasher.Hash(given.Password.Value)
	if err != nil {
		return Credentials{}, err
	}
	entry := audit.Entry{Type: audit.UserUpdatePassword}
	return s.changeCredentials(ctx, at, entry, given.Password.Value, false, func(u *model.User) error {
		if err := mayRecover(u); err != nil {
			return err
		}
		if u.Recovery.AnswerHash != known.Recovery.AnswerHash {
			return rest.Fail(rest.CodeAnswer)
		}
		password.Set(&policy, u, hash, s.Now())
		return nil
	})
}

// wrongAnswer counts the attempt and returns the error for it.
func (s *Slice) wrongAnswer(ctx context.Context, at *target) error {
	var counted bool
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.reread(ctx, tx, at)
		if err != nil {
			return err
		}
		counted, err = callers.FailedAttempt(ctx, tx, s.Deps, doc,
			audit.Entry{Type: audit.UserResetPassword, Failure: "The recovery answer is wrong"})
		return err
	})
	switch {
	case err != nil:
		return err
	case !counted: // concurrent attempts have locked the user out
		return rest.Fail(rest.CodeForgot)
	}
	return rest.Fail(rest.CodeAnswer)
}
