package users

import (
	"context"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/access/callers"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// resetToken is the length of the token of a reset, in characters.
const resetToken = 20

type resetRequest struct {
	target
	SendEmail bool   `query:"sendEmail" default:"true" doc:"Emails the user the address for a new password; if false, returns it."`
	Revoke    bool   `query:"revokeSessions" default:"false" doc:"Ends all sessions of the user."`
	Provider  string `query:"provider" enum:"FEDERATION" doc:"Federates the user: deletes password and recovery question, and sets ACTIVE."`
}

// PasswordReset is the answer to a reset: an empty object, or where the password is chosen.
type PasswordReset struct {
	URL string `json:"resetPasswordUrl,omitempty" doc:"Where the user chooses a new password. The one-time token is valid for 1h."`
}

func (s *Slice) resetPassword() rest.Route {
	return rest.Op[resetRequest, PasswordReset]{
		ID: "resetPassword", Route: resetPassword.route(), Tag: tag, Scopes: writeScope, Summary: resetPassword.summary,
		Description: "The password is kept until a new one is chosen, but nobody can sign in with it.",
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
	if r.found.Value.Provider.External() || enroll == model.PasswordNotAllowed { // there is no password here
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

// issueReset makes a token for a new password, and its address, which is the base, the path and the token.
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

// federate leaves the check of the password to somebody else.
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
				doc, err := s.settled(ctx, tx, &r.target)
				if err != nil || doc.Value.Status == model.UserActive { // nothing locks an ACTIVE user out
					return err
				}
				_, err = s.enter(ctx, tx, &r.target, unlock, func(_ model.UserStatus, u *model.User) { u.Attempts++ })
				return err
			})
		},
	}
}

// Block is what keeps a user from signing in.
type Block struct {
	Type      string `json:"type" readOnly:"true" enum:"DEVICE_BASED" doc:"Type of the block."`
	AppliesTo string `json:"appliesTo" readOnly:"true" enum:"ANY_DEVICES" doc:"Devices that are blocked."`
}

// blocksOf lists what keeps a user from signing in.
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
		Summary: "Lists what blocks a user from signing in",
		Find:    callers.FoundUser(s.Deps, (*blocksRequest).at),
		Do: func(_ context.Context, r *blocksRequest) ([]Block, error) {
			return blocksOf(&r.found.Value), nil
		},
	}
}
