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

// PasswordValue is a password in a request.
type PasswordValue struct {
	Value string `json:"value" required:"true" writeOnly:"true" max:"72" doc:"The password."`
}

type changePasswordRequest struct {
	target
	Strict bool `query:"strict" default:"false" doc:"Whether to check the password history and the minimum age as well."`
	Body   struct {
		OldPassword PasswordValue `json:"oldPassword" required:"true" doc:"The current password."`
		NewPassword PasswordValue `json:"newPassword" required:"true" doc:"The new password."`
		Revoke      bool          `json:"revokeSessions" doc:"Ends all sessions of the user."`
	} `body:"required"`
}

type changeQuestionRequest struct {
	target
	Body struct {
		Password         PasswordValue `json:"password" required:"true" doc:"The current password."`
		RecoveryQuestion RecoveryInput `json:"recovery_question" required:"true" doc:"The new question with its answer."`
	} `body:"required"`

	policy model.PasswordSettings
}

// checkChangeQuestion validates the recovery question.
func checkChangeQuestion(_ context.Context, r *changeQuestionRequest, causes *rest.Causes) error {
	r.Body.RecoveryQuestion.check("recovery_question", &r.policy, causes)
	return nil
}

// credentials lists the operations of users on their own credentials, which a client performs for them.
func (s *Slice) credentials() []rest.Route {
	const path = "POST /api/v1/users/{user}/credentials/"
	return []rest.Route{
		rest.Op[changePasswordRequest, Credentials]{
			ID: "changePassword", Route: path + "change_password", Tag: tag, Scopes: writeScope,
			Summary: "Changes a password; requires the old one",
			Find:    callers.FoundUser(s.Deps, (*changePasswordRequest).at),
			Do:      s.changePassword,
		},
		rest.Op[changeQuestionRequest, Credentials]{
			ID: "changeRecoveryQuestion", Route: path + "change_recovery_question", Tag: tag, Scopes: writeScope,
			Summary: "Changes the recovery question; requires the password",
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
			Summary:     "Starts or completes the recovery of a forgotten password",
			Description: "Without a body, emails the URL that continues the recovery to the user; with sendEmail=false, returns it.",
			Find:        callers.FoundUser(s.Deps, (*forgotRequest).at),
			Check:       checkForgot, Do: s.forgot,
		},
		rest.Op[forgotQuestionRequest, Credentials]{
			ID: "forgotPasswordSetNewPassword", Route: path + "forgot_password_recovery_question", Tag: tag, Scopes: writeScope,
			Summary: "Sets a forgotten password; requires the answer to the recovery question",
			Find:    callers.FoundUser(s.Deps, (*forgotQuestionRequest).at),
			Do: func(ctx context.Context, r *forgotQuestionRequest) (Credentials, error) {
				return s.recoverPassword(ctx, &r.target, r.Body)
			},
		},
	}
}

// The statuses in which users may change their credentials.
var (
	passwordStatuses = []model.UserStatus{model.UserStaged, model.UserActive, model.UserPasswordExpired, model.UserRecovery}
	questionStatuses = []model.UserStatus{model.UserStaged, model.UserActive, model.UserRecovery}
)

// mayChange returns an error with the code refusal for a user who has no password, or whose status is not in allowed.
func mayChange(u *model.User, allowed []model.UserStatus, refusal rest.Code) error {
	if !u.HasPassword() || !slices.Contains(allowed, u.Status) {
		return rest.Fail(refusal)
	}
	return nil
}

// The causes of rejected changes.
const (
	wrongPassword   = "password: The old password is not correct"
	changedMeantime = "password: The password was changed concurrently"
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
		broken = append(broken, s.historyProblems(&policy, &known, value)...)
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

// changeCredentials runs change on a user in its own transaction. password is the plaintext of the new password, or "" if change does not
// set a password. With revoke, changeCredentials ends the sessions of the user.
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

// changeUser changes a user, logs it and emits the event.
func (s *Slice) changeUser(
	ctx context.Context, tx *docstore.Tx, at *target, entry audit.Entry, change func(*model.User) error,
) (docstore.Doc[model.User], error) {
	doc, err := s.reread(ctx, tx, at)
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
