// Package conformance runs checks against a SCIM 2.0 service provider over HTTP. It reports which requirements of the RFCs hold and which
// do not, with the exchange that shows each violation.
//
// Use it in a program that runs the suite. A Go test of a server uses conformance/conformancetest. The command scim-conformance runs the
// suite without a program.
//
// A check is a value ([Check]). The checks are in conformance/checks, the requirements that they test in conformance/requirements, the
// output formats in conformance/report. [Run] discovers what the target supports, plans which checks apply, runs them in sequence and
// removes everything that it created. The expectations of a check are written by hand or predicted by the small model in
// conformance/internal/oracle. Neither this package nor those packages import the filter or PATCH code of this module, so that an error in
// that code cannot hide itself.
//
// A profile describes the requests of a provisioning client such as Okta.
//
// The package is not a load generator, not a SCIM client library and not a validator of single documents. It does not need testing.T:
// results are plain data.
package conformance

// run.go runs the checks, session.go has the state of a run, t.go what a check calls, and wire.go sends the requests. created.go tracks the
// objects that a run creates, prospects.go those that the next request may create, deletes.go those that the target claims to have deleted.
// journal.go stores all of them on disk, and cleanup.go removes them after a crash.
//
// A target may respond to the same request in different ways. The result of a run describes how steady the target was: steadiness.go has
// its type, and measures whether the order of lists is stable. lag.go measures the time until a created object can be read. repeats.go
// repeats requests that failed. A target may also alter or reject what checks send, or lack a feature: survey.go tests which attributes of
// users the target stores as sent, substitute.go repeats checks with other attributes, reduced.go creates objects with fewer members,
// removal.go detects that the target deletes no objects, and rights.go that the credentials of the run do not permit writes.
// profile.go has the requests of provisioning clients. The files client_*.go send them and evaluate the responses.
