package scimserver

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/text/secure/precis"

	"github.com/scimwright/scimwright/scim"
)

// CheckPassword says whether a password is the one a Record.PasswordHash was made of. Passwords are the same by RFC 8265
// (OpaqueString): how accents are composed and which space is used makes no difference.
func CheckPassword(hash, password string) bool {
	password, err := precis.OpaqueString.String(password)
	return err == nil && bcrypt.CompareHashAndPassword([]byte(hash), prehash(password)) == nil
}

// hashPassword returns what is kept of a password.
func (s *server) hashPassword(password string) (string, error) {
	if password == "" {
		return "", scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "password is empty")
	}
	password, err := precis.OpaqueString.String(password)
	if err != nil {
		return "", scim.Errorf(http.StatusBadRequest, scim.InvalidValue,
			"password has characters that no password may have by RFC 8265, such as control characters")
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
