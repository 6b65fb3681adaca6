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

// KindHardwareToken begins the ids of hardware tokens.
const KindHardwareToken Kind = "ykk"

// HardwareToken is a token that types one-time passwords. It belongs to the organisation until a user enrols with it, and again when
// the factor goes.
type HardwareToken struct {
	// Serial is the number on it, as SerialNumber writes it. PublicID is what its passwords begin with, in modhex.
	Serial   string `json:"serial"`
	PublicID string `json:"publicId"`
	// Seed is a HardwareSeed, sealed with HardwareTokenBinding.
	Seed string `json:"seed"`
	// Last is the counter of the last password that was accepted, of whomever.
	Last yubikey.Counter `json:"last,omitzero"`
	// Made is when it was added. What follows changes with the user: Factor, Email and Activated are empty while there is none.
	Made         time.Time `json:"made"`
	User         string    `json:"user,omitempty"`
	Email        string    `json:"email,omitempty"`
	Factor       string    `json:"factor,omitempty"`
	Activated    time.Time `json:"activated,omitzero"`
	LastVerified time.Time `json:"lastVerified,omitzero"`
}

// HardwareStatus says whether a hardware token has a user.
type HardwareStatus string

// The statuses of hardware tokens.
const (
	HardwareUnassigned HardwareStatus = "UNASSIGNED"
	HardwareActive     HardwareStatus = "ACTIVE"
)

// Status is HardwareActive when the token has a user.
func (h *HardwareToken) Status() HardwareStatus {
	if h.User == "" {
		return HardwareUnassigned
	}
	return HardwareActive
}

// Assign gives the token to a user whose factor it becomes.
func (h *HardwareToken) Assign(user, email, factor string, now time.Time) {
	h.User, h.Email, h.Factor, h.Activated = user, email, factor, now
}

// Return takes the token back. What was last verified, and the counter that keeps its passwords from being used again, stay.
func (h *HardwareToken) Return() {
	h.User, h.Email, h.Factor, h.Activated = "", "", "", time.Time{}
}

// Token opens the seed.
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

// Seal writes the seed of the token with an id.
func (s HardwareSeed) Seal(secrets seal.Secrets, id string) (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("hardware token %s: %w", id, err)
	}
	return secrets.Seal(string(text), HardwareTokenBinding(id))
}

// HardwareTokenBinding is the seal binding of the seed of a hardware token.
func HardwareTokenBinding(id string) string { return "hardwaretoken:" + id }

// SerialLength is the number of digits that serial numbers are written with.
const SerialLength = 12

// SerialNumber writes a serial number with all its digits; ok is false for a text that is none.
func SerialNumber(text string) (serial string, ok bool) {
	digits := strings.TrimLeft(text, "0")
	if text == "" || len(digits) > SerialLength || strings.Trim(text, "0123456789") != "" {
		return "", false
	}
	return strings.Repeat("0", SerialLength-len(digits)) + digits, true
}

// The indexes of the hardware tokens. Those of times and of what is about users have no value where that is missing.
const (
	HardwareTokenBySerial       = "serial"    // unique
	HardwareTokenByPublicID     = "public_id" // unique
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
