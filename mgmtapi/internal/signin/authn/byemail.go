package authn

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Reasons of failed sign-ins without a password, for the log.
const (
	hasPassword = "The user has a password" //nolint:gosec // a text
	noEmail     = "The user has no email factor"
)

// errNoEmail reports that the user has no email factor to sign in with.
var errNoEmail = errors.New(noEmail)

// signInByEmail starts the sign-in of a user who needs no password and has none: it sends a code to the primary address. If the user does
// not exist or cannot sign in this way, the response is the same as for a wrong password.
func (s *Slice) signInByEmail(ctx context.Context, username, relay string) (out Transaction, err error) {
	known, err := s.FindUser(ctx, s.Store.Reader(), username)
	if errors.Is(err, docstore.ErrNotFound) {
		if s.refusals.AllowN(s.Now(), 1) {
			err = s.logRejection(ctx, nil, unknownUser)
		} else {
			err = nil
		}
		if err == nil {
			err = rest.Fail(rest.CodeSignIn)
		}
		return out, err
	}
	if err != nil {
		return out, err
	}
	if why := withoutPassword(&known.Value); why != "" {
		return out, s.refuseByEmail(ctx, known, why)
	}
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		doc, err := s.Users.Get(ctx, tx, known.ID)
		if errors.Is(err, docstore.ErrNotFound) || err == nil && withoutPassword(&doc.Value) != "" {
			return rest.Fail(rest.CodeSignIn) // changed concurrently
		}
		if err != nil {
			return err
		}
		if err := s.factors.EnsureEmail(ctx, tx, doc); err != nil {
			return err
		}
		in := model.SignIn{UserID: doc.ID, Status: model.SignInFactorRequired, RelayState: relay, PasswordChanged: doc.Value.PasswordChanged}
		token, in, err := s.store(ctx, tx, in)
		if err != nil {
			return err
		}
		if out, err = s.offer(ctx, tx, token, in, doc); err == nil && len(out.Embedded.Factors) == 0 {
			err = errNoEmail
		}
		return err
	})
	if errors.Is(err, errNoEmail) {
		err = s.refuseByEmail(ctx, known, noEmail)
	}
	return out, err
}

// withoutPassword returns why a user cannot sign in without a password, empty if the user can.
func withoutPassword(u *model.User) string {
	switch {
	case u.HasPassword():
		return hasPassword
	case u.Status != model.UserActive || u.Provider != model.ProviderService:
		return wrongStatus
	}
	return ""
}

func (s *Slice) refuseByEmail(ctx context.Context, user docstore.Doc[model.User], why string) error {
	if err := s.logRejection(ctx, &user, why); err != nil {
		return err
	}
	return rest.Fail(rest.CodeSignIn)
}
