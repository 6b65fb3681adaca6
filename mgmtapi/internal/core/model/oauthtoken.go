package model

import (
	"context"
	"slices"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
)

// TokenStatus is the status of a refresh token or of a consent.
type TokenStatus string

// The statuses. Expiry is not a status: it follows from the expiry time.
const (
	TokenActive  TokenStatus = "ACTIVE"
	TokenRevoked TokenStatus = "REVOKED"
	TokenExpired TokenStatus = "EXPIRED"
)

// RefreshToken is a refresh token. Only the hash of its secret is stored.
type RefreshToken struct {
	Hash     string      `json:"hash"`
	Server   string      `json:"server"` // id of the authorization server
	ClientID string      `json:"clientId"`
	AppID    string      `json:"appId"`
	UserID   string      `json:"userId"`
	Scopes   []string    `json:"scopes"`
	Status   TokenStatus `json:"status"`
	// Grant, Policy and Rule are the grant type, the policy and the rule by which the token was issued. They are evaluated again when the
	// token is used.
	Grant  string `json:"grant"`
	Policy string `json:"policy"`
	Rule   string `json:"rule"`
	// SignedIn is the time at which the user signed in.
	SignedIn time.Time `json:"signedIn"`
	// End is the time at which the token expires even if it is used. Zero means never.
	End time.Time `json:"end,omitzero"`
	// Window is the time after which the unused token expires.
	Window  time.Duration `json:"window"`
	Expires time.Time     `json:"expires"`
}

// Use extends the expiry of a token that is used.
func (t *RefreshToken) Use(now time.Time) {
	t.Expires = now.Add(t.Window)
	if !t.End.IsZero() && t.End.Before(t.Expires) {
		t.Expires = t.End
	}
}

// Usable reports whether the token is active and has not expired.
func (t *RefreshToken) Usable(now time.Time) bool {
	return t.Status == TokenActive && now.Before(t.Expires)
}

// The indexes of the refresh tokens.
const (
	RefreshTokenByHash    = "hash"      // index by SecretHash of the secret, unique
	RefreshTokenByServer  = "server"    // index by the authorization server
	RefreshTokenByClient  = "client_id" // index by the client
	RefreshTokenByApp     = "app_id"    // index by the application
	RefreshTokenByUser    = "user_id"   // index by the user
	RefreshTokenByExpires = "expires"   // index by the time of expiry
	RefreshTokenByStatus  = "status"    // index by the status
)

func refreshTokenCollection() docstore.Collection[RefreshToken] {
	return docstore.NewCollection("refresh_tokens",
		docstore.Index[RefreshToken]{Name: RefreshTokenByHash, Unique: true, Values: func(t *RefreshToken) []any { return []any{t.Hash} }},
		docstore.Index[RefreshToken]{Name: RefreshTokenByServer, Values: func(t *RefreshToken) []any { return []any{t.Server} }},
		docstore.Index[RefreshToken]{Name: RefreshTokenByClient, Values: func(t *RefreshToken) []any { return []any{t.ClientID} }},
		docstore.Index[RefreshToken]{Name: RefreshTokenByApp, Values: func(t *RefreshToken) []any { return []any{t.AppID} }},
		docstore.Index[RefreshToken]{Name: RefreshTokenByUser, Values: func(t *RefreshToken) []any { return []any{t.UserID} }},
		docstore.Index[RefreshToken]{Name: RefreshTokenByStatus, Values: func(t *RefreshToken) []any { return []any{string(t.Status)} }},
		docstore.Index[RefreshToken]{Name: RefreshTokenByExpires, Kind: docstore.Int, Values: func(t *RefreshToken) []any {
			return []any{t.Expires}
		}},
	)
}

// Consent is a user's consent that a client receives a scope.
type Consent struct {
	Server   string      `json:"server"` // id of the authorization server
	ClientID string      `json:"clientId"`
	AppID    string      `json:"appId"`
	UserID   string      `json:"userId"`
	ScopeID  string      `json:"scopeId"`
	Scope    string      `json:"scope"` // the name of the scope
	Status   TokenStatus `json:"status"`
	Source   string      `json:"source"` // END_USER or ADMIN
}

// SourceEndUser is the source of a consent that the user gave.
const SourceEndUser = "END_USER"

// The indexes of the consents.
const (
	ConsentByServer = "server"    // index by the authorization server
	ConsentByApp    = "app_id"    // index by the application
	ConsentByUser   = "user_id"   // index by the user
	ConsentByClient = "client_id" // index by the client
	ConsentByStatus = "status"    // index by the status
)

func consentCollection() docstore.Collection[Consent] {
	return docstore.NewCollection("consents",
		docstore.Index[Consent]{Name: ConsentByServer, Values: func(c *Consent) []any { return []any{c.Server} }},
		docstore.Index[Consent]{Name: ConsentByApp, Values: func(c *Consent) []any { return []any{c.AppID} }},
		docstore.Index[Consent]{Name: ConsentByUser, Values: func(c *Consent) []any { return []any{c.UserID} }},
		docstore.Index[Consent]{Name: ConsentByClient, Values: func(c *Consent) []any { return []any{c.ClientID} }},
		docstore.Index[Consent]{Name: ConsentByStatus, Values: func(c *Consent) []any { return []any{string(c.Status)} }},
	)
}

// UsedToken marks an object that must not be used again: a revoked access token, or an assertion that was received. Its document id is
// RevokedID or AssertionID. It is deleted when the object has expired. With the id ExtendedID, it has the time at which an access token
// expires whose lifetime was extended.
type UsedToken struct {
	Expires time.Time `json:"expires"`
}

// RevokedID returns the id of the UsedToken of a revoked access token.
func RevokedID(jti string) string { return docstore.JoinID("token", SecretHash(jti)) }

// ExtendedID returns the id of the UsedToken of an access token whose lifetime was extended.
func ExtendedID(jti string) string { return docstore.JoinID("extended", SecretHash(jti)) }

// AssertionID returns the id of the UsedToken of a client's assertion.
func AssertionID(client, jti string) string {
	return docstore.JoinID("assertion", client, SecretHash(jti))
}

// SpentByExpires is the index of the UsedTokens by the time at which they are deleted.
const SpentByExpires = "expires"

func spentCollection() docstore.Collection[UsedToken] {
	return docstore.NewCollection("spent",
		docstore.Index[UsedToken]{Name: SpentByExpires, Kind: docstore.Int, Values: func(s *UsedToken) []any { return []any{s.Expires} }},
	)
}

// Spend marks an object as used and reports whether it was unused before. It also deletes the expired UsedTokens.
func (d Deps) Spend(ctx context.Context, tx *docstore.Tx, id string, expires time.Time) (bool, error) {
	if _, err := d.UsedTokens.DeleteWhere(ctx, tx, docstore.Lt(SpentByExpires, d.Now())); err != nil {
		return false, err
	}
	known, err := Optional(ctx, tx, d.UsedTokens, id)
	if err != nil || known != nil {
		return false, err
	}
	_, err = d.UsedTokens.Insert(ctx, tx, id, UsedToken{Expires: expires})
	return true, err
}

// RevokeTokens revokes the active refresh tokens that match the condition, and returns them.
func (d Deps) RevokeTokens(ctx context.Context, tx *docstore.Tx, where docstore.Cond,
	match func(*RefreshToken) bool) ([]docstore.Doc[RefreshToken], error) {
	var revoked []docstore.Doc[RefreshToken]
	err := Each(ctx, tx, d.RefreshTokens, docstore.All(where, docstore.Eq(RefreshTokenByStatus, string(TokenActive))),
		func(doc docstore.Doc[RefreshToken]) error {
			if match != nil && !match(&doc.Value) {
				return nil
			}
			doc.Value.Status = TokenRevoked
			doc, err := d.RefreshTokens.Update(ctx, tx, doc.ID, doc.Rev, doc.Value)
			revoked = append(revoked, doc)
			return err
		})
	return revoked, err
}

// RevokeConsents revokes the consents that match the condition, with the refresh tokens that have their scopes, and returns both.
func (d Deps) RevokeConsents(ctx context.Context, tx *docstore.Tx, where docstore.Cond) (consents []docstore.Doc[Consent],
	tokens []docstore.Doc[RefreshToken], err error) {
	err = Each(ctx, tx, d.Consents, docstore.All(where, docstore.Eq(ConsentByStatus, string(TokenActive))),
		func(doc docstore.Doc[Consent]) error {
			c := doc.Value
			c.Status = TokenRevoked
			doc, err := d.Consents.Update(ctx, tx, doc.ID, doc.Rev, c)
			if err != nil {
				return err
			}
			consents = append(consents, doc)
			revoked, err := d.RevokeTokens(ctx, tx, docstore.Eq(RefreshTokenByUser, c.UserID), func(t *RefreshToken) bool {
				return t.Server == c.Server && t.ClientID == c.ClientID && slices.Contains(t.Scopes, c.Scope)
			})
			tokens = append(tokens, revoked...)
			return err
		})
	return consents, tokens, err
}
