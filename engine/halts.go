package engine

import (
	"fmt"
	"time"
)

// Halt is an operation that is disabled for one app or for all apps.
type Halt struct {
	App       string    `json:"app,omitempty"` // empty for all apps
	Operation Operation `json:"operation"`
	Reason    string    `json:"reason,omitempty"`
	Since     time.Time `json:"since"`
}

func (h Halt) String() string {
	where := "for this app"
	if h.App == "" {
		where = "for all apps"
	}
	if h.Reason == "" {
		return fmt.Sprintf("%s is halted %s", h.Operation, where)
	}
	return fmt.Sprintf("%s is halted %s: %s", h.Operation, where, h.Reason)
}

// HaltOperations returns the operations that can be halted. All except OpLink are requests that change the target. OpLink is the takeover
// of an account or group that a lookup found and that the engine did not create.
func HaltOperations() []Operation {
	return []Operation{
		OpCreate, OpLink, OpUpdate, OpReactivate, OpDeactivate, OpMembers, OpDelete,
	}
}
