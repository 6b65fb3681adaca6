package model

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/internal/docstore"
)

// sessionRandom is the number of random characters after the kind in the id of a session.
const sessionRandom = 22

// SessionLifetime is the duration of a session after it was created or prolonged.
const SessionLifetime = 2 * time.Hour

// NewSessionID returns a new id of a session. It is a secret: it authenticates the session.
func NewSessionID() string { return string(KindSession) + NewSecret(sessionRandom) }

// Session is the session of a user who has signed in. Its document id is SecretHash of its id.
type Session struct {
	UserID  string    `json:"userId"`
	Expires time.Time `json:"expires"`
	// PasswordVerified is the time at which the password was last verified.
	PasswordVerified time.Time `json:"passwordVerified"`
	// FactorVerified is the time at which a further factor was last verified, zero if no factor was verified.
	FactorVerified time.Time `json:"factorVerified,omitzero"`
	// Methods lists the methods of the sign-in, as RFC 8176 names them.
	Methods []string `json:"methods"`
}

// SessionByUser is the index of the sessions by their user.
const SessionByUser = "user_id"

func sessionCollection() docstore.Collection[Session] {
	return docstore.NewCollection("sessions",
		docstore.Index[Session]{Name: SessionByUser, Values: func(s *Session) []any { return []any{s.UserID} }},
	)
}

// EndSessions ends the sessions of a user and the sign-ins that are still open. It returns the number of ended sessions that had not
// expired.
func (d Deps) EndSessions(ctx context.Context, tx *docstore.Tx, user string) (live int, err error) {
	if _, err := d.SignIns.DeleteWhere(ctx, tx, docstore.Eq(SignInByUser, user)); err != nil {
		return 0, err
	}
	now := d.Now()
	return live, Each(ctx, tx, d.Sessions, docstore.Eq(SessionByUser, user), func(doc docstore.Doc[Session]) error {
		if now.Before(doc.Value.Expires) {
			live++
		}
		return d.Sessions.Delete(ctx, tx, doc.ID)
	})
}

// EventSessionsCleared is the topic of SessionsCleared.
const EventSessionsCleared = "sessions.cleared"

// SessionsCleared reports that a caller has requested the end of all sessions of a user. The event is not emitted if a deactivation, a new
// password or another change ends the sessions.
type SessionsCleared struct {
	User string `json:"user"`
	// Tokens is true if the tokens that clients hold for the user are revoked too.
	Tokens bool `json:"tokens,omitempty"`
}

// Topic implements Event.
func (SessionsCleared) Topic() string { return EventSessionsCleared }

// Key implements Event with the id of the user.
func (e SessionsCleared) Key() string { return e.User }
