package yubikey

import (
	"cmp"
	"crypto/aes"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Sizes of the parts of a password.
const (
	// PublicIDLength is the number of characters of a public id.
	PublicIDLength = 12
	// Length is the number of characters of a password.
	Length = PublicIDLength + 2*aes.BlockSize
	// KeySize is the size of a key in bytes (AES-128).
	KeySize = 16
	// PrivateIDSize is the size of a private id in bytes.
	PrivateIDSize = 6
)

var (
	// ErrMalformed is returned for a string that is not a password.
	ErrMalformed = errors.New("yubikey: not a one-time password")
	// ErrWrong is returned for a password that is not from the token.
	ErrWrong = errors.New("yubikey: wrong one-time password")
	// ErrReplayed is returned for a password that is not newer than the last accepted one.
	ErrReplayed = errors.New("yubikey: one-time password already used")
)

// Token holds the secrets and the state of a hardware token.
type Token struct {
	Key       [KeySize]byte
	PrivateID [PrivateIDSize]byte
	// Last is the counter of the last accepted password.
	Last Counter
}

// Counter orders the passwords of a token. A new token has the session counter 1, so that the zero value precedes all passwords.
type Counter struct {
	// Session is the number of times that the token was plugged in, up to 32767.
	Session uint16 `json:"session"`
	// Use is the number of passwords in the session, up to 255.
	Use uint8 `json:"use"`
}

// Compare returns a negative number if c precedes o, a positive number if it follows o, and 0 if they are equal.
func (c Counter) Compare(o Counter) int {
	return cmp.Or(cmp.Compare(c.Session, o.Session), cmp.Compare(c.Use, o.Use))
}

// Split returns the public id of a password and its encrypted block. It accepts upper-case letters, because caps lock also affects what a
// token types.
func Split(password string) (publicID string, block [aes.BlockSize]byte, err error) {
	password = strings.ToLower(password)
	if len(password) != Length {
		return "", block, fmt.Errorf("%w: has %d characters instead of %d", ErrMalformed, len(password), Length)
	}
	if !IsModhex(password) {
		return "", block, fmt.Errorf("%w: not modhex", ErrMalformed)
	}
	publicID = password[:PublicIDLength]
	data, err := DecodeModhex(password[PublicIDLength:])
	copy(block[:], data)
	return publicID, block, err
}

// Check verifies that the block is a password of the token and newer than Last. It returns the counter of the password, the next value of
// Last.
func (t Token) Check(block [aes.BlockSize]byte) (Counter, error) {
	cipher, err := aes.NewCipher(t.Key[:])
	if err != nil {
		return Counter{}, fmt.Errorf("yubikey: %w", err)
	}
	plain := make([]byte, aes.BlockSize)
	cipher.Decrypt(plain, block[:])
	if crc16(plain) != residue || subtle.ConstantTimeCompare(plain[:PrivateIDSize], t.PrivateID[:]) != 1 {
		return Counter{}, ErrWrong
	}
	counter := Counter{Session: binary.LittleEndian.Uint16(plain[sessionAt:]) & sessionMask, Use: plain[useAt]}
	if counter.Compare(t.Last) <= 0 {
		return counter, ErrReplayed
	}
	return counter, nil
}

// The layout of a decrypted block: private id, session counter, timestamp (3 bytes), use counter, random (2), checksum (2).
const (
	sessionAt = 6
	useAt     = 11
	// sessionMask clears the bit that is set if caps lock triggered the password.
	sessionMask = 0x7fff
)

// residue is the checksum of a block that includes its own checksum.
const residue = 0xf0b8

// crc16 returns the checksum of ISO 13239.
func crc16(data []byte) uint16 {
	crc := uint16(0xffff)
	for _, b := range data {
		crc ^= uint16(b)
		for range 8 {
			odd := crc&1 == 1
			if crc >>= 1; odd {
				crc ^= 0x8408
			}
		}
	}
	return crc
}
