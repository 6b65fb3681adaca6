// Package signature signs and verifies HTTP messages as the specification Standard Webhooks describes: HMAC-SHA256 of the id, the time and
// the body, with one or more shared secrets.
package signature

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a signed message.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// Tolerance is the maximum difference between the time of a message and the clock of its receiver.
const Tolerance = 5 * time.Minute

const (
	secretPrefix = "whsec_"
	version      = "v1,"
	minKey       = 24 // bytes
	maxKey       = 64
	newKey       = 32
	maxSigned    = 32 // signatures of one message that are compared
)

// ErrInvalid is returned for a message that none of the secrets has signed, or whose time is outside of the tolerance.
var ErrInvalid = errors.New("the signature of the message is not valid")

// NewSecret returns a random secret.
func NewSecret() string {
	var key [newKey]byte
	_, _ = rand.Read(key[:]) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(key[:])
}

// Key returns the key of a secret.
func Key(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok {
		return nil, fmt.Errorf("a secret begins with %q", secretPrefix)
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("the part of a secret after %q must be base64", secretPrefix) // the cause would quote the secret
	}
	if len(key) < minKey || len(key) > maxKey {
		return nil, fmt.Errorf("a secret has %d to %d bytes, this one has %d", minKey, maxKey, len(key))
	}
	return key, nil
}

// Keys returns the keys of secrets, at least one.
func Keys(secrets ...string) ([][]byte, error) {
	if len(secrets) == 0 {
		return nil, errors.New("a secret is required")
	}
	keys := make([][]byte, len(secrets))
	for i, secret := range secrets {
		var err error
		if keys[i], err = Key(secret); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// Sign sets the headers of a message. It has one signature for each key.
func Sign(h http.Header, keys [][]byte, id string, at time.Time, body []byte) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	signatures := make([]string, len(keys))
	for i, key := range keys {
		signatures[i] = version + base64.StdEncoding.EncodeToString(sum(key, id, stamp, body))
	}
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, stamp)
	h.Set(HeaderSignature, strings.Join(signatures, " "))
}

// Verify returns an error that wraps ErrInvalid unless one of the keys has signed the message, at a time near now.
func Verify(h http.Header, keys [][]byte, body []byte, now time.Time) error {
	id, stamp := h.Get(HeaderID), h.Get(HeaderTimestamp)
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if id == "" || err != nil {
		return fmt.Errorf("%w: the headers %s and %s are required", ErrInvalid, HeaderID, HeaderTimestamp)
	}
	if off := now.Sub(time.Unix(seconds, 0)).Abs(); off > Tolerance {
		return fmt.Errorf("%w: the time differs by more than %s", ErrInvalid, Tolerance)
	}
	parts := strings.Fields(h.Get(HeaderSignature))
	for _, part := range parts[:min(len(parts), maxSigned)] {
		text, ok := strings.CutPrefix(part, version)
		if !ok {
			continue // another version
		}
		given, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			continue
		}
		for _, key := range keys {
			if hmac.Equal(given, sum(key, id, stamp, body)) {
				return nil
			}
		}
	}
	return ErrInvalid
}

func sum(key []byte, id, stamp string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(body)
	return mac.Sum(nil)
}
