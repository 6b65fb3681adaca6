package users

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// resetToken is the length of a reset token, in characters.
const resetToken = 20

type resetRequest struct {
	target
	SendEmail bool   `query:"sendEmail" default:"true" doc:"Emails the user the URL for a new password; if false, returns it."`
	Revoke    bool   `query:"revokeSessions" default:"false" doc:"Ends all sessions of the user."`
	Provider  string `query:"provider" enum:"FEDERATION" doc:"Federates the user: deletes password and recovery question, and sets ACTIVE."`
}

// PasswordReset is the response to a reset: an empty object, or the URL at which the user chooses a password.
type PasswordReset struct {
	URL string `json:"resetPasswordUrl,omitempty" doc:"URL at which the user chooses a new password. The one-time token is valid for 1h."`
}

func (s *Slice) resetPassword() rest.Route {
	return rest.Op[resetRequest, PasswordReset]{
		ID: "resetPassword", Route: resetPassword.route(), Tag: tag, Scopes: writeScope, Summary: resetPassword.summary,
		Description: "The old password stays stored until the user chooses a new one, but cannot be used to sign in.",
		Find:        callers.FoundUser(s.Deps, (*resetRequest).at),
		Do:          s.reset,
	}
}

func (s *Slice) reset(ctx context.Context, r *resetRequest) (PasswordReset, error) {
	if r.Provider != "" {
		return PasswordReset{}, s.Update(ctx, func(tx *docstore.Tx) error { return s.federate(ctx, tx, r) })
	}
	enroll, err := s.PasswordEnrollment(ctx, s.Store.Reader())
	if err != nil {
		return PasswordReset{}, err
	}
	if r.found.Value.Provider.External() || enroll == model.PasswordNotAllowed { // this service stores no password for the user
		return PasswordReset{}, rest.Fail(rest.CodeStatus)
	}
	url, token, issued, err := s.issueReset(ctx, false, "reset_password")
	if err != nil {
		return PasswordReset{}, err
	}
	err = s.Update(ctx, func(tx *docstore.Tx) error {
		if err := s.keepAdministrator(ctx, tx, r.found.ID); err != nil {
			return err
		}
		doc, err := s.enter(ctx, tx, &r.target, resetPassword, func(_ model.UserStatus, u *model.User) {
			u.Activation, u.Reset = nil, issued
		})
		if err == nil && r.SendEmail {
			err = s.mailReset(ctx, tx, doc, resetMessage, url, token)
		}
		if err != nil || !r.Revoke {
			return err
		}
		return s.endSessions(ctx, tx, doc)
	})
	if err != nil || r.SendEmail {
		return PasswordReset{}, err
	}
	return PasswordReset{URL: url}, nil
}

// issueReset creates a token for a new password, and its URL, which consists of the base, the path and the token.
func (s *Slice) issueReset(ctx context.Context, ask bool, path ...string) (url, token string, issued *model.ResetToken, err error) {
	policy, err := s.PasswordPolicy(ctx, s.Store.Reader())
	if err != nil {
		return "", "", nil, err
	}
	token = model.NewSecret(resetToken)
	return rest.URL(ctx, append(path, token)...), token, &model.ResetToken{
		OneTimeToken: model.OneTimeToken{Hash: model.SecretHash(token), Expires: s.Now().Add(policy.TokenLife)}, Ask: ask,
	}, nil
}

// federate changes the provider of a user to FEDERATION, which verifies the password from then on.
func (s *Slice) federate(ctx context.Context, tx *docstore.Tx, r *resetRequest) error {
	federation := resetPassword
	federation.to = always(model.UserActive)
	doc, err := s.enter(ctx, tx, &r.target, federation, func(_ model.UserStatus, u *model.User) {
		u.Provider = model.ProviderFederation
		u.PasswordHash, u.Imported, u.PasswordHistory, u.Recovery, u.Activation, u.Reset = "", nil, nil, nil, nil, nil
	})
	if err != nil || !r.Revoke {
		return err
	}
	return s.endSessions(ctx, tx, doc)
}

type unlockRequest struct{ target }

func (s *Slice) unlock() rest.Route {
	return rest.Op[unlockRequest, rest.Empty]{
		ID: "unlockUser", Route: unlock.route(), Tag: tag, Scopes: writeScope, Summary: unlock.summary,
		Find: callers.FoundUser(s.Deps, (*unlockRequest).at),
		Do: func(ctx context.Context, r *unlockRequest) (rest.Empty, error) {
			return rest.Empty{}, s.Update(ctx, func(tx *docstore.Tx) error {
				doc, err := s.rereadIdle(ctx, tx, &r.target)
				if err != nil || doc.Value.Status == model.UserActive { // an ACTIVE user is not locked out, so there is nothing to unlock
					return err
				}
				_, err = s.enter(ctx, tx, &r.target, unlock, func(_ model.UserStatus, u *model.User) { u.Attempts++ })
				return err
			})
		},
	}
}

// Block is a reason why a user cannot sign in.
type Block struct {
	Type      string `json:"type" readOnly:"true" enum:"DEVICE_BASED" doc:"Type of the block."`
	AppliesTo string `json:"appliesTo" readOnly:"true" enum:"ANY_DEVICES" doc:"Devices that are blocked."`
}

// blocksOf returns the reasons why a user cannot sign in.
func blocksOf(u *model.User) []Block {
	if u.Status == model.UserLockedOut {
		return []Block{{Type: "DEVICE_BASED", AppliesTo: "ANY_DEVICES"}}
	}
	return []Block{}
}

type blocksRequest struct{ target }

func (s *Slice) blocks() rest.Route {
	return rest.Op[blocksRequest, []Block]{
		ID: "listUserBlocks", Route: "GET /api/v1/users/{user}/blocks", Tag: tag, Scopes: readScope,
		Summary: "Lists the reasons why a user cannot sign in",
		Find:    callers.FoundUser(s.Deps, (*blocksRequest).at),
		Do: func(_ context.Context, r *blocksRequest) ([]Block, error) {
			return blocksOf(&r.found.Value), nil
		},
	}
}
