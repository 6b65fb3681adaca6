// Package lane processes one app under a lease: order, concurrency, pauses, breaker and quarantine.
//
// At most one engine owns a lane, so that order, concurrency and holds are decided in memory. The lease has an epoch, and results are
// written under that epoch, so that an owner that stalled past its lease cannot overwrite newer results. Dispatcher finds pending lanes, by
// timer and by wake-up. The package does not depend on the kind of work or on the storage of the lanes.
//
// gate.go manages holds: the pause after a 429, the breaker, the quarantine and the backoff. pace.go is the rate limiter, loop.go the work
// within one lease, dispatcher.go the leases.
//
// The gate receives a Signal after the work on each principal. Package plan derives the class, which determines the Signal, from the
// response (failure.go). Package sequence derives the end of a pause from Retry-After (end.go).
package lane
