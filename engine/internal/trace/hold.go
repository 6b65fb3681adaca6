package trace

import (
	"fmt"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// Hold returns the reason why nothing is currently sent for a principal, empty if nothing prevents sending. rest is the suspension of a
// maintenance window of the target.
func Hold(l engine.Lane, t engine.Target, rest engine.Suspension, s engine.PrincipalState, now time.Time) string {
	switch {
	case t.Paused:
		return "the app is paused"
	case rest.Reason != "":
		return fmt.Sprintf("%s until %s", rest.Reason, rest.Until.Format(time.RFC3339))
	case l.Hold.Kind != engine.HoldNone && l.Hold.Until.After(now):
		return fmt.Sprintf("%s until %s: %s", l.Hold.Kind, l.Hold.Until.Format(time.RFC3339), l.Hold.Reason)
	case s.NextAt.After(now):
		return "next attempt at " + s.NextAt.Format(time.RFC3339)
	}
	return ""
}
