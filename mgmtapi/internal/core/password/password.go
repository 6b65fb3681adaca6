package password

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/text/cases"
)

// Hasher hashes what people choose as secrets: bcrypt over the SHA-256 of the text, because bcrypt alone reads no more than 72
// bytes.
type Hasher struct {
	// Cost is the bcrypt cost. Defaults to bcrypt.DefaultCost.
	Cost int
}

// Hash hashes a secret. It takes long, on purpose.
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

// Matches says whether a hash was made of the text. No text matches the empty hash.
func Matches(hash, text string) bool {
	return hash != "" && bcrypt.CompareHashAndPassword([]byte(hash), digest(text)) == nil
}

// digest is base64 of the SHA-256: 43 bytes, none of which is NUL, where bcrypt would stop.
func digest(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return base64.RawStdEncoding.AppendEncode(nil, sum[:])
}

// NormalizeAnswer is what is compared of a recovery answer: case and surrounding space do not count.
func NormalizeAnswer(answer string) string { return cases.Fold().String(strings.TrimSpace(answer)) }
