package authn

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/audit"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
)

type resetRequest struct {
	Body struct {
		StateToken  string `json:"stateToken" required:"true" writeOnly:"true" doc:"Token of the sign-in."`
		NewPassword string `json:"newPassword" required:"true" writeOnly:"true" max:"72" doc:"The new password."`
	} `body:"required"`
}

type changeRequest struct {
	Body struct {
		StateToken  string `json:"stateToken" required:"true" writeOnly:"true" doc:"Token of the sign-in."`
		OldPassword string `json:"oldPassword" required:"true" writeOnly:"true" max:"72" doc:"The expired password."`
		NewPassword string `json:"newPassword" required:"true" writeOnly:"true" max:"72" doc:"The new password."`
	} `body:"required"`
}

func (s *Slice) reset(ctx context.Context, r *resetRequest) (Transaction, error) {
	_, known, err := s.pending(ctx, s.Store.Reader(), r.Body.StateToken, model.SignInPasswordReset)
	if err != nil {
		return Transaction{}, err
	}
	return s.choose(ctx, r.Body.StateToken, model.SignInPasswordReset, rest.CodeResetPolicy, known, r.Body.NewPassword)
}

func (s *Slice) change(ctx context.Context, r *changeRequest) (Transaction, error) {
	_, known, err := s.pending(ctx, s.Store.Reader(), r.Body.StateToken, model.SignInPasswordExpired)
	if err != nil {
		return Transaction{}, err
	}
	right, answered := password.VerifyOrAsk(ctx, s.hook, known, r.Body.OldPassword)
	if !answered {
		if err := s.logRejection(ctx, &known, unverified); err != nil {
			return Transaction{}, err
		}
		return Transaction{}, rest.Fail(rest.CodeCredentials, "password: The old password could not be verified")
	}
	if !right {
		return Transaction{}, s.rejectWrong(ctx, known.ID, wrongPassword,
			rest.Fail(rest.CodeCredentials, "password: The old password is not correct"))
	}
	return s.choose(ctx, r.Body.StateToken, model.SignInPasswordExpired, rest.CodeCredentials, known, r.Body.NewPassword)
}

// choose sets the new password, which completes the sign-in. The password history applies, because users choose the password themselves.
func (s *Slice) choose(
	ctx context.Context, token string, from model.SignInStatus, refusal rest.Code, known docstore.Doc[model.User], value string,
) (out Transaction, err error) {
	policy, err := s.PasswordPolicy(ctx, s.Store.Reader())
	if err != nil {
		return Transaction{}, err
	}
	broken := append(password.BrokenRules(&policy, value, known.Value.Profile), password.Reused(&policy, &known.Value, value)...)
	if len(broken) > 0 {
		return Transaction{}, rest.Fail(refusal, "password: "+password.DescribeBroken(broken))
	}
	hash, err := s.hasher.Hash(value)
	if err != nil {
		return Transaction{}, err
	}
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		in, doc, err := s.pending(ctx, tx, token, from)
		if err != nil {
			return err
		}
		user := doc.Value
		if !awaitsPassword(&user, in.Value) || !user.SamePassword(&known.Value) {
			return rest.Fail(rest.CodeToken) // the password or the status of the user has changed since the sign-in started
		}
		if err := s.SignIns.Delete(ctx, tx, in.ID); err != nil {
			return err
		}
		password.Set(&policy, &user, hash, s.Now())
		user.Enter(model.UserActive, s.Now())
		next := model.SignIn{RelayState: in.Value.RelayState, Methods: []string{byPassword}, PasswordVerified: s.Now()}
		if out, err = s.complete(ctx, tx, doc, user, next, audit.UserUpdatePassword); err != nil {
			return err
		}
		return s.Feed.Emit(ctx, tx, model.PasswordKnown{User: doc.ID, Set: true, Plain: value})
	})
	return out, s.orDenied(ctx, known, err)
}

// awaitsPassword reports whether the sign-in may still set a password: the password of the user has expired, or the user still has the
// pending token that the sign-in started with.
func awaitsPassword(u *model.User, in model.SignIn) bool {
	if in.Token == "" {
		return u.Status == model.UserPasswordExpired
	}
	return matchesActivation(u, in.Token) || matchesReset(u, in.Token)
}
