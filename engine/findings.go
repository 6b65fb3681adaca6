package engine

import (
	"fmt"
	"strings"
	"time"
)

// DriftRequest configures a comparison of a target with the directory.
type DriftRequest struct {
	Kind Kind // Default: User
	// Repair marks only the repairable findings, after the comparison is complete. The sequences then repair them, subject to the target's
	// options and its Guard.
	Repair bool
	// Each is called for each finding immediately. An error stops the comparison, and nothing is marked. Default: findings are only counted.
	Each func(Finding) error
}

// DriftReport is the summary of a comparison of a target with the directory.
type DriftReport struct {
	App  string `json:"-"`
	Kind Kind   `json:"-"`
	// Listed is the number of objects on the target, Known the number of principals known to the engine, Compared the number of known
	// principals with an account.
	Listed   int `json:"listed"`
	Known    int `json:"known"`
	Compared int `json:"compared"`
	// Busy is the number of principals that differ but are pending or were processed during the comparison. Their final state is not known
	// yet: they are neither findings nor marked.
	Busy int `json:"busy"`
	// Hidden is the number of groups whose members were not compared, because the target returned no members.
	Hidden int               `json:"hidden"`
	Found  map[DriftKind]int `json:"found"`  // number of findings by kind
	Marked int               `json:"marked"` // number of principals that were marked for repair
}

// Drifted returns the number of repairable findings.
func (r DriftReport) Drifted() (n int) {
	for what, count := range r.Found {
		if what.Repairable() {
			n += count
		}
	}
	return n
}

// Reconciliation is the summary of a full reconciliation of one kind.
type Reconciliation struct {
	Drift DriftReport
	// Unknown is the number of principals that the directory lists and that had no state in the engine; they were marked. Unlisted is the
	// number of principals with a state that the directory does not list; the engine changes nothing for them. Unknown and Unlisted are 0 if
	// the directory is not a [Lister].
	Unknown, Unlisted int
}

// Verification reports whether a principal has its desired state, by the engine's generations and by the state on the target.
type Verification struct {
	App  string `json:"app"`
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`

	Desired   int64     `json:"desired"`         // generation of the last mark, 0 for a principal that was never marked
	Confirmed int64     `json:"confirmed"`       // generation that the target is known to have
	ReadAt    time.Time `json:"readAt,omitzero"` // zero if the target could not be read, or nothing had to be read
	Equal     bool      `json:"equal"`           // the target has the desired state, except for Ignored
	// Differ has the paths of the attributes that differ on the target. Diff has their values: Before on the target, After in the desired
	// state.
	Differ []string     `json:"differ,omitempty"`
	Diff   []Difference `json:"diff,omitempty"`
	// Members are the members that the target's group lacks (Add) or has in excess (Remove).
	Members *MemberDiff `json:"members,omitempty"`
	// Waiting are users that cannot be members yet because they have no account.
	Waiting []string `json:"waiting,omitempty"`
	// Ignored are the paths that the target ignores and the engine therefore no longer sends.
	Ignored []string `json:"ignored,omitempty"`
	// Message describes why the target was not read, or that the account or group was not found on the target.
	Message string `json:"message,omitempty"`
}

// Converged reports whether nothing is left to do: the last mark is confirmed, and the target was read and is equal. For a principal that
// is not desired and never had an account, the target is not read (ReadAt is zero).
func (p Verification) Converged() bool {
	return p.Desired == p.Confirmed && p.Equal && len(p.Waiting) == 0
}

// String returns a line such as "desired generation 17, confirmed generation 17, read back equal at 10:02:03".
func (p Verification) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "desired generation %d, confirmed generation %d, ", p.Desired, p.Confirmed)
	switch {
	case p.ReadAt.IsZero():
		b.WriteString("not read back")
	case p.Equal:
		b.WriteString("read back equal at " + p.ReadAt.Format(time.TimeOnly))
	default:
		b.WriteString("read back different at " + p.ReadAt.Format(time.TimeOnly) + " in " + strings.Join(p.Differ, ", "))
	}
	if len(p.Ignored) > 0 {
		b.WriteString(", ignored by the target: " + strings.Join(p.Ignored, ", "))
	}
	if len(p.Waiting) > 0 {
		b.WriteString(", waiting for " + strings.Join(p.Waiting, ", "))
	}
	if p.Message != "" {
		b.WriteString(" (" + p.Message + ")")
	}
	return b.String()
}

// DriftKind is the way in which a target differs from the desired state.
type DriftKind string

// The kinds. The engine repairs DriftMissing, DriftDiffers, DriftActivity and DriftMembers. DriftUnmanaged and DriftDuplicate require a
// decision. DriftIgnored reports values that the target does not store.
const (
	DriftMissing   DriftKind = "missing"   // a principal should have an account and has none
	DriftDiffers   DriftKind = "differs"   // attributes have other values
	DriftActivity  DriftKind = "active"    // users: active differs; groups: the group should no longer exist
	DriftMembers   DriftKind = "members"   // the members of a group differ
	DriftUnmanaged DriftKind = "stranger"  // an account of no principal; the engine never changes it
	DriftDuplicate DriftKind = "duplicate" // several listed accounts have the same externalId
	DriftIgnored   DriftKind = "ignored"   // values that the target ignored and that are no longer sent
)

// Repairable reports whether a sequence of the principal fixes a finding of this kind.
func (w DriftKind) Repairable() bool {
	return w == DriftMissing || w == DriftDiffers || w == DriftActivity || w == DriftMembers
}

// Finding is one difference between a target and the desired state.
type Finding struct {
	What       DriftKind `json:"what"`
	Principal  string    `json:"principal,omitempty"` // owner of the account, empty if unmanaged
	RemoteID   string    `json:"remoteId,omitempty"`
	RemoteName string    `json:"remoteName,omitempty"` // userName or displayName on the target, if known
	// Values are the values that differ or are ignored, by attribute path. Values of secrets are omitted.
	Values []Mismatch `json:"values,omitempty"`
	// Lacking is the number of members that the group lacks, Surplus the number of members that it should not have. Examples are some of their
	// ids on the target.
	Lacking  int      `json:"lacking,omitempty"`
	Surplus  int      `json:"surplus,omitempty"`
	Examples []string `json:"examples,omitempty"`
	// ExternalID and Other belong to DriftDuplicate: the externalId that two accounts have in common, and the id of the other account.
	ExternalID string `json:"externalId,omitempty"`
	Other      string `json:"other,omitempty"`
	Note       string `json:"note,omitempty"` // other details, e.g. why an account was not created
}

// Mismatch is an attribute of an account or group whose value differs from the desired one.
type Mismatch struct {
	Path string `json:"path"` // RFC 7644 section 3.10, e.g. name.givenName
	Have any    `json:"have"` // on the target, nil if absent
	Want any    `json:"want"` // nil: it should have no value
}
