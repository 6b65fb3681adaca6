package engine

import (
	"slices"
	"time"

	"github.com/scimwright/scimwright/scim"
)

// PrincipalExplanation is all available information about one principal in one app.
type PrincipalExplanation struct {
	App  string `json:"app"`
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
	// Explanation is empty if the directory is not an Explainer.
	Explanation
	// State is the stored state, including the attributes that the target ignores. It is empty for a principal that was never marked.
	State PrincipalState `json:"state"`
	// Waiting are the users of a group that have no account yet; the first MaxNamed of them.
	Waiting []string `json:"waiting,omitempty"`
	// Exchanges are the last exchanges with the target, newest first.
	Exchanges []Sent `json:"exchanges"`
}

// ProvisionOptions configures the provisioning of one principal on demand.
type ProvisionOptions struct {
	// ForceSync also sends the attributes that the target ignored before (State.IgnoredAttributes).
	ForceSync bool
	// AllMembers pushes all members of a group, not only the known changes.
	AllMembers bool
}

// Trace describes one sequence of one principal, step by step: a dry run (see provision.Traces.DryRun) or a real run (see
// provision.Traces.Run).
type Trace struct {
	App       string    `json:"app"`
	Kind      Kind      `json:"kind"`
	ID        string    `json:"id"`
	Rehearsed bool      `json:"rehearsed"` // writes were simulated
	At        time.Time `json:"at"`

	// Want and Desired are the desired state: for a user the mapped attributes without secrets, for a group its name.
	Want    Want           `json:"want"`
	Desired *scim.Resource `json:"desired,omitempty"`
	// State is the stored state: before a dry run, or after a run.
	State PrincipalState `json:"state"`

	Requests  []Sent    `json:"requests"`
	Operation Operation `json:"operation"`
	Outcome   Class     `json:"outcome"`
	HTTP      int       `json:"http,omitempty"`    // status of the response that determined the outcome
	Message   string    `json:"message,omitempty"` // why the outcome is not Done

	// Diff has the changes of the attributes, Members the changes of the members of a group. After a real run, Diff and Members contain only
	// what the exchanges of the run show.
	Diff    []Difference `json:"diff,omitempty"`
	Members *MemberDiff  `json:"members,omitempty"`
	// Waiting are the users of a group that have no account at the target yet; the first MaxNamed of them.
	Waiting []string `json:"waiting,omitempty"`
	// Hold is the reason why the engine currently sends nothing, empty if nothing prevents sending.
	Hold string `json:"hold,omitempty"`
}

// Idle reports whether a dry run leaves the target unchanged: it succeeds and finds no difference. The trace may contain requests without
// effect, e.g. a deactivation of an account that is already inactive and was not read.
func (t Trace) Idle() bool {
	if t.Outcome != Done || len(t.Diff) > 0 || len(t.Waiting) > 0 || t.Members != nil && t.Members.Added+t.Members.Removed > 0 {
		return false
	}
	switch t.Operation {
	case OpNone, OpLookup, OpDeactivate, OpReactivate, OpMembers:
		return true
	case OpUpdate: // a changed password causes an update without a difference
		return !slices.ContainsFunc(t.Requests, func(s Sent) bool { return s.Pretended })
	case OpCreate, OpLink, OpDelete, OpUnlink:
	}
	return false
}

// Sent is one request and its response. Secrets are removed from it, and long bodies are truncated.
type Sent struct {
	Method    string        `json:"method"`
	Path      string        `json:"path"` // relative to the base URL, with the query
	IfMatch   string        `json:"ifMatch,omitempty"`
	Body      string        `json:"body,omitempty"`
	Pretended bool          `json:"pretended,omitempty"` // simulated: not sent to the target
	Status    int           `json:"status"`              // 0 if no response was received
	Answer    string        `json:"answer,omitempty"`
	Error     string        `json:"error,omitempty"` // why there is no complete response
	At        time.Time     `json:"at,omitzero"`
	Took      time.Duration `json:"took,omitempty"` // nanoseconds
}

// PrincipalState is the part of a State that is shown to users.
type PrincipalState struct {
	Desired           int64                       `json:"desired"` // generations; 0 for a principal that was never marked
	Synced            int64                       `json:"synced"`
	Status            Status                      `json:"status,omitempty"`
	Want              Want                        `json:"want,omitempty"`
	NextAt            time.Time                   `json:"nextAt,omitzero"`
	Attempts          int                         `json:"attempts,omitempty"`
	RemoteID          string                      `json:"remoteId,omitempty"`
	RemoteName        string                      `json:"remoteName,omitempty"`
	Origin            Origin                      `json:"origin,omitempty"`
	IgnoredAttributes map[string]IgnoredAttribute `json:"unkept,omitempty"`
	Operation         Operation                   `json:"operation,omitempty"`
	HTTP              int                         `json:"http,omitempty"`
	Error             string                      `json:"error,omitempty"`
	UpdatedAt         time.Time                   `json:"updatedAt,omitzero"`
	Pending           *PendingChange              `json:"pending,omitempty"`
}

// PrincipalState returns the part of the state that is shown to users.
func (s *State) PrincipalState() PrincipalState {
	return PrincipalState{
		Desired: s.Desired, Synced: s.Synced, Status: s.Status, Want: s.Want, NextAt: s.NextAt, Attempts: s.Attempts, RemoteID: s.RemoteID,
		RemoteName: s.RemoteName, Origin: s.Origin, IgnoredAttributes: s.IgnoredAttributes, Operation: s.LastOperation, HTTP: s.LastStatus,
		Error: s.LastError, UpdatedAt: s.UpdatedAt, Pending: s.Pending.Change(),
	}
}

// Change returns the part of a pending change that is shown to users, or nil for a nil Pending.
func (p *Pending) Change() *PendingChange {
	if p == nil {
		return nil
	}
	return &PendingChange{
		Operation: p.Operation, Method: p.Method, Path: p.Path, Transaction: p.Txn, Location: p.Location, Generation: p.Gen,
		At: p.At, Deadline: p.Deadline, Reads: p.Reads,
	}
}

// PendingChange is the part of a Pending that is shown to users.
type PendingChange struct {
	Operation   Operation `json:"operation"`
	Method      string    `json:"method"`
	Path        string    `json:"path"`
	Transaction string    `json:"transaction,omitempty"` // Set-Txn of the response
	Location    string    `json:"location,omitempty"`
	Generation  int64     `json:"generation"`
	At          time.Time `json:"at"`
	Deadline    time.Time `json:"deadline"`
	Reads       int       `json:"reads"` // number of reads since the change was accepted
}

// Difference is one attribute that changes. Before and After are JSON values with secrets redacted; nil means no value.
type Difference struct {
	Path   string `json:"path"` // as in RFC 7644 section 3.10: title, name.givenName, urn:…:department
	Before any    `json:"before"`
	After  any    `json:"after"`
}

// MemberDiff has the changes of the members of a group: their numbers, and the first MaxNamed of them.
type MemberDiff struct {
	Added   int         `json:"added"`
	Removed int         `json:"removed"`
	Add     []MemberRef `json:"add,omitempty"`
	Remove  []MemberRef `json:"remove,omitempty"`
}

// MemberRef is a reference to a member.
type MemberRef struct {
	User string `json:"user,omitempty"` // id in the directory, empty for a member that the engine did not add
	ID   string `json:"id"`             // on the target
	Name string `json:"name,omitempty"`
}

// MaxNamed is the maximum length of two kinds of lists: the changed members in a MemberDiff, and the users for which a group waits.
const MaxNamed = 100
