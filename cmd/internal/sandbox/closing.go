package sandbox

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// closing collects the close functions of started services and runs the functions once, in reverse order.
type closing struct {
	steps []func(context.Context) error
	once  sync.Once
	err   error
}

// onClose adds a close function. The caller adds the function immediately after it has started the service that the function stops.
func (c *closing) onClose(f func(context.Context) error) { c.steps = append(c.steps, f) }

// run runs all close functions, even if one returns an error. A second call waits for the first and returns the same error.
func (c *closing) run(ctx context.Context) error {
	c.once.Do(func() {
		for _, step := range slices.Backward(c.steps) {
			c.err = errors.Join(c.err, step(ctx))
		}
	})
	return c.err
}
