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
}

// SignInByUser is the index of the sign-ins by their user.
const SignInByUser = "user_id"

func signInCollection() docstore.Collection[SignIn] {
	return docstore.NewCollection("sign_ins",
		docstore.Index[SignIn]{Name: SignInByUser, Values: func(s *SignIn) []any { return []any{s.UserID} }},
	)
}
