package password

import (
	"crypto/md5" //nolint:gosec // what another system has used
	"crypto/pbkdf2"
	"crypto/sha1" //nolint:gosec // what another system has used
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"hash"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/crypto/bcrypt"

	"github.com/scimwright/scimwright/mgmtapi/internal/core/model"
)

// Limits of imported hashes.
const (
	minIterations = 4096
	// MaxIterations is the maximum number of PBKDF2 iterations. It bounds the duration of a sign-in.
	MaxIterations = 10_000_000
	maxKeySize    = 1024
	minWorkFactor = 1
	maxWorkFactor = 20
)

// The algorithms of imported hashes.
const (
	algorithmBcrypt = "BCRYPT"
	algorithmPBKDF2 = "PBKDF2"
)

// digests holds the hash algorithms without iterations.
var digests = map[string]func() hash.Hash{
	"SHA-512": sha512.New, "SHA-256": sha256.New, "SHA-1": sha1.New, "MD5": md5.New,
}

// pseudorandom holds the digest algorithms of PBKDF2.
var pseudorandom = map[string]func() hash.Hash{"SHA256_HMAC": sha256.New, "SHA512_HMAC": sha512.New}

var (
	bcryptValue = regexp.MustCompile(`^[./A-Za-z0-9]{31}$`)
	bcryptSalt  = regexp.MustCompile(`^[./A-Za-z0-9]{22}$`)
)

// CheckImported calls add with the JSON name and the error of every invalid member of an imported hash.
func CheckImported(h model.ImportedHash, add func(member, text string)) {
	newDigest, plain := digests[h.Algorithm]
	switch {
	case h.Algorithm == algorithmBcrypt:
		checkPattern(bcryptValue, h.Value, "value", "The value must be 31 characters of radix64", add)
		checkPattern(bcryptSalt, h.Salt, "salt", "The salt must be 22 characters of radix64", add)
		if h.WorkFactor < minWorkFactor || h.WorkFactor > maxWorkFactor {
			add("workFactor", fmt.Sprintf("The value must be between %d and %d", minWorkFactor, maxWorkFactor))
		}
	case plain:
		checkBytes(h.Value, newDigest().Size(), "value", add)
		if h.Salt == "" {
			return
		}
		checkBytes(h.Salt, 0, "salt", add)
		if h.SaltOrder != "PREFIX" && h.SaltOrder != "POSTFIX" {
			add("saltOrder", "The value must be one of PREFIX, POSTFIX")
		}
	case h.Algorithm == algorithmPBKDF2:
		if h.KeySize < 1 || h.KeySize > maxKeySize {
			add("keySize", fmt.Sprintf("The value must be between 1 and %d", maxKeySize))
		} else {
			checkBytes(h.Value, h.KeySize, "value", add)
		}
		checkBytes(h.Salt, 0, "salt", add)
		if h.Iterations < minIterations || h.Iterations > MaxIterations {
			add("iterationCount", fmt.Sprintf("The value must be between %d and %d", minIterations, MaxIterations))
		}
		if pseudorandom[h.Digest] == nil {
			add("digestAlgorithm", "The value must be one of SHA256_HMAC, SHA512_HMAC")
		}
	}
}

func checkPattern(pattern *regexp.Regexp, text, member, wrong string, add func(member, text string)) {
	if !pattern.MatchString(text) {
		add(member, wrong)
	}
}

// checkBytes checks that a string is base64 of size bytes. Size 0 means any size.
func checkBytes(text string, size int, member string, add func(member, text string)) {
	switch data, err := decode(text); {
	case err != nil || len(data) == 0:
		add(member, "The value must be base64")
	case size > 0 && len(data) != size:
		add(member, fmt.Sprintf("The value must be base64 of %d bytes", size))
	}
}

// decode decodes base64 with or without padding.
func decode(text string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
}

// matchesImported reports whether an imported hash is the hash of the string.
func matchesImported(h *model.ImportedHash, text string) bool {
	if h.Algorithm == algorithmBcrypt {
		if h.WorkFactor < bcrypt.MinCost {
			have, err := weakBcrypt(h.WorkFactor, h.Salt, text)
			return err == nil && subtle.ConstantTimeCompare([]byte(h.Value), []byte(have)) == 1
		}
		// The version in the prefix does not affect the comparison.
		return bcrypt.CompareHashAndPassword(fmt.Appendf(nil, "$2a$%02d$%s%s", h.WorkFactor, h.Salt, h.Value), []byte(text)) == nil
	}
	want, err := decode(h.Value)
	if err != nil {
		return false
	}
	salt, err := decode(h.Salt)
	if err != nil {
		return false
	}
	var have []byte
	if h.Algorithm == algorithmPBKDF2 {
		if have, err = pbkdf2.Key(pseudorandom[h.Digest], text, salt, h.Iterations, h.KeySize); err != nil {
			return false
		}
	} else {
		digest := digests[h.Algorithm]()
		parts := [][]byte{salt, []byte(text)}
		if h.SaltOrder == "POSTFIX" {
			slices.Reverse(parts)
		}
		for _, part := range parts {
			digest.Write(part)
		}
		have = digest.Sum(nil)
	}
	return subtle.ConstantTimeCompare(want, have) == 1
}

// Verify reports whether the string is the password of the user. Like all comparisons of hashes, it is slow. It returns false for a user
// whose password a hook has to verify.
func Verify(u *model.User, text string) bool {
	if u.AsksHook() {
		return false
	}
	if u.Imported != nil {
		return matchesImported(u.Imported, text)
	}
	return Matches(u.PasswordHash, text)
}
