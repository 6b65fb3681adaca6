package sandbox

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// closing collects the close functions of the started parts and runs them once, in reverse order.
type closing struct {
	steps []func(context.Context) error
	once  sync.Once
	err   error
}

// onClose adds a step. The caller adds it right after it has started the part that the step stops.
func (c *closing) onClose(f func(context.Context) error) { c.steps = append(c.steps, f) }

// run runs all steps, even if one returns an error. A second call waits for the first and returns the same error.
func (c *closing) run(ctx context.Context) error {
	c.once.Do(func() {
		for _, step := range slices.Backward(c.steps) {
			c.err = errors.Join(c.err, step(ctx))
		}
	})
	return c.err
}
