// Package lane runs the work of one app at a time under a lease: order, concurrency, pauses, breaker and quarantine.
//
// A lane is owned by at most one engine, which may therefore hold all of this as plain in-memory code. The lease carries an
// epoch, and whoever writes results does so under that epoch, so that an owner that was frozen past its lease can do no harm.
// Dispatcher finds lanes that are due, by timer and by wake-up. What the work is, and where lanes are stored, is unknown here.
//
// gate.go decides about holds: the pause after a 429, the breaker, the quarantine and the backoff. pace.go is the rate limit, loop.go the
// work within one lease, dispatcher.go the leases.
package lane
