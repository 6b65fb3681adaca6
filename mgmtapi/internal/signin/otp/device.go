package otp

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	libotp "github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
)

// Secret is the key of a device in Base32 (RFC 4648 section 6), without padding.
type Secret string

// secretSize is the length of a secret, in bytes: that of the output of HMAC-SHA-1, as RFC 4226 section 4 recommends.
const secretSize = 20

// encoding is Base32 without padding.
var encoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewSecret generates a secret of 160 random bits, 32 characters.
func NewSecret() Secret {
	key := make([]byte, secretSize)
	_, _ = rand.Read(key) // never fails
	return SecretOf(key)
}

// SecretOf encodes a key as a secret.
func SecretOf(key []byte) Secret { return Secret(encoding.EncodeToString(key)) }

// Hash is the hash function of the HMAC.
type Hash int

// The hash functions of RFC 6238.
const (
	SHA1 Hash = iota
	SHA256
	SHA512
)

// Device is the passcode configuration of a device.
type Device struct {
	// Digits is the number of digits of a passcode. Default: 6.
	Digits int
	// Step is the duration for which a time-based passcode is shown. Default: 30s.
	Step time.Duration
	// Hash is the hash function of the HMAC. Default: SHA1.
	Hash Hash
}

const (
	defaultDigits = 6
	defaultStep   = 30 * time.Second
)

// WithDefaults returns the device with the defaults of unset members.
func (d Device) WithDefaults() Device {
	if d.Digits == 0 {
		d.Digits = defaultDigits
	}
	if d.Step == 0 {
		d.Step = defaultStep
	}
	return d
}

// ErrSecret reports that a secret is not Base32.
var ErrSecret = errors.New("otp: the secret is not Base32")

// Counter returns the passcode for a counter (RFC 4226).
func (d Device) Counter(secret Secret, counter uint64) (string, error) {
	d = d.WithDefaults()
	hash := map[Hash]libotp.Algorithm{SHA1: libotp.AlgorithmSHA1, SHA256: libotp.AlgorithmSHA256, SHA512: libotp.AlgorithmSHA512}[d.Hash]
	code, err := hotp.GenerateCodeCustom(string(secret), counter, hotp.ValidateOpts{Digits: libotp.Digits(d.Digits), Algorithm: hash})
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrSecret, err)
	}
	return code, nil
}

// StepAt returns the number of the step at a time (RFC 6238 section 4.2).
func (d Device) StepAt(t time.Time) int64 {
	d = d.WithDefaults()
	return t.Unix() / int64(d.Step/time.Second)
}

// Time returns the passcode for a time (RFC 6238).
func (d Device) Time(secret Secret, t time.Time) (string, error) {
	return d.Counter(secret, uint64(d.StepAt(t)))
}

// Find searches for the time step that has the passcode and reports whether it found one. It checks the step of t first, and then up to
// window steps before and after that step, the nearest first.
func (d Device) Find(secret Secret, passcode string, t time.Time, window int) (step int64, found bool, err error) {
	now := d.StepAt(t)
	for i := range 2*window + 1 {
		at := now + int64(i/2+i%2) // the current step, one after, one before, two after, and so on
		if i%2 == 0 {
			at = now - int64(i/2)
		}
		if at < 0 {
			continue
		}
		code, err := d.Counter(secret, uint64(at))
		if err != nil {
			return 0, false, err
		}
		if subtle.ConstantTimeCompare([]byte(code), []byte(passcode)) == 1 {
			return at, true, nil
		}
	}
	return 0, false, nil
}

// URI returns the content of the QR code for a device: the secret, the issuer and the account.
func (d Device) URI(issuer, account string, secret Secret) string {
	d = d.WithDefaults()
	name := map[Hash]string{SHA1: "SHA1", SHA256: "SHA256", SHA512: "SHA512"}[d.Hash]
	values := url.Values{
		"secret": {string(secret)}, "issuer": {issuer}, "algorithm": {name},
		"digits": {strconv.Itoa(d.Digits)}, "period": {strconv.Itoa(int(d.Step / time.Second))},
	}
	return "otpauth://totp/" + url.PathEscape(issuer+":"+account) + "?" + values.Encode()
}
