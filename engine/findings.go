package engine

import (
	"fmt"
	"strings"
	"time"
)

// DriftRequest says what to compare.
type DriftRequest struct {
	Kind Kind // Defaults to User
	// Repair marks what was found and can be mended, and nothing else, once all was compared. The sequences do the rest, under the
	// target's options and its Guard.
	Repair bool
	// Each is called with each finding as it is made. An error ends the comparison, and nothing is marked. Defaults to counting.
	Each func(Finding) error
}

// DriftReport sums a comparison up.
type DriftReport struct {
	App  string `json:"-"`
	Kind Kind   `json:"-"`
	// Listed is what the target has, Known the principals that the engine knows, Compared those of them that have an account.
	Listed   int `json:"listed"`
	Known    int `json:"known"`
	Compared int `json:"compared"`
	// Busy is how many principals differ that are due, or were worked on meanwhile: what they come to is not known yet, and they are
	// neither findings nor marked.
	Busy int `json:"busy"`
	// Hidden is how many groups were not compared in their members, because the target does not show any.
	Hidden int               `json:"hidden"`
	Found  map[DriftKind]int `json:"found"`  // findings
	Marked int               `json:"marked"` // principals that were marked for repair
}

// Drifted says how many findings could be repaired.
func (r DriftReport) Drifted() (n int) {
	for what, count := range r.Found {
		if what.Repairable() {
			n += count
		}
	}
	return n
}

// Reconciliation sums a full reconciliation of one kind up.
type Reconciliation struct {
	Drift DriftReport
	// Unknown is how many principals the directory lists and the engine did not know; they were marked. Unlisted is how many that the
	// engine knows are not listed: that says nothing about what they should have. Both are 0 for a directory that is no [Lister].
	Unknown, Unlisted int
}

// Verification says whether a principal has come to its desired state, by the engine's own count and by what the target has.
type Verification struct {
	App  string `json:"app"`
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`

	Desired   int64     `json:"desired"`         // generation of the last mark, 0 for a principal that was never marked
	Confirmed int64     `json:"confirmed"`       // generation that the target is known to have
	ReadAt    time.Time `json:"readAt,omitzero"` // zero when the target could not be read, or there was nothing to be read
	Equal     bool      `json:"equal"`           // the target has all that is desired, but for what is in Ignored
	// Differ are the paths in which the target differs, Diff tells how: before is what the target has, after what is desired.
	Differ []string     `json:"differ,omitempty"`
	Diff   []Difference `json:"diff,omitempty"`
	// Members are those that the target's group has too few (Add) or too many (Remove).
	Members *MemberDiff `json:"members,omitempty"`
	// Waiting are users that cannot be members yet, because they have no account.
	Waiting []string `json:"waiting,omitempty"`
	// Ignored are the paths that the target does not keep, and that are left alone since.
	Ignored []string `json:"ignored,omitempty"`
	// Message says why the target was not read, or what was found besides.
	Message string `json:"message,omitempty"`
}

// Converged says that nothing is left to be done: the last mark is confirmed, and the target was read and is equal, or nothing is
// wanted there and nothing was ever made (ReadAt is zero then).
func (p Verification) Converged() bool {
	return p.Desired == p.Confirmed && p.Equal && len(p.Waiting) == 0
}

// String returns a line such as "desired 17, confirmed 17, read back equal at 10:02:03".
func (p Verification) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "desired %d, confirmed %d, ", p.Desired, p.Confirmed)
	switch {
	case p.ReadAt.IsZero():
		b.WriteString("not read back")
	case p.Equal:
		b.WriteString("read back equal at " + p.ReadAt.Format(time.TimeOnly))
	default:
		b.WriteString("read back different at " + p.ReadAt.Format(time.TimeOnly) + " in " + strings.Join(p.Differ, ", "))
	}
	if len(p.Ignored) > 0 {
		b.WriteString(", not kept by the target: " + strings.Join(p.Ignored, ", "))
	}
	if len(p.Waiting) > 0 {
		b.WriteString(", waiting for " + strings.Join(p.Waiting, ", "))
	}
	if p.Message != "" {
		b.WriteString(" (" + p.Message + ")")
	}
	return b.String()
}

// DriftKind says in which way a target differs from what is wanted there.
type DriftKind string

// The kinds. The engine repairs DriftMissing, DriftDiffers, DriftActivity and DriftMembers. DriftUnmanaged and DriftDuplicate need a
// decision; DriftIgnored is what the target does not store.
const (
	DriftMissing   DriftKind = "missing"   // a principal should have an account and has none
	DriftDiffers   DriftKind = "differs"   // attributes have other values
	DriftActivity  DriftKind = "active"    // active is another one; of a group: it should not be there any more
	DriftMembers   DriftKind = "members"   // a group has others
	DriftUnmanaged DriftKind = "stranger"  // an account that nobody has. It is never touched
	DriftDuplicate DriftKind = "duplicate" // an account with an externalId that another one of the list has too
	DriftIgnored   DriftKind = "ignored"   // values that the target was seen not to keep, and that are not sent any more
)

// Repairable reports whether a sequence of the principal fixes it.
func (w DriftKind) Repairable() bool {
	return w == DriftMissing || w == DriftDiffers || w == DriftActivity || w == DriftMembers
}

// Finding is one difference between a target and what is wanted there.
type Finding struct {
	What       DriftKind `json:"what"`
	Principal  string    `json:"principal,omitempty"` // whose it is, empty for nobody's
	RemoteID   string    `json:"remoteId,omitempty"`
	RemoteName string    `json:"remoteName,omitempty"` // userName or displayName at the target, as far as known
	// Values are what differs, or is ignored, by attribute path; the values of secrets are left out.
	Values []Mismatch `json:"values,omitempty"`
	// Lacking and Surplus count the members that a group should have besides, and those that it should not have; Examples are some of
	// their ids at the target.
	Lacking  int      `json:"lacking,omitempty"`
	Surplus  int      `json:"surplus,omitempty"`
	Examples []string `json:"examples,omitempty"`
	// ExternalID and Other are what a Duplicate shares, and with which account.
	ExternalID string `json:"externalId,omitempty"`
	Other      string `json:"other,omitempty"`
	Note       string `json:"note,omitempty"` // what else is known, e.g. why an account was not created
}

// Mismatch is an attribute of an account or group that has another value than is desired.
type Mismatch struct {
	Path string `json:"path"` // RFC 7644 section 3.10, e.g. name.givenName
	Have any    `json:"have"` // at the target, nil for none
	Want any    `json:"want"` // nil: it should have none
}
