// Package sequence works on one principal once: it queries the directory, sends the requests of a sequence of package plan and stores how
// it ended. [Deps.Run] is the only entrance.
//
// The files are named after what they decide: user.go and group.go what a sequence starts from, account.go whose account one is, send.go
// what is stored and checked before a request and whether it is sent again, push.go how far the push of a large group has come, guard.go
// and halt.go what must not be sent now, and end.go the status, the time of the next attempt and what the lane learns.
//
// What is to be sent next, and with it whether a create is repeated, is decided in package plan: a response that was lost is followed by a
// lookup. So are the order and size of requests for members. Which principal comes next is decided in package applane.
package sequence
