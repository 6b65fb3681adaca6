package engine

import "time"

// Lag reports how far the target of an app is behind the directory.
type Lag struct {
	App string `json:"-"`
	// Due is the number of principals that wait to be provisioned, including those in a backoff. Oldest is the time of the oldest change among
	// these principals, zero if Due is 0.
	Due      int `json:"due"`
	Retrying int `json:"retrying"` // pending principals in a backoff
	// Accepted is the number of pending principals with a change that the target has accepted and not yet carried out.
	Accepted int `json:"accepted"`
	// Failed and Held are the numbers of principals that wait for a Mark or a decision. Due does not include them.
	Failed      int       `json:"failed"`
	Held        int       `json:"held"`
	Oldest      time.Time `json:"oldest,omitzero"`
	LastSuccess time.Time `json:"lastSuccess,omitzero"` // end of the last successful sequence, zero if no sequence has succeeded
	Hold        Hold      `json:"-"`
}

// Overdue is a deactivation that was not confirmed within Options.DeactivateWithin.
type Overdue struct {
	App      string
	ID       string // of the user
	RemoteID string // of the account, empty if unknown
	Since    time.Time
	Want     Want   // Inactive or Absent
	Status   Status // of the user
	Error    string // of the last sequence of the user
	Hold     Hold   // of the lane
}
