package model

import "github.com/scimwright/scimwright/internal/docstore"

// Transition is a change of a user that was accepted and waits to be done. Its document id is that of the user, whose
// User.Transition names the status it leads to as long as it waits.
type Transition struct {
	// Delete says that a DEPROVISIONED user is to be removed. Otherwise the user is to be deactivated.
	Delete bool `json:"delete,omitempty"`
	// Notify says that who asked for a deactivation gets a message when it is done.
	Notify bool `json:"notify,omitempty"`
	// By is who asked for it.
	By LogParty `json:"by"`
}

func transitionCollection() docstore.Collection[Transition] {
	return docstore.NewCollection[Transition]("user_transitions")
}
