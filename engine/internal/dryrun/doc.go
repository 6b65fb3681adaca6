// Package dryrun processes one principal as a lane would, without a lease, and stores nothing. The same [sequence.Deps.Run] gets a ledger
// that stores in memory ([ledger]) and a line that sends reads only ([line]).
//
// A dry run only reads: the store through [Store], and the target with GET requests at the rate limit of the app.
package dryrun
