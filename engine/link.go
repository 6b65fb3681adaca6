package engine

import (
	"fmt"
	"strings"
)

// Link says which account or group of a target belongs to a principal. As JSON, one a line, links can be carried from one identity
// provider to another without a single account being created again:
//
//	{"kind":"user","id":"u-1","remoteId":"2819c223","remoteName":"ann@example.org","origin":"created"}
type Link struct {
	Kind     Kind   `json:"kind"`
	ID       string `json:"id"` // of the principal in the directory
	RemoteID string `json:"remoteId"`
	// RemoteName is the userName or displayName at the target, if known.
	RemoteName string `json:"remoteName,omitempty"`
	// Origin says how the link came about. Defaults to imported.
	Origin Origin `json:"origin,omitempty"`
}

// Conflict is a link that cannot be made.
type Conflict struct {
	Link   Link   `json:"link"`
	Reason string `json:"reason"`
}

// LinkError refuses links as a whole: none of them was made.
type LinkError struct{ Conflicts []Conflict }

// linkErrorShown is how many conflicts the text of a LinkError tells.
const linkErrorShown = 5

// Error tells the first conflicts.
func (e *LinkError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "engine: no link was made, %d cannot be:", len(e.Conflicts))
	for i, c := range e.Conflicts {
		if i == linkErrorShown {
			fmt.Fprintf(&b, " and %d more", len(e.Conflicts)-i)
			break
		}
		fmt.Fprintf(&b, " %s %s to %s: %s;", c.Link.Kind, c.Link.ID, c.Link.RemoteID, c.Reason)
	}
	return strings.TrimSuffix(b.String(), ";")
}
