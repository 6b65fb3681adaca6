package factors

import (
	"context"
	"errors"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/rest"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/yubikey"
)

// hardware returns the kind of factor for hardware tokens of the organization that type one-time passwords. Package
// mgmtapi/internal/signin/hardwaretokens serves the tokens. An enrollment assigns a token to the user until the factor is removed.
func hardware() *kind {
	return &kind{
		Type: model.FactorHardware, Provider: model.FactorProviderE, Prefix: "ykf", Org: "hardware_token",
		ActiveAtEnrollment: true, RequiredMember: "passCode", Enroll: enrollHardware, Verify: verifyHardware, Removed: releaseHardware,
	}
}

var errAssigned = &wrong{code: rest.CodeFactorWrong, why: "The token belongs to another user"}

func enrollHardware(ctx context.Context, a *act) error {
	token, err := a.verifyToken(ctx, "verify.passCode")
	if err != nil {
		return err
	}
	h := &token.Value
	// Even if the token belongs to another user, its counter is stored: the password was valid and must not be accepted again.
	taken := h.User != ""
	if !taken {
		h.Assign(a.user.ID, a.user.Value.Text("email"), a.id, a.now)
		h.LastVerified = a.now
		a.factor.Profile = map[string]string{"credentialId": h.Serial}
	}
	if _, err := a.HardwareTokens.Update(ctx, a.tx, token.ID, token.Rev, token.Value); err != nil {
		return err
	}
	if taken {
		return errAssigned
	}
	return nil
}

func verifyHardware(ctx context.Context, a *act) error {
	token, err := a.verifyToken(ctx, "passCode")
	own := token.Value.Factor == a.id
	switch {
	case errors.Is(err, errReplayed) && !own: // the error "already used" would reveal that the token exists
		return errWrong
	case err != nil:
		return err
	case own:
		token.Value.LastVerified = a.now
	}
	// Also store the counter of a token of another user: the password was valid and must not be accepted again.
	_, err = a.HardwareTokens.Update(ctx, a.tx, token.ID, token.Rev, token.Value)
	if err == nil && !own {
		err = errWrong
	}
	return err
}

// verifyToken returns the token that generated the password, with its counter updated.
func (a *act) verifyToken(ctx context.Context, member string) (token docstore.Doc[model.HardwareToken], err error) {
	if a.proof.PassCode == "" {
		var causes rest.Causes
		causes.Blank(member)
		return token, causes.Err()
	}
	publicID, block, err := yubikey.Split(a.proof.PassCode)
	if err != nil {
		return token, errWrong
	}
	page, err := a.HardwareTokens.Query(ctx, a.tx,
		docstore.Query[model.HardwareToken]{Where: docstore.Eq(model.HardwareTokenByPublicID, publicID), Limit: 1})
	if err != nil {
		return token, err
	}
	if len(page.Docs) == 0 {
		return token, errWrong
	}
	token = page.Docs[0]
	known, err := token.Value.Token(a.secrets, token.ID)
	if err != nil {
		return token, err
	}
	token.Value.Last, err = known.Check(block)
	switch {
	case errors.Is(err, yubikey.ErrReplayed):
		return token, errReplayed
	case errors.Is(err, yubikey.ErrWrong):
		return token, errWrong
	}
	return token, err
}

// releaseHardware unassigns the token from the user.
func releaseHardware(ctx context.Context, a *act) error {
	return model.Each(ctx, a.tx, a.HardwareTokens, docstore.Eq(model.HardwareTokenByFactor, a.id),
		func(doc docstore.Doc[model.HardwareToken]) error {
			doc.Value.Return()
			_, err := a.HardwareTokens.Update(ctx, a.tx, doc.ID, doc.Rev, doc.Value)
			return err
		})
}
