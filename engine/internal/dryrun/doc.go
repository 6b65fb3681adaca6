// Package dryrun works on one principal as a lane would, without a lease, and keeps nothing: the same [sequence.Deps.Run] gets a ledger
// that stores in memory ([ledger]) and a line that sends reads only ([line]).
//
// A dry run reaches the store by the reads of [Store], and the target by GET at the rate of the app.
package dryrun
