package model

import "github.com/scimwright/scimwright/internal/docstore"

// Attempts counts how often in a row somebody claimed to be a user and knew neither password nor recovery answer. It stands
// beside the user, because it changes with every attempt and the user does not. Its document id is that of the user.
type Attempts struct {
	// Series is the User.Attempts that the count belongs to. In a later series, nothing is counted yet.
	Series int `json:"series"`
	Count  int `json:"count"`
}

func attemptsCollection() docstore.Collection[Attempts] {
	return docstore.NewCollection[Attempts]("user_attempts")
}
