package store

import (
	"context"
	"time"

	"github.com/scimwright/scimwright/engine"
)

// Repair is a mark for a principal whose account has drifted.
type Repair struct {
	Mark engine.Mark
	// RemoteName is the current name of a group on the target. The store records the name, so that the sequence renames the group if another
	// name is desired. Empty does not change the stored name.
	RemoteName string
}

// Repairs is the capability to mark principals with drift. provision.Drift needs it.
type Repairs interface {
	// Repair stores the marks in the store's own transaction.
	Repair(ctx context.Context, now time.Time, repairs []Repair) error
}
