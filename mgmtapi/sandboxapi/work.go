package sandboxapi

import "context"

// Work is the provisioning side, as the composition root gives it.
type Work interface {
	// Drain waits until nothing is due any more. When ctx ends first, its error comes with how much is left, and who waits for what.
	Drain(ctx context.Context) (Left, error)
}

// Left is what is left to be done.
type Left struct {
	Pending int
	Waiting []string // for people: who, why and until when; the first of them
}
