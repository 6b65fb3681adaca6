package sandbox

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// closing collects what was started and ends it backwards, once.
type closing struct {
	steps []func(context.Context) error
	once  sync.Once
	err   error
}

// onClose adds a step, right after the thing it ends was started.
func (c *closing) onClose(f func(context.Context) error) { c.steps = append(c.steps, f) }

// run runs all steps, whatever one of them says. A second call waits for the first and returns what it did.
func (c *closing) run(ctx context.Context) error {
	c.once.Do(func() {
		for _, step := range slices.Backward(c.steps) {
			c.err = errors.Join(c.err, step(ctx))
		}
	})
	return c.err
}
