// Package sequence processes one principal once: it queries the directory, sends the requests of a sequence of package plan and stores the
// result. [Deps.Run] is the only entry point.
//
// user.go and group.go create the input of a sequence. walk.go reads the members of a group, at the same time as the sequence sends the
// first of them. account.go determines the ownership of accounts. send.go stores and checks what is required before a request, and sends
// and retries the request. push.go stores the progress of the push of a large group. guard.go and halt.go determine which requests must not
// be sent now; sharedhalts.go reads the halts. end.go determines the status, the time of the next attempt and the signal to the lane.
//
// Package plan decides which request comes next, including whether a create is repeated: a lost response is followed by a lookup. It also
// decides the order and size of requests for members. Package applane decides which principal comes next.
package sequence
