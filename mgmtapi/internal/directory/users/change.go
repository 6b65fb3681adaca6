package users

import (
	"context"
	"slices"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
)

// PasswordValue is a password as callers send it.
type PasswordValue struct {
	Value string `json:"value" required:"true" writeOnly:"true" max:"72" doc:"The password."`
}

type changePasswordRequest struct {
	target
	Strict bool `query:"strict" default:"false" doc:"Checks the history and the age of the password too."`
	Body   struct {
		OldPassword PasswordValue `json:"oldPassword" required:"true" doc:"The present password."`
		NewPassword PasswordValue `json:"newPassword" required:"true" doc:"The new password."`
		Revoke      bool          `json:"revokeSessions" doc:"Ends all sessions of the user."`
	} `body:"required"`
}

type changeQuestionRequest struct {
	target
	Body struct {
		Password         PasswordValue `json:"password" required:"true" doc:"The present password."`
		RecoveryQuestion RecoveryInput `json:"recovery_question" required:"true" doc:"The new question with its answer."`
	} `body:"required"`

	policy model.PasswordSettings
}

// checkChangeQuestion checks the recovery question.
func checkChangeQuestion(_ context.Context, r *changeQuestionRequest, causes *rest.Causes) error {
	r.Body.RecoveryQuestion.check("recovery_question", &r.policy, causes)
	return nil
}

// credentials are the operations of people on their own credentials, run for them by a caller.
func (s *Slice) credentials() []rest.Route {
	const path = "POST /api/v1/users/{user}/credentials/"
	return []rest.Route{
		rest.Op[changePasswordRequest, Credentials]{
			ID: "changePassword", Route: path + "change_password", Tag: tag, Scopes: writeScope,
			Summary: "Changes a password, knowing the old one",
			Find:    callers.FoundUser(s.Deps, (*changePasswordRequest).at),
			Do:      s.changePassword,
		},
		rest.Op[changeQuestionRequest, Credentials]{
			ID: "changeRecoveryQuestion", Route: path + "change_recovery_question", Tag: tag, Scopes: writeScope,
			Summary: "Changes the recovery question, knowing the password",
			Find: func(ctx context.Context, r *changeQuestionRequest) (err error) {
				q := s.Store.Reader()
				if r.found, err = callers.FindUser(ctx, s.Deps, q, r.User); err == nil {
					r.policy, err = s.PasswordPolicy(ctx, q)
				}
				return err
			},
			Check: checkChangeQuestion, Do: s.changeQuestion,
		},
		rest.Op[forgotRequest, ForgottenPassword]{
			ID: "forgotPassword", Route: path + "forgot_password", Tag: tag, Scopes: writeScope,
			Summary:     "Begins, or does, the recovery of a forgotten password",
			Description: "Without a body, the address where the recovery goes on is sent to the user, or with sendEmail=false answered.",
			Find:        callers.FoundUser(s.Deps, (*forgotRequest).at),
			Check:       checkForgot, Do: s.forgot,
		},
		rest.Op[forgotQuestionRequest, Credentials]{
			ID: "forgotPasswordSetNewPassword", Route: path + "forgot_password_recovery_question", Tag: tag, Scopes: writeScope,
			Summary: "Sets a forgotten password by the answer to the recovery question",
			Find:    callers.FoundUser(s.Deps, (*forgotQuestionRequest).at),
			Do: func(ctx context.Context, r *forgotQuestionRequest) (Credentials, error) {
				return s.recoverPassword(ctx, &r.target, r.Body)
			},
		},
	}
}

// The statuses in which people may change their credentials.
var (
	passwordStatuses = []model.UserStatus{model.UserStaged, model.UserActive, model.UserPasswordExpired, model.UserRecovery}
	questionStatuses = []model.UserStatus{model.UserStaged, model.UserActive, model.UserRecovery}
)

// mayChange answers users without a password, and those in another status.
func mayChange(u *model.User, from []model.UserStatus, refusal rest.Code) error {
	if !u.HasPassword() || !slices.Contains(from, u.Status) {
		return rest.Fail(refusal)
	}
	return nil
}

// The causes of changes that fail.
const (
	wrongPassword   = "password: The old password is not correct"
	changedMeantime = "password: The password was changed at the same time"
)

func (s *Slice) changePassword(ctx context.Context, r *changePasswordRequest) (Credentials, error) {
	known, value := r.found.Value, r.Body.NewPassword.Value
	if err := mayChange(&known, passwordStatuses, rest.CodeChangePassword); err != nil {
		return Credentials{}, err
	}
	if !password.Verify(&known, r.Body.OldPassword.Value) {
		return Credentials{}, rest.Fail(rest.CodeCredentials, wrongPassword)
	}
	policy, err := s.PasswordPolicy(ctx, s.Store.Reader())
	if err != nil {
		return Credentials{}, err
	}
	broken := password.BrokenRules(&policy, value, known.Profile)
	if r.Strict {
		broken = append(broken, s.unfit(&policy, &known, value)...)
	}
	if len(broken) > 0 {
		return Credentials{}, rest.Fail(rest.CodeCredentials, "password: "+password.DescribeBroken(broken))
	}
	hash, err := s.hasher.Hash(value)
	if err != nil {
		return Credentials{}, err
	}
	entry := audit.Entry{Type: audit.UserUpdatePassword}
	return s.changeCredentials(ctx, &r.target, entry, value, r.Body.Revoke, func(u *model.User) error {
		if err := mayChange(u, passwordStatuses, rest.CodeChangePassword); err != nil {
			return err
		}
		if !u.SamePassword(&known) {
			return rest.Fail(rest.CodeCredentials, changedMeantime)
		}
		password.Set(&policy, u, hash, s.Now())
		if u.Status != model.UserStaged {
			u.Enter(model.UserActive, s.Now())
		}
		return nil
	})
}

func (s *Slice) changeQuestion(ctx context.Context, r *changeQuestionRequest) (Credentials, error) {
	known := r.found.Value
	if err := mayChange(&known, questionStatuses, rest.CodeChangeQuestion); err != nil {
		return Credentials{}, err
	}
	if !password.Verify(&known, r.Body.Password.Value) {
		return Credentials{}, rest.Fail(rest.CodeCredentials, wrongPassword)
	}
	secrets, err := s.hashSecrets(ctx, &CredentialsInput{RecoveryQuestion: &r.Body.RecoveryQuestion})
	if err != nil {
		return Credentials{}, err
	}
	entry := audit.Entry{Type: audit.UserUpdateProfile, Debug: map[string]string{"changedAttributes": "recovery_question"}}
	return s.changeCredentials(ctx, &r.target, entry, "", false, func(u *model.User) error {
		if err := mayChange(u, questionStatuses, rest.CodeChangeQuestion); err != nil {
			return err
		}
		if !u.SamePassword(&known) {
			return rest.Fail(rest.CodeCredentials, changedMeantime)
		}
		secrets.set(u, s.Now())
		return nil
	})
}

// changeCredentials changes a user in a transaction of its own. The change sets the password, unless that is empty. With revoke, it
// ends the sessions of the user.
func (s *Slice) changeCredentials(
	ctx context.Context, at *target, entry audit.Entry, password string, revoke bool, change func(*model.User) error,
) (Credentials, error) {
	var out Credentials
	err := s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.changeUser(ctx, tx, at, entry, change)
		if err != nil {
			return err
		}
		out = *credentialsOf(&doc.Value)
		if revoke {
			if err := s.endSessions(ctx, tx, doc); err != nil {
				return err
			}
		}
		if password == "" {
			return nil
		}
		return s.Feed.Emit(ctx, tx, model.PasswordKnown{User: doc.ID, Set: true, Plain: password})
	})
	if err != nil {
		return Credentials{}, err
	}
	return out, nil
}

// changeUser changes a user and tells of it.
func (s *Slice) changeUser(
	ctx context.Context, tx *docstore.Tx, at *target, entry audit.Entry, change func(*model.User) error,
) (docstore.Doc[model.User], error) {
	doc, err := s.again(ctx, tx, at)
	if err != nil {
		return doc, err
	}
	user := doc.Value
	if err := change(&user); err != nil {
		return doc, err
	}
	if doc, err = s.Users.Update(ctx, tx, doc.ID, doc.Rev, user); err != nil {
		return doc, err
	}
	entry.Targets = []model.LogParty{audit.User(doc)}
	if err := audit.Write(ctx, tx, s.Deps, entry); err != nil {
		return doc, err
	}
	return doc, s.Feed.Emit(ctx, tx, model.UserChanged{ID: doc.ID})
}
