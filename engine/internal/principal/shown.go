package principal

import (
	"fmt"

	"github.com/scimwright/scimwright/engine"
)

// Shown returns what a caller sees of a row.
func Shown(s engine.State) engine.PrincipalState {
	return engine.PrincipalState{
		Desired: s.Desired, Synced: s.Synced, Status: s.Status, Want: s.Want, NextAt: s.NextAt, Attempts: s.Attempts,
		RemoteID: s.RemoteID, RemoteName: s.RemoteName, Origin: s.Origin, IgnoredAttributes: Ignored(s.IgnoredAttributes),
		Operation: s.LastOperation, HTTP: s.LastStatus, Error: s.LastError, UpdatedAt: s.UpdatedAt,
		Pending: pendingChange(s.Pending),
	}
}

func pendingChange(p *engine.Pending) *engine.PendingChange {
	if p == nil {
		return nil
	}
	return &engine.PendingChange{
		Operation: p.Operation, Method: p.Method, Path: p.Path, Transaction: p.Txn, Location: p.Location, Generation: p.Gen,
		At: p.At, Deadline: p.Deadline, Reads: p.Reads,
	}
}

// Ignored returns the attributes that the target was seen to ignore, without those that were only sent and not read since.
func Ignored(all map[string]engine.IgnoredAttribute) map[string]engine.IgnoredAttribute {
	var out map[string]engine.IgnoredAttribute
	for path, u := range all {
		if u.Rounds == 0 {
			continue
		}
		if out == nil {
			out = map[string]engine.IgnoredAttribute{}
		}
		out[path] = u
	}
	return out
}

// Outstanding describes a change that the target has accepted and not carried out.
func Outstanding(p *engine.Pending) string {
	return fmt.Sprintf("%s: %s, not carried out yet", p.Operation, p)
}
