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

// Bounds of imported hashes.
const (
	minIterations = 4096
	// MaxIterations is how many iterations of PBKDF2 are verified: a sign-in must end.
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

// digests are the plain algorithms.
var digests = map[string]func() hash.Hash{
	"SHA-512": sha512.New, "SHA-256": sha256.New, "SHA-1": sha1.New, "MD5": md5.New,
}

// pseudorandom are the digest algorithms of PBKDF2.
var pseudorandom = map[string]func() hash.Hash{"SHA256_HMAC": sha256.New, "SHA512_HMAC": sha512.New}

var (
	bcryptValue = regexp.MustCompile(`^[./A-Za-z0-9]{31}$`)
	bcryptSalt  = regexp.MustCompile(`^[./A-Za-z0-9]{22}$`)
)

// CheckImported calls add for every member of an imported hash that is not valid, by the name that it has on the wire.
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

// checkBytes checks base64 of a number of bytes, 0 for any.
func checkBytes(text string, size int, member string, add func(member, text string)) {
	switch data, err := decode(text); {
	case err != nil || len(data) == 0:
		add(member, "The value must be base64")
	case size > 0 && len(data) != size:
		add(member, fmt.Sprintf("The value must be base64 of %d bytes", size))
	}
}

// decode reads base64, with padding or without.
func decode(text string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
}

// matchesImported says whether an imported hash was made of the text.
func matchesImported(h *model.ImportedHash, text string) bool {
	if h.Algorithm == algorithmBcrypt {
		if h.WorkFactor < bcrypt.MinCost {
			have, err := weakBcrypt(h.WorkFactor, h.Salt, text)
			return err == nil && subtle.ConstantTimeCompare([]byte(h.Value), []byte(have)) == 1
		}
		// The version does not matter for the comparison.
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

// Verify says whether the text is the password of the user. It takes long, as comparing does. Of a user for whom a hook has to be asked
// nothing is known here, so that no text is.
func Verify(u *model.User, text string) bool {
	if u.AsksHook() {
		return false
	}
	if u.Imported != nil {
		return matchesImported(u.Imported, text)
	}
	return Matches(u.PasswordHash, text)
}
