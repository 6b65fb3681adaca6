package model

import (
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
)

// SyncPassword is a password on its way to the account of an assignment. It exists from the request that set the password, when it is
// at hand in clear, until the target has it, or nobody wants it there any more. Its document id is AppUserID(app, user).
type SyncPassword struct {
	AppID  string `json:"appId"`
	UserID string `json:"userId"`
	// Sealed is the password; its binding is SyncPasswordBinding(app, user).
	Sealed string `json:"sealed"`
	// Version is User.PasswordVersion.
	Version string `json:"version"`
	// Follows says that the account gets it whether or not it exists already; otherwise only a new account does.
	Follows bool `json:"follows,omitempty"`
}

// SyncPasswordLife is how long a password waits for a target that does not take it. Then it is given up.
const SyncPasswordLife = 24 * time.Hour

// SyncPasswordBinding is the seal binding of a password on its way.
func SyncPasswordBinding(app, user string) string { return "sync-password:" + app + ":" + user }

// The indexes of the passwords on their way.
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

// PasswordKnown tells, after the event of the change itself, that the password of a user is at hand in clear: it was set, or typed
// at a sign-in. The password is for the reactions and not part of the event that is stored.
type PasswordKnown struct {
	User string `json:"user"`
	// Set says that it is a new one.
	Set   bool   `json:"set"`
	Plain string `json:"-"`
}

// Topic implements Event.
func (PasswordKnown) Topic() string { return EventPasswordKnown }

// Key implements Event with the id of the user.
func (e PasswordKnown) Key() string { return e.User }

// String hides the password, so that a printed event does not tell it.
func (e PasswordKnown) String() string { return EventPasswordKnown + " " + e.User }

// GoString is String, for %#v.
func (e PasswordKnown) GoString() string { return e.String() }

// PasswordVersion names the password of the user: it is another text for another one, and does not tell it. It is empty when there
// is none of our own.
func (u *User) PasswordVersion() string {
	if u.PasswordHash == "" {
		return ""
	}
	return SecretHash(u.PasswordHash)[:versionLength]
}

// versionLength is the length of a version, in characters.
const versionLength = 22
