// Package plan decides which SCIM requests bring one user or one group of a target to its desired state.
//
// A sequence is a state machine without I/O: it returns a request, receives the response, and ends with an outcome. Its requests can
// therefore be listed and compared one by one. A crash between two steps has the same effect as a stop of the sequence between these steps.
// The package does not depend on HTTP clients, storage, retries or clocks: packages connect, lane and the stores provide those.
//
// user.go decides on lookup, creation and linking of an account, and ensures that a create is not repeated before a lookup. write.go
// decides the method and form of an update, and whether it had an effect; kept.go and overlay.go decide which attributes are sent. group.go
// does for groups what user.go does for users. push.go decides the requests for members: their order, form and size (the method batches).
// accepted.go waits for accepted changes (202), list.go reads lists page by page. failure.go derives the class of a failure from a
// response.
package plan
