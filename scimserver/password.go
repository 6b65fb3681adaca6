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

// CheckPassword reports whether hash, a Record.PasswordHash, is a hash of the password. Passwords are compared by RFC 8265 (OpaqueString):
// the composition of accents and the kind of space are ignored.
func CheckPassword(hash, password string) bool {
	password, err := precis.OpaqueString.String(password)
	return err == nil && bcrypt.CompareHashAndPassword([]byte(hash), prehash(password)) == nil
}

// hashPassword returns the hash that is stored for a password.
func (s *server) hashPassword(password string) (string, error) {
	if password == "" {
		return "", scim.Errorf(http.StatusBadRequest, scim.InvalidValue, "password is empty")
	}
	password, err := precis.OpaqueString.String(password)
	if err != nil {
		return "", scim.Errorf(http.StatusBadRequest, scim.InvalidValue,
			"password has characters that RFC 8265 does not allow, such as control characters")
	}
	hash, err := bcrypt.GenerateFromPassword(prehash(password), s.passwordCost)
	if err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	return string(hash), nil
}

// prehash maps a password of any length to a string that bcrypt processes completely: shorter than 72 bytes, after which bcrypt truncates,
// and without NUL, at which bcrypt stops.
func prehash(password string) []byte {
	sum := sha256.Sum256([]byte(password))
	return []byte(base64.StdEncoding.EncodeToString(sum[:]))
}
