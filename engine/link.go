package engine

import (
	"fmt"
	"strings"
)

// Link assigns an account or group of a target to a principal. As JSON, one per line, links can be migrated from one identity provider to
// another without creating an account again:
//
//	{"kind":"user","id":"u-1","remoteId":"2819c223","remoteName":"ann@example.org","origin":"created"}
type Link struct {
	Kind     Kind   `json:"kind"`
	ID       string `json:"id"` // of the principal in the directory
	RemoteID string `json:"remoteId"`
	// RemoteName is the userName or displayName on the target, if known.
	RemoteName string `json:"remoteName,omitempty"`
	// Origin is how the link was created. Default: imported.
	Origin Origin `json:"origin,omitempty"`
}

// Conflict is a link that cannot be created.
type Conflict struct {
	Link   Link   `json:"link"`
	Reason string `json:"reason"`
}

// LinkError is returned when a call creates none of its links, because some of them conflict.
type LinkError struct{ Conflicts []Conflict }

// linkErrorShown is the maximum number of conflicts in the message of a LinkError.
const linkErrorShown = 5

// Error returns a message with the first conflicts.
func (e *LinkError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "engine: no links created: %d conflicts:", len(e.Conflicts))
	for i, c := range e.Conflicts {
		if i == linkErrorShown {
			fmt.Fprintf(&b, " and %d more", len(e.Conflicts)-i)
			break
		}
		fmt.Fprintf(&b, " %s %s to %s: %s;", c.Link.Kind, c.Link.ID, c.Link.RemoteID, c.Reason)
	}
	return strings.TrimSuffix(b.String(), ";")
}
