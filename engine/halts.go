package engine

import (
	"fmt"
	"time"
)

// Halt is an operation that is switched off, for one app or for all of them.
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

// HaltOperations are the operations that can be halted. All but OpLink are requests that change the target; OpLink is taking over an
// account or a group that a lookup found and that the engine did not create.
func HaltOperations() []Operation {
	return []Operation{
		OpCreate, OpLink, OpUpdate, OpReactivate, OpDeactivate, OpMembers, OpDelete,
	}
}
