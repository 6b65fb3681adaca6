package model

import (
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
)

// SignInStatus is how far a sign-in is.
type SignInStatus string

// The statuses of a sign-in. One that is SignInSuccess waits to become a session; one that is SignInLockedOut is never stored.
const (
	SignInSuccess         SignInStatus = "SUCCESS"
	SignInPasswordExpired SignInStatus = "PASSWORD_EXPIRED"
	SignInPasswordReset   SignInStatus = "PASSWORD_RESET"
	SignInRecovery        SignInStatus = "RECOVERY"
	SignInLockedOut       SignInStatus = "LOCKED_OUT"

	// The statuses of a sign-in that needs a further factor: one is chosen, is verified, has to be enrolled, or is being enrolled.
	SignInFactorRequired  SignInStatus = "MFA_REQUIRED"
	SignInFactorChallenge SignInStatus = "MFA_CHALLENGE"
	SignInFactorEnroll    SignInStatus = "MFA_ENROLL"
	SignInFactorActivate  SignInStatus = "MFA_ENROLL_ACTIVATE"
)

// SignIn is a sign-in, or a recovery, that goes on. Its document id is SecretHash of its state token, or of its session token
// when it is SignInSuccess.
type SignIn struct {
	UserID  string       `json:"userId"`
	Status  SignInStatus `json:"status"`
	Expires time.Time    `json:"expires"`
	// RelayState is what the caller sent to be given back.
	RelayState string `json:"relayState,omitempty"`
	// Token is the hash of the one-time token that it began with, empty when it began with a password.
	Token string `json:"token,omitempty"`

	// Methods are how the user has signed in so far (RFC 8176).
	Methods []string `json:"methods,omitempty"`
	// PasswordVerified and FactorVerified are when that was compared, zero if it was not.
	PasswordVerified time.Time `json:"passwordVerified,omitzero"`
	FactorVerified   time.Time `json:"factorVerified,omitzero"`
	// PasswordChanged is that of the user when the password was compared: a sign-in ends with the password that it began with.
	PasswordChanged time.Time `json:"passwordChanged,omitzero"`
	// First is the id of the factor that was verified in place of a password, empty if there was a password.
	First string `json:"first,omitempty"`
	// Factor is the id of the factor that is being verified or enrolled, and Transaction that of the verification that a device answers.
	Factor      string `json:"factor,omitempty"`
	Transaction string `json:"transaction,omitempty"`
}

// SignInByUser is the index of the sign-ins by their user.
const SignInByUser = "user_id"

func signInCollection() docstore.Collection[SignIn] {
	return docstore.NewCollection("sign_ins",
		docstore.Index[SignIn]{Name: SignInByUser, Values: func(s *SignIn) []any { return []any{s.UserID} }},
	)
}
