// Package conformance runs checks against a SCIM 2.0 service provider over HTTP. It reports which requirements of the RFCs hold and which
// do not, with the exchange that shows each violation.
//
// A check is a value ([Check]). The checks are in conformance/checks, the requirements that they test in conformance/requirements, the
// output formats in conformance/report. [Run] discovers what the target supports, plans which checks apply, runs them in sequence and
// removes everything that it created. The expectations of a check are written by hand or predicted by the small model in
// conformance/internal/oracle. Neither this package nor those packages import the filter or PATCH code of this module, so that an error in
// that code cannot hide itself.
//
// run.go runs the checks, session.go has the state of a run, t.go what a check calls, and wire.go sends the requests. created.go tracks the
// objects that a run creates, prospects.go those that the next request may create, deletes.go those that the target claims to have deleted.
// journal.go stores all of them on disk, and cleanup.go removes them after a crash.
//
// The package is not a load generator, not a SCIM client library and not a validator of single documents. It does not need testing.T:
// results are plain data.
package conformance
