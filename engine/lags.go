package engine

import "time"

// Lag is how far the target of an app is behind the directory.
type Lag struct {
	App string `json:"-"`
	// Due is how many principals wait to be provisioned, those in a back-off too; Oldest since when the first of them does, zero for
	// none.
	Due      int `json:"due"`
	Retrying int `json:"retrying"` // of those that are due, how many are in a back-off
	// Accepted is how many of those that are due have a change that the target has accepted and was not seen to have carried out.
	Accepted int `json:"accepted"`
	// Failed and Held are not due: they wait for a Mark or a decision.
	Failed      int       `json:"failed"`
	Held        int       `json:"held"`
	Oldest      time.Time `json:"oldest,omitzero"`
	LastSuccess time.Time `json:"lastSuccess,omitzero"` // the last sequence that brought a principal into its desired state, zero for none
	Hold        Hold      `json:"-"`
}

// Overdue is a deactivation that has not arrived within Options.DeactivateWithin.
type Overdue struct {
	App      string
	ID       string // of the user
	RemoteID string // of the account, empty when it is not known whether there is one
	Since    time.Time
	Want     Want   // Inactive or Absent
	Status   Status // of the user
	Error    string // of its last sequence
	Hold     Hold   // of the lane
}
