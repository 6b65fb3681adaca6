package serving

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Closing collects the close functions of started services and runs the functions once, in reverse order.
type Closing struct {
	steps []func(context.Context) error
	once  sync.Once
	err   error
}

// OnClose adds a close function. The caller adds the function immediately after it has started the service that the function stops.
func (c *Closing) OnClose(f func(context.Context) error) { c.steps = append(c.steps, f) }

// CloseAll runs all close functions, even if one returns an error. A second call waits for the first and returns the same error.
func (c *Closing) CloseAll(ctx context.Context) error {
	c.once.Do(func() {
		for _, step := range slices.Backward(c.steps) {
			c.err = errors.Join(c.err, step(ctx))
		}
	})
	return c.err
}
