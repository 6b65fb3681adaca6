package authn

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/password"
)

type recoveryRequest struct {
	Body struct {
		RecoveryToken string `json:"recoveryToken" required:"true" writeOnly:"true" doc:"One-time token of a password reset."`
		RelayState    string `json:"relayState" max:"2048" doc:"Returned unchanged in every response."`
	} `body:"required"`
}

type answerRequest struct {
	Body struct {
		StateToken string `json:"stateToken" required:"true" writeOnly:"true" doc:"Token of the recovery."`
		Answer     string `json:"answer" required:"true" writeOnly:"true" doc:"The answer. Case-insensitive."`
	} `body:"required"`
}

type cancelRequest struct {
	Body struct {
		StateToken string `json:"stateToken" required:"true" writeOnly:"true" doc:"Token of the sign-in."`
	} `body:"required"`
}

// Cancelled is the response to the cancellation of a sign-in.
type Cancelled struct {
	RelayState string `json:"relayState,omitempty" doc:"Value that the caller sent."`
}

// byToken returns the user with a pending one-time token.
func (s *Slice) byToken(ctx context.Context, hash string) (docstore.Doc[model.User], error) {
	page, err := s.Users.Query(ctx, s.Store.Reader(), docstore.Query[model.User]{Where: docstore.Eq(model.UserByToken, hash), Limit: 1})
	if err != nil {
		return docstore.Doc[model.User]{}, err
	}
	if len(page.Docs) == 0 {
		return docstore.Doc[model.User]{}, rest.Fail(rest.CodeToken)
	}
	return page.Docs[0], nil
}

// matchesActivation reports whether the hash is that of the pending activation token of the user.
func matchesActivation(u *model.User, hash string) bool {
	return u.Activation != nil && u.Activation.Hash == hash && u.Status == model.UserProvisioned
}

// matchesReset reports whether the hash is that of the pending reset token of the user.
func matchesReset(u *model.User, hash string) bool {
	if u.Reset == nil || u.Reset.Hash != hash {
		return false
	}
	return u.Reset.Ask && u.Status == model.UserActive || !u.Reset.Ask && u.Status == model.UserRecovery
}

// activate starts a sign-in with an activation token. The next step sets the password.
func (s *Slice) activate(ctx context.Context, token, relay string) (Transaction, error) {
	hash := model.SecretHash(token)
	user, err := s.byToken(ctx, hash)
	if err != nil {
		return Transaction{}, err
	}
	if !matchesActivation(&user.Value, hash) || !s.Now().Before(user.Value.Activation.Expires) {
		return Transaction{}, rest.Fail(rest.CodeToken)
	}
	return s.begin(ctx, user, model.SignIn{Status: model.SignInPasswordReset, RelayState: relay, Token: hash})
}

func (s *Slice) beginRecovery(ctx context.Context, r *recoveryRequest) (Transaction, error) {
	hash := model.SecretHash(r.Body.RecoveryToken)
	user, err := s.byToken(ctx, hash)
	if err != nil {
		return Transaction{}, err
	}
	if !matchesReset(&user.Value, hash) {
		return Transaction{}, rest.Fail(rest.CodeToken)
	}
	if !s.Now().Before(user.Value.Reset.Expires) {
		return Transaction{}, rest.Fail(rest.CodeExpiredLink)
	}
	in := model.SignIn{Status: model.SignInPasswordReset, RelayState: r.Body.RelayState, Token: hash}
	if user.Value.Reset.Ask && user.Value.Recovery != nil {
		in.Status = model.SignInRecovery
	}
	return s.begin(ctx, user, in)
}

// begin stores a sign-in that starts with a one-time token. The token stays valid until the password is set, so that a user who closes the
// page can start again.
func (s *Slice) begin(ctx context.Context, user docstore.Doc[model.User], in model.SignIn) (out Transaction, err error) {
	in.UserID = user.ID
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		token, in, err := s.store(ctx, tx, in)
		out = show(ctx, token, in, user)
		return err
	})
	return out, err
}

func (s *Slice) answer(ctx context.Context, r *answerRequest) (Transaction, error) {
	_, known, err := s.pending(ctx, s.Store.Reader(), r.Body.StateToken, model.SignInRecovery)
	if err != nil {
		return Transaction{}, err
	}
	recovery := known.Value.Recovery
	if known.Value.Status != model.UserActive || recovery == nil {
		return Transaction{}, rest.Fail(rest.CodeToken)
	}
	if !password.Matches(recovery.AnswerHash, password.NormalizeAnswer(r.Body.Answer)) {
		return Transaction{}, s.rejectWrong(ctx, known.ID, "The recovery answer is wrong", rest.Fail(rest.CodeAnswer))
	}
	var out Transaction
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		in, user, err := s.pending(ctx, tx, r.Body.StateToken, model.SignInRecovery)
		if err != nil {
			return err
		}
		if !matchesReset(&user.Value, in.Value.Token) || user.Value.Recovery == nil || user.Value.Recovery.AnswerHash != recovery.AnswerHash {
			return rest.Fail(rest.CodeToken) // the user changed after the comparison of the answer
		}
		in.Value.Status = model.SignInPasswordReset
		if _, err := s.SignIns.Update(ctx, tx, in.ID, in.Rev, in.Value); err != nil {
			return err
		}
		out = show(ctx, r.Body.StateToken, in.Value, user)
		return nil
	})
	return out, err
}

func (s *Slice) cancel(ctx context.Context, r *cancelRequest) (out Cancelled, err error) {
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		in, _, err := s.pending(ctx, tx, r.Body.StateToken)
		if err != nil {
			return err
		}
		out.RelayState = in.Value.RelayState
		return s.SignIns.Delete(ctx, tx, in.ID)
	})
	return out, err
}
