package callers

import (
	"context"
	"errors"
	"regexp"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// TokenWindow is the lifetime of an API token after its last use.
const TokenWindow = 30 * 24 * time.Hour

// The secret of an API token is secretPrefix followed by secretLength URL-safe characters.
const (
	secretPrefix = "00"
	secretLength = 40
)

// The length is compared separately: a counted repetition would multiply the size of the compiled expression.
var secretPattern = regexp.MustCompile(`^[!-~]+$`)

// ErrBadSecret is the error for an invalid string as the secret of an API token.
var ErrBadSecret = errors.New("an API token must be 1 to 255 visible ASCII characters")

// NewSecret generates the secret of an API token.
func NewSecret() string { return secretPrefix + model.NewSecret(secretLength) }

// CheckSecret returns ErrBadSecret if the secret cannot be sent in a header. Configured secrets need not have the form of those from
// NewSecret.
func CheckSecret(secret string) error {
	if len(secret) > 255 || !secretPattern.MatchString(secret) {
		return ErrBadSecret
	}
	return nil
}

// Token describes an API token to be stored.
type Token struct {
	Name   string
	UserID string
	Client string // purpose of the token
	Secret string
}

// ExtendToken sets the expiry of a token to TokenWindow after the time `from`. It does nothing if the token was deleted.
func ExtendToken(ctx context.Context, tx *docstore.Tx, d model.Deps, id string, from time.Time) error {
	token, err := model.Optional(ctx, tx, d.APITokens, id)
	if err != nil || token == nil {
		return err
	}
	token.Value.Expires = from.Add(TokenWindow)
	_, err = d.APITokens.Update(ctx, tx, id, token.Rev, token.Value)
	return err
}

// FindToken returns the API token that has the secret, or nil if no token has it.
func FindToken(ctx context.Context, q docstore.Reader, d model.Deps, secret string) (*docstore.Doc[model.APIToken], error) {
	page, err := d.APITokens.Query(ctx, q, docstore.Query[model.APIToken]{
		Where: docstore.Eq(model.APITokenByHash, model.SecretHash(secret)), Limit: 1,
	})
	if err != nil || len(page.Docs) == 0 {
		return nil, err
	}
	return &page.Docs[0], nil
}

// StoreToken stores a token under the hash of its secret. If another token has the secret, StoreToken returns a *docstore.UniqueError.
func StoreToken(ctx context.Context, tx *docstore.Tx, d model.Deps, t Token) (docstore.Doc[model.APIToken], error) {
	return d.APITokens.Insert(ctx, tx, model.NewID(model.KindAPIToken), model.APIToken{
		Name: t.Name, UserID: t.UserID, Client: t.Client, Hash: model.SecretHash(t.Secret), Expires: d.Now().Add(TokenWindow),
	})
}
