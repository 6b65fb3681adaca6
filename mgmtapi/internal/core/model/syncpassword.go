package model

import (
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
)

// SyncPassword is a pending password for the account of an assignment. It is stored when a request sets the password, which is the only
// time when the plaintext is available. It is deleted when the target has received it or no longer needs it. Its document id is
// AppUserID(app, user).
type SyncPassword struct {
	AppID  string `json:"appId"`
	UserID string `json:"userId"`
	// Sealed is the password, encrypted with SyncPasswordBinding(app, user).
	Sealed string `json:"sealed"`
	// Version is the User.PasswordVersion of this password.
	Version string `json:"version"`
	// Follows is true if the password is also sent to an existing account. Otherwise only a new account receives it.
	Follows bool `json:"follows,omitempty"`
}

// SyncPasswordLife is the time after which a pending password that the target has not accepted is dropped.
const SyncPasswordLife = 24 * time.Hour

// SyncPasswordBinding returns the binding with which package seal encrypts a pending password.
func SyncPasswordBinding(app, user string) string { return "sync-password:" + app + ":" + user }

// The indexes of the pending passwords.
const (
	SyncPasswordByApp  = "app"
	SyncPasswordByUser = "user"
)

func syncPasswordCollection() docstore.Collection[SyncPassword] {
	return docstore.NewCollection("sync_passwords",
		docstore.Index[SyncPassword]{Name: SyncPasswordByApp, Values: func(p *SyncPassword) []any { return []any{p.AppID} }},
		docstore.Index[SyncPassword]{Name: SyncPasswordByUser, Values: func(p *SyncPassword) []any { return []any{p.UserID} }},
	)
}

// EventPasswordKnown is the topic of PasswordKnown.
const EventPasswordKnown = "user.password_known"

// PasswordKnown reports that the plaintext password of a user is available: it was set, or entered at a sign-in. It follows the event of
// the change itself. The password is for event handlers and not part of the stored event.
type PasswordKnown struct {
	User string `json:"user"`
	// Set is true if the password is new.
	Set   bool   `json:"set"`
	Plain string `json:"-"`
}

// Topic implements Event.
func (PasswordKnown) Topic() string { return EventPasswordKnown }

// Key implements Event with the id of the user.
func (e PasswordKnown) Key() string { return e.User }

// String omits the password, so that it does not appear in printed events.
func (e PasswordKnown) String() string { return EventPasswordKnown + " " + e.User }

// GoString returns the same as String, for %#v.
func (e PasswordKnown) GoString() string { return e.String() }

// PasswordVersion returns a string that identifies the password of the user without revealing it. It changes with the password. It is empty
// if the user has no password hash of this service.
func (u *User) PasswordVersion() string {
	if u.PasswordHash == "" {
		return ""
	}
	return SecretHash(u.PasswordHash)[:versionLength]
}

// versionLength is the length of a version, in characters.
const versionLength = 22
