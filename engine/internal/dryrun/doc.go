// Package dryrun processes one principal as a lane would, but without a lease, and stores nothing. It runs the code of a real sequence,
// [sequence.Deps.Run], with a [ledger] that stores in memory and a [line] that simulates all requests except reads.
//
// A dry run only reads: the store through [Store], and the target with GET requests at the rate limit of the app.
package dryrun
