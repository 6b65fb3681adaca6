// Package plan decides which SCIM requests bring one user or one group of a target to its desired state.
//
// A sequence is a state machine without I/O: it yields a request, is fed the answer, and ends with an outcome. What it sends
// can therefore be listed and compared request by request, and a crash between two steps is the same as never having been
// asked for the third. The package knows nothing of HTTP clients, storage, retries or clocks: those are the business of
// connect, the stores and lane.
package plan
