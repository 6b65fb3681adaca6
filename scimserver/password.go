package scimserver

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"

	"golang.org/x/crypto/bcrypt"

	"github.com/scimwright/scimwright/scim"
)

// CheckPassword says whether a password is the one a Record.PasswordHash was made of.
func CheckPassword(hash, password string) bool {
	return bcrypt.CompareHashAndPassword([]byte(hash), prehash(password)) == nil
}

// hashPassword returns what is kept of a password.
func (s *server) hashPassword(password string) (string, error) {
	if password == "" {
		return "", scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "password is empty")
	}
	hash, err := bcrypt.GenerateFromPassword(prehash(password), s.passwordCost)
	if err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	return string(hash), nil
}

// prehash brings a password of any length below the 72 bytes that bcrypt looks at, and without NUL, where it would stop.
func prehash(password string) []byte {
	sum := sha256.Sum256([]byte(password))
	return []byte(base64.StdEncoding.EncodeToString(sum[:]))
}
