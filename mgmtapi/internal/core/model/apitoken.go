package model

import (
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
)

// APIToken is a token for the management API. Only the hash of its secret is stored.
type APIToken struct {
	Name   string `json:"name"`
	UserID string `json:"userId"`
	// Client describes what the token was created for.
	Client  string    `json:"client"`
	Hash    string    `json:"hash"`
	Expires time.Time `json:"expires"`
}

// The indexes of the API tokens.
const (
	APITokenByHash = "hash"    // index by SecretHash of the secret, unique
	APITokenByUser = "user_id" // index by the owner
)

// SecretHash returns the stored form of a random secret: its SHA-256. Secrets that users choose need a slow hash, see package password.
func SecretHash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func apiTokenCollection() docstore.Collection[APIToken] {
	return docstore.NewCollection("api_tokens",
		docstore.Index[APIToken]{Name: APITokenByHash, Unique: true, Values: func(t *APIToken) []any { return []any{t.Hash} }},
		docstore.Index[APIToken]{Name: APITokenByUser, Values: func(t *APIToken) []any { return []any{t.UserID} }},
	)
}
