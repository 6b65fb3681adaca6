package model

import "github.com/scimwright/scimwright/internal/docstore"

// Transition is a change of a user that was accepted and waits to be done. Its document id is that of the user, whose
// User.Transition names the status it leads to as long as it waits.
type Transition struct {
	// Delete says that a DEPROVISIONED user is to be removed, Activate that the user is to be activated. Otherwise the user is to be
	// deactivated.
	Delete   bool `json:"delete,omitempty"`
	Activate bool `json:"activate,omitempty"`
	// Notify says that a message is sent when it is done: to the caller of a deactivation, and to the user of an activation.
	Notify bool `json:"notify,omitempty"`
	// Token is the activation token that the caller has received instead, and Base the base of the links of an activation.
	Token *OneTimeToken `json:"token,omitempty"`
	Base  string        `json:"base,omitempty"`
	// By is who asked for it.
	By LogParty `json:"by"`
}

func transitionCollection() docstore.Collection[Transition] {
	return docstore.NewCollection[Transition]("user_transitions")
}
