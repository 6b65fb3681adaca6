package store

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// Repair is a mark for a principal whose account has drifted.
type Repair struct {
	Mark engine.Mark
	// RemoteName is what the target was seen to call a group, so that its sequence knows that it has to be renamed. Empty leaves what
	// is known.
	RemoteName string
}

// Repairs is the capability to mark what was found to have drifted, for Drift.
type Repairs interface {
	// Repair makes marks in a transaction of its own.
	Repair(ctx context.Context, now time.Time, repairs []Repair) error
}
