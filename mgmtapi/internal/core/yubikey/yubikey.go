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

// Sizes of what a password is made of.
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
	// ErrMalformed says that a text is no password.
	ErrMalformed = errors.New("yubikey: not a one-time password")
	// ErrWrong says that a password is not of that token.
	ErrWrong = errors.New("yubikey: wrong one-time password")
	// ErrReplayed says that a password is not newer than the last one.
	ErrReplayed = errors.New("yubikey: one-time password already used")
)

// Token is what is known of a token.
type Token struct {
	Key       [KeySize]byte
	PrivateID [PrivateIDSize]byte
	// Last is the counter of the last password that was accepted.
	Last Counter
}

// Counter orders the passwords of a token. The token is delivered with a session counter of 1, so that the zero value is before
// all of them.
type Counter struct {
	// Session counts how often the token was plugged in, up to 32767.
	Session uint16 `json:"session"`
	// Use counts the passwords since then, up to 255.
	Use uint8 `json:"use"`
}

// Compare is negative when c was made before o, positive when after.
func (c Counter) Compare(o Counter) int {
	return cmp.Or(cmp.Compare(c.Session, o.Session), cmp.Compare(c.Use, o.Use))
}

// Split returns the public id of a password and its encrypted block. Capital letters are read as small ones, since a token
// types with whatever the keyboard has locked.
func Split(password string) (publicID string, block [aes.BlockSize]byte, err error) {
	password = strings.ToLower(password)
	if len(password) != Length {
		return "", block, fmt.Errorf("%w: it has %d characters, not %d", ErrMalformed, len(password), Length)
	}
	if !IsModhex(password) {
		return "", block, fmt.Errorf("%w: it is not modhex", ErrMalformed)
	}
	publicID = password[:PublicIDLength]
	data, err := DecodeModhex(password[PublicIDLength:])
	copy(block[:], data)
	return publicID, block, err
}

// Check says whether the block is the next password of the token or a later one, and returns its counter, to be kept as Last.
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
	// sessionMask leaves out the bit that says whether caps lock triggered the password.
	sessionMask = 0x7fff
)

// residue is the checksum of a block together with its own checksum.
const residue = 0xf0b8

// crc16 is the checksum of ISO 13239.
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
