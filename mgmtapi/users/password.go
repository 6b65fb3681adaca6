package users

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/text/cases"
)

// hasher hashes what people choose as secrets: bcrypt over the SHA-256 of the text, because bcrypt alone reads no more than 72
// bytes.
type hasher struct{ cost int }

func (h hasher) hash(text string) (string, error) {
	hash, err := bcrypt.GenerateFromPassword(digest(text), h.cost)
	if err != nil {
		return "", fmt.Errorf("hashing a secret: %w", err)
	}
	return string(hash), nil
}

// digest is base64 of the SHA-256: 43 bytes, none of which is NUL, where bcrypt would stop.
func digest(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return base64.RawStdEncoding.AppendEncode(nil, sum[:])
}

// normalAnswer is what is compared of a recovery answer: case and surrounding space do not count.
func normalAnswer(answer string) string { return cases.Fold().String(strings.TrimSpace(answer)) }
