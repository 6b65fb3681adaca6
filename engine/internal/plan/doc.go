// Package plan decides which SCIM requests bring one user or one group of a target to its desired state.
//
// A sequence is a state machine without I/O: it yields a request, is fed the answer, and ends with an outcome. What it sends
// can therefore be listed and compared request by request, and a crash between two steps is the same as never having been
// asked for the third. The package knows nothing of HTTP clients, storage, retries or clocks: those are the business of
// connect, the stores and lane.
//
// user.go decides about lookup, creation and adoption of an account, and with it that a create is not repeated before a lookup. write.go
// decides the method and form of an update, and whether it had an effect; kept.go and overlay.go which attributes are sent. group.go does
// for groups what user.go does for users, and push.go decides the requests for members: their order, form and size (the method batches).
// accepted.go waits for changes that were answered with 202, list.go reads lists by pages. failure.go derives the class of a failure
// from a response.
package plan
