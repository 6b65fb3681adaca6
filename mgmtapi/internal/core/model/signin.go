package model

import (
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
)

// SignInStatus is the status of a sign-in.
type SignInStatus string

// The statuses of a sign-in. A sign-in with SignInSuccess can be exchanged for a session. SignInLockedOut is never stored.
const (
	SignInSuccess         SignInStatus = "SUCCESS"
	SignInPasswordExpired SignInStatus = "PASSWORD_EXPIRED"
	SignInPasswordReset   SignInStatus = "PASSWORD_RESET"
	SignInRecovery        SignInStatus = "RECOVERY"
	SignInLockedOut       SignInStatus = "LOCKED_OUT"

	// The statuses of a sign-in that requires a further factor: to be selected, to be verified, to be enrolled, or enrollment in progress.
	SignInFactorRequired  SignInStatus = "MFA_REQUIRED"
	SignInFactorChallenge SignInStatus = "MFA_CHALLENGE"
	SignInFactorEnroll    SignInStatus = "MFA_ENROLL"
	SignInFactorActivate  SignInStatus = "MFA_ENROLL_ACTIVATE"
)

// SignIn is a sign-in or a recovery in progress. Its document id is SecretHash of its state token, or of its session token if it is
// SignInSuccess.
type SignIn struct {
	UserID  string       `json:"userId"`
	Status  SignInStatus `json:"status"`
	Expires time.Time    `json:"expires"`
	// RelayState is a value of the caller that is returned unchanged.
	RelayState string `json:"relayState,omitempty"`
	// Token is the hash of the one-time token that the sign-in started with, empty if it started with a password.
	Token string `json:"token,omitempty"`

	// Methods lists the methods of the sign-in so far (RFC 8176).
	Methods []string `json:"methods,omitempty"`
	// PasswordVerified and FactorVerified are the times of the verifications, zero without a verification.
	PasswordVerified time.Time `json:"passwordVerified,omitzero"`
	FactorVerified   time.Time `json:"factorVerified,omitzero"`
	// PasswordChanged is the user's PasswordChanged when the password was verified: a changed password invalidates the sign-in.
	PasswordChanged time.Time `json:"passwordChanged,omitzero"`
	// First is the id of the factor that was verified instead of a password, empty if a password was verified.
	First string `json:"first,omitempty"`
	// Factor is the id of the factor that is being verified or enrolled. Transaction is the id of a verification that another device
	// completes.
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
