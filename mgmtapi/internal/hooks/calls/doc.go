// Package calls calls inline hooks: endpoints outside that are asked while something is decided here. It authenticates the calls, bounds
// them in time and size, repeats a failed one once, and takes from an answer only what the type of the hook allows.
//
// An answer counts as a whole or not at all: one command that is not allowed, and nothing of it is followed. What goes out and what
// comes back is told to the system log, without secrets. Which hooks there are is the matter of mgmtapi/internal/hooks/inlinehooks.
package calls
