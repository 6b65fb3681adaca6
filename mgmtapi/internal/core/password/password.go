package password

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/text/cases"
)

// Hasher hashes secrets that users choose: bcrypt over the SHA-256 of the string, because bcrypt alone ignores all bytes after the 72nd.
type Hasher struct {
	// Cost is the bcrypt cost. Default: bcrypt.DefaultCost.
	Cost int
}

// Hash returns the hash of a secret. It is slow by design.
func (h Hasher) Hash(text string) (string, error) {
	if h.Cost == 0 {
		h.Cost = bcrypt.DefaultCost
	}
	hash, err := bcrypt.GenerateFromPassword(digest(text), h.Cost)
	if err != nil {
		return "", fmt.Errorf("hashing a secret: %w", err)
	}
	return string(hash), nil
}

// Matches reports whether a hash is the hash of the string. No string matches the empty hash.
func Matches(hash, text string) bool {
	return hash != "" && bcrypt.CompareHashAndPassword([]byte(hash), digest(text)) == nil
}

// digest returns the SHA-256 in base64: 43 bytes without NUL, at which bcrypt would stop.
func digest(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return base64.RawStdEncoding.AppendEncode(nil, sum[:])
}

// NormalizeAnswer returns the form of a recovery answer for comparisons: it ignores case and surrounding whitespace.
func NormalizeAnswer(answer string) string { return cases.Fold().String(strings.TrimSpace(answer)) }
