package principal

import (
	"fmt"

	"github.com/scimwright/scimwright/engine"
)

// Shown returns the part of a row that callers see: its state with the attributes that the target ignored.
func Shown(s engine.State) engine.PrincipalState {
	shown := s.PrincipalState()
	shown.IgnoredAttributes = Ignored(s.IgnoredAttributes)
	return shown
}

// Ignored returns the attributes that the target ignored, without the attributes that are not confirmed: they were sent, and the account
// has not been read since.
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

// Outstanding describes a change that the target has accepted and not yet carried out.
func Outstanding(p *engine.Pending) string {
	return fmt.Sprintf("%s: %s, not carried out yet", p.Operation, p)
}
