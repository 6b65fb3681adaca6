package model

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/scimwright/scimwright/internal/docstore"
	"github.com/scimwright/scimwright/scim/filter"
)

// UserStatus is the status of a user.
type UserStatus string

// The statuses of a user.
const (
	UserStaged          UserStatus = "STAGED"
	UserProvisioned     UserStatus = "PROVISIONED"
	UserActive          UserStatus = "ACTIVE"
	UserRecovery        UserStatus = "RECOVERY"
	UserLockedOut       UserStatus = "LOCKED_OUT"
	UserPasswordExpired UserStatus = "PASSWORD_EXPIRED"
	UserSuspended       UserStatus = "SUSPENDED"
	UserDeprovisioned   UserStatus = "DEPROVISIONED"
)

// UserStatuses lists the statuses of a user.
func UserStatuses() []UserStatus {
	return []UserStatus{
		UserStaged, UserProvisioned, UserActive, UserRecovery, UserLockedOut, UserPasswordExpired, UserSuspended, UserDeprovisioned,
	}
}

// ProviderType determines which system verifies the password of a user.
type ProviderType string

// The providers of credentials.
const (
	ProviderService    ProviderType = "SVC"
	ProviderImport     ProviderType = "IMPORT"
	ProviderFederation ProviderType = "FEDERATION"
	ProviderSocial     ProviderType = "SOCIAL"
)

// External reports whether another system verifies the password. This service then stores neither a password nor a recovery question of the
// user.
func (p ProviderType) External() bool { return p == ProviderFederation || p == ProviderSocial }

// User is a user of the organization.
type User struct {
	Status UserStatus `json:"status"`
	// Transition is the resulting status of a pending change, empty if no change is pending; see the type Transition.
	Transition UserStatus `json:"transition,omitempty"`
	// Activated, StatusChanged, LastLogin and PasswordChanged are zero until the event first happens.
	Activated       time.Time `json:"activated,omitzero"`
	StatusChanged   time.Time `json:"statusChanged,omitzero"`
	LastLogin       time.Time `json:"lastLogin,omitzero"`
	PasswordChanged time.Time `json:"passwordChanged,omitzero"`
	// Type is the id of the user type.
	Type string `json:"type"`
	// Profile holds the attributes that have a value.
	Profile map[string]any `json:"profile"`
	// Unique and Hidden are derived from the profile, see UserSchema.Stamp: the attributes whose values must be unique within the type, and
	// those that are not shown.
	Unique   []string     `json:"unique,omitempty"`
	Hidden   []string     `json:"hidden,omitempty"`
	Provider ProviderType `json:"provider"`
	// PasswordHash is the hash of the password, empty for a user without a password hash of this service.
	PasswordHash string `json:"passwordHash,omitempty"`
	// Imported is a password hash of another system, until its first successful verification. PasswordHash is then empty.
	Imported *ImportedHash `json:"imported,omitempty"`
	// PasswordHistory holds the hashes of previous passwords, the last one first.
	PasswordHistory []string  `json:"passwordHistory,omitempty"`
	Recovery        *Recovery `json:"recovery,omitempty"`
	// Activation is the pending one-time token of a PROVISIONED user.
	Activation *OneTimeToken `json:"activation,omitempty"`
	// Reset is the pending one-time token of a user who may choose a new password.
	Reset *ResetToken `json:"reset,omitempty"`
	// Attempts numbers the series of consecutive failed sign-ins. Each reset of the count of failed sign-ins increments Attempts and so starts
	// a new series. The type Attempts holds the count.
	Attempts int `json:"attempts,omitempty"`
	// LockedFrom is the status of a LOCKED_OUT user before the lockout; see Unlocked.
	LockedFrom UserStatus `json:"lockedFrom,omitempty"`
}

// UnmarshalJSON reads a stored user. Earlier versions stored users without a locale, and languages with an underscore.
func (u *User) UnmarshalJSON(text []byte) error {
	type stored User
	if err := json.Unmarshal(text, (*stored)(u)); err != nil {
		return err
	}
	if u.Profile == nil {
		u.Profile = map[string]any{}
	}
	CompleteProfile(u.Profile)
	if languages := u.Text("preferredLanguage"); strings.Contains(languages, "_") {
		u.Profile["preferredLanguage"] = strings.ReplaceAll(languages, "_", "-")
	}
	return nil
}

// Recovery is a recovery question with the hash of its answer.
type Recovery struct {
	Question   string `json:"question"`
	AnswerHash string `json:"answerHash"`
}

// OneTimeToken is the hash and the expiry of an issued one-time token.
type OneTimeToken struct {
	Hash    string    `json:"hash"`
	Expires time.Time `json:"expires"`
}

// ResetToken is a one-time token for a password reset.
type ResetToken struct {
	OneTimeToken
	// Ask is true if the recovery question has to be answered first.
	Ask bool `json:"ask,omitempty"`
}

// tokenHash returns the hash of the user's pending one-time token, or "" without a pending token.
func (u *User) tokenHash() string {
	switch {
	case u.Activation != nil:
		return u.Activation.Hash
	case u.Reset != nil:
		return u.Reset.Hash
	}
	return ""
}

// HasPassword reports whether the user has a password to sign in with.
func (u *User) HasPassword() bool { return u.PasswordHash != "" || u.Imported != nil }

// SamePassword reports whether both users have exactly the same stored password.
func (u *User) SamePassword(other *User) bool {
	imported := u.Imported == other.Imported || u.Imported != nil && other.Imported != nil && *u.Imported == *other.Imported
	return imported && u.PasswordHash == other.PasswordHash
}

// Text returns a profile attribute, "" if it has no value or is not a string.
func (u *User) Text(attribute string) string {
	text, _ := u.Profile[attribute].(string)
	return text
}

// Login returns the login.
func (u *User) Login() string { return u.Text("login") }

// Enter sets the status and records the time of the change.
func (u *User) Enter(status UserStatus, now time.Time) {
	if u.Status != status {
		u.Status, u.StatusChanged, u.LockedFrom = status, now, ""
	}
}

// LockOut locks the user out.
func (u *User) LockOut(now time.Time) {
	from := u.Status
	u.Enter(UserLockedOut, now)
	u.LockedFrom = from
}

// Unlocked returns the status of a LOCKED_OUT user after the lockout: an expired password stays expired.
func (u *User) Unlocked() UserStatus { return cmp.Or(u.LockedFrom, UserActive) }

// Unlock ends a lockout and resets the count of failed attempts.
func (u *User) Unlock(now time.Time) {
	u.Enter(u.Unlocked(), now)
	u.Attempts++
}

// NewPassword records that the user has a new password. It resets the count of failed attempts. After a lockout, the new password does not
// inherit the expiry of the previous one.
func (u *User) NewPassword(now time.Time) {
	u.PasswordChanged, u.Activation, u.Reset = now, nil, nil
	u.Attempts++
	if u.LockedFrom != "" {
		u.LockedFrom = UserActive
	}
}

// The indexes of the users.
const (
	UserByLogin     = "login"      // index by LoginKey of the login, unique
	UserByShort     = "short"      // index by LoginKey of the part of the login before its @
	UserByStatus    = "status"     // index by the status
	UserByEmail     = "email"      // index by folded email address
	UserByFirstName = "first_name" // index by folded first name
	UserByLastName  = "last_name"  // index by folded last name
	UserByToken     = "token"      // index by the hash of the pending one-time token; a user has at most one
	UserByType      = "type"       // index by id of the user type
	UserByUnique    = "unique"     // index by UserUniqueKey of each unique value
)

// LoginKey returns the key by which logins are compared: it ignores case and diacritical marks.
func LoginKey(login string) string {
	// Lower case after folding, because Fold converts Cherokee letters to upper case.
	folded := strings.ToLower(cases.Fold().String(norm.NFD.String(login)))
	bare := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(folded))
	return norm.NFC.String(bare)
}

// ShortLogin returns the part of a login before its @, or the whole login if it has no @.
func ShortLogin(login string) string {
	short, _, _ := strings.Cut(login, "@")
	return short
}

func userCollection() docstore.Collection[User] {
	folded := func(attribute string) func(*User) []any {
		return func(u *User) []any { return optional(filter.Fold(u.Text(attribute))) }
	}
	return docstore.NewCollection("users",
		docstore.Index[User]{Name: UserByLogin, Unique: true, Values: func(u *User) []any { return []any{LoginKey(u.Login())} }},
		docstore.Index[User]{Name: UserByShort, Values: func(u *User) []any { return []any{LoginKey(ShortLogin(u.Login()))} }},
		docstore.Index[User]{Name: UserByStatus, Values: func(u *User) []any { return []any{string(u.Status)} }},
		docstore.Index[User]{Name: UserByEmail, Version: filter.FoldVersion, Values: folded("email")},
		docstore.Index[User]{Name: UserByFirstName, Version: filter.FoldVersion, Values: folded("firstName")},
		docstore.Index[User]{Name: UserByToken, Values: func(u *User) []any { return optional(u.tokenHash()) }},
		docstore.Index[User]{Name: UserByLastName, Version: filter.FoldVersion, Values: folded("lastName")},
		docstore.Index[User]{Name: UserByType, Values: func(u *User) []any { return []any{u.Type} }},
		docstore.Index[User]{Name: UserByUnique, Version: filter.FoldVersion, Multi: true, Values: func(u *User) []any {
			var keys []any
			for _, name := range u.Unique {
				keys = append(keys, UserUniqueKey(u, name))
			}
			return keys
		}},
	)
}
