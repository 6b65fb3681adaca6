package sandboxport

import "context"

// Work is the provisioning side of the sandbox.
type Work interface {
	// Drain waits until no work is pending. If ctx ends first, Drain returns the error of ctx and the pending work.
	Drain(ctx context.Context) (Left, error)
}

// Left is the work that is still pending.
type Left struct {
	Pending int
	Waiting []string // one line per item: principal, reason and time; only the first items
}
