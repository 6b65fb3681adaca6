package model

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/internal/seal"
	"github.com/scimwright/scimwright/mgmtapi/internal/core/yubikey"
)

// KindHardwareToken is the kind of the ids of hardware tokens.
const KindHardwareToken Kind = "ykk"

// HardwareToken is a hardware token that generates one-time passwords. It is unassigned until a user enrolls it as a factor, and again
// after the factor is removed.
type HardwareToken struct {
	// Serial is the serial number, formatted by SerialNumber. PublicID is the prefix of the token's passwords, in modhex.
	Serial   string `json:"serial"`
	PublicID string `json:"publicId"`
	// Seed is a HardwareSeed, encrypted at rest with HardwareTokenBinding.
	Seed string `json:"seed"`
	// Last is the counter of the last accepted password, for all users that the token has had.
	Last yubikey.Counter `json:"last,omitzero"`
	// Made is the time at which the token was added. The members after Made concern the user of the token. Factor, Email and Activated are
	// empty while the token has no user.
	Made         time.Time `json:"made"`
	User         string    `json:"user,omitempty"`
	Email        string    `json:"email,omitempty"`
	Factor       string    `json:"factor,omitempty"`
	Activated    time.Time `json:"activated,omitzero"`
	LastVerified time.Time `json:"lastVerified,omitzero"`
}

// HardwareStatus is the status of a hardware token. It depends on whether the token has a user.
type HardwareStatus string

// The statuses of hardware tokens.
const (
	HardwareUnassigned HardwareStatus = "UNASSIGNED"
	HardwareActive     HardwareStatus = "ACTIVE"
)

// Status returns HardwareActive if the token has a user.
func (h *HardwareToken) Status() HardwareStatus {
	if h.User == "" {
		return HardwareUnassigned
	}
	return HardwareActive
}

// Assign assigns the token to a user, as the factor with the given id.
func (h *HardwareToken) Assign(user, email, factor string, now time.Time) {
	h.User, h.Email, h.Factor, h.Activated = user, email, factor, now
}

// Return removes the user from the token. The time of the last verification stays, and so does the counter that prevents replays.
func (h *HardwareToken) Return() {
	h.User, h.Email, h.Factor, h.Activated = "", "", "", time.Time{}
}

// Token decrypts the seed.
func (h *HardwareToken) Token(secrets seal.Secrets, id string) (yubikey.Token, error) {
	text, err := secrets.Open(h.Seed, HardwareTokenBinding(id))
	if err != nil {
		return yubikey.Token{}, fmt.Errorf("hardware token %s: %w", id, err)
	}
	var seed HardwareSeed
	if err := json.Unmarshal([]byte(text), &seed); err != nil {
		return yubikey.Token{}, fmt.Errorf("hardware token %s: %w", id, err)
	}
	return yubikey.Token{Key: seed.Key, PrivateID: seed.PrivateID, Last: h.Last}, nil
}

// HardwareSeed is the secret of a hardware token.
type HardwareSeed struct {
	Key       [yubikey.KeySize]byte       `json:"key"`
	PrivateID [yubikey.PrivateIDSize]byte `json:"privateId"`
}

// Seal encrypts the seed of the token with the given id.
func (s HardwareSeed) Seal(secrets seal.Secrets, id string) (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("hardware token %s: %w", id, err)
	}
	return secrets.Seal(string(text), HardwareTokenBinding(id))
}

// HardwareTokenBinding returns the binding with which package seal encrypts the seed of a hardware token.
func HardwareTokenBinding(id string) string { return "hardwaretoken:" + id }

// SerialLength is the number of digits of a formatted serial number.
const SerialLength = 12

// SerialNumber pads a serial number with zeros to SerialLength digits. ok is false if the string is not a serial number.
func SerialNumber(text string) (serial string, ok bool) {
	digits := strings.TrimLeft(text, "0")
	if text == "" || len(digits) > SerialLength || strings.Trim(text, "0123456789") != "" {
		return "", false
	}
	return strings.Repeat("0", SerialLength-len(digits)) + digits, true
}

// The indexes of the hardware tokens. The indexes of times and of user data have no value for tokens without them.
const (
	HardwareTokenBySerial       = "serial"    // index by serial number, unique
	HardwareTokenByPublicID     = "public_id" // index by public id, unique
	HardwareTokenByUser         = "user_id"
	HardwareTokenByEmail        = "email"
	HardwareTokenByStatus       = "status"
	HardwareTokenByFactor       = "factor"
	HardwareTokenByMade         = "made"
	HardwareTokenByActivated    = "activated"
	HardwareTokenByLastVerified = "last_verified"
)

func hardwareTokenCollection() docstore.Collection[HardwareToken] {
	text := func(name string, unique bool, of func(*HardwareToken) string) docstore.Index[HardwareToken] {
		return docstore.Index[HardwareToken]{Name: name, Unique: unique, Values: func(h *HardwareToken) []any { return optional(of(h)) }}
	}
	moment := func(name string, of func(*HardwareToken) time.Time) docstore.Index[HardwareToken] {
		return docstore.Index[HardwareToken]{Name: name, Kind: docstore.Int, Values: func(h *HardwareToken) []any {
			if of(h).IsZero() {
				return nil
			}
			return []any{of(h)}
		}}
	}
	return docstore.NewCollection("hardware_tokens",
		text(HardwareTokenBySerial, true, func(h *HardwareToken) string { return h.Serial }),
		text(HardwareTokenByPublicID, true, func(h *HardwareToken) string { return h.PublicID }),
		text(HardwareTokenByUser, false, func(h *HardwareToken) string { return h.User }),
		text(HardwareTokenByEmail, false, func(h *HardwareToken) string { return h.Email }),
		text(HardwareTokenByStatus, false, func(h *HardwareToken) string { return string(h.Status()) }),
		text(HardwareTokenByFactor, false, func(h *HardwareToken) string { return h.Factor }),
		moment(HardwareTokenByMade, func(h *HardwareToken) time.Time { return h.Made }),
		moment(HardwareTokenByActivated, func(h *HardwareToken) time.Time { return h.Activated }),
		moment(HardwareTokenByLastVerified, func(h *HardwareToken) time.Time { return h.LastVerified }),
	)
}
