package model

import "github.com/scimwright/scimwright/internal/docstore"

// Attempts counts the consecutive failed attempts to sign in as a user or to recover the account. It is a separate document because it
// changes with every attempt and the user does not. Its document id is that of the user.
type Attempts struct {
	// Series is the User.Attempts that the count belongs to. If the user has a later series, the count is 0.
	Series int `json:"series"`
	Count  int `json:"count"`
}

func attemptsCollection() docstore.Collection[Attempts] {
	return docstore.NewCollection[Attempts]("user_attempts")
}
