package model

import "github.com/scimwright/scimwright/internal/docstore"

// Transition is a pending change of a user that was accepted. Its document id is that of the user. User.Transition holds the resulting
// status while the change is pending.
type Transition struct {
	// Delete is true for the deletion of a DEPROVISIONED user, Activate for an activation. Otherwise the change is a deactivation.
	Delete   bool `json:"delete,omitempty"`
	Activate bool `json:"activate,omitempty"`
	// Notify requests a message when the change has been performed: to the caller for a deactivation, to the user for an activation.
	Notify bool `json:"notify,omitempty"`
	// Token is the activation token if the caller received one instead of a message. Base is the base URL of the links of an activation.
	Token *OneTimeToken `json:"token,omitempty"`
	Base  string        `json:"base,omitempty"`
	// By is the caller that requested the change.
	By LogParty `json:"by"`
}

func transitionCollection() docstore.Collection[Transition] {
	return docstore.NewCollection[Transition]("user_transitions")
}
