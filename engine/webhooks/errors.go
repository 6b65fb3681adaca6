package webhooks

import (
	"errors"
	"fmt"
)

// InputError is returned for an invalid value.
type InputError struct {
	Field   string // of the Endpoint or the argument
	Problem string
}

// Error returns a message with the field.
func (e *InputError) Error() string { return "webhooks: " + e.Field + ": " + e.Problem }

// LimitError is returned by Create if there are too many endpoints.
type LimitError struct {
	Limit  int
	Scope  bool // endpoints with the same App or Prefix
	Within bool // endpoints of CreateOptions.Within. Both false: all endpoints
}

// Error returns a message with the limit.
func (e *LimitError) Error() string {
	switch {
	case e.Scope:
		return fmt.Sprintf("webhooks: an app or prefix has at most %d endpoints", e.Limit)
	case e.Within:
		return fmt.Sprintf("webhooks: a tenant has at most %d endpoints", e.Limit)
	}
	return fmt.Sprintf("webhooks: at most %d endpoints are allowed", e.Limit)
}

// ErrNotFound is returned for an unknown endpoint or message.
var ErrNotFound = errors.New("webhooks: not found")

// errLost means that the endpoint was deleted, or that another process delivers to it.
var errLost = errors.New("webhooks: the lease of the endpoint is lost")

// ErrChanged is returned by Create for a key with which another endpoint was created, or one that has changed since.
var ErrChanged = errors.New("webhooks: an endpoint was created with this key, and it differs: change it, rotate its secret, or use " +
	"another key")
