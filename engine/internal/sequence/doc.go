// Package sequence processes one principal once: it queries the directory, sends the requests of a sequence of package plan and stores the
// result. [Deps.Run] is the only entry point.
//
// Responsibilities of the files: user.go and group.go the input of a sequence, account.go the ownership of accounts, send.go what is stored
// and checked before a request, and its repetition. push.go has the progress of the push of a large group, guard.go and halt.go what must
// not be sent now, and end.go the status, the time of the next attempt and the signal to the lane.
//
// Package plan decides which request comes next, including whether a create is repeated: a lost response is followed by a lookup. It also
// decides the order and size of requests for members. Package applane decides which principal comes next.
package sequence
