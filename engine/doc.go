// Package engine provisions users and groups of an identity provider into SCIM 2.0 targets, and can be embedded.
//
// The embedder implements [Directory], which answers what a user or group should look like at a target, and calls
// [Engine.Mark] inside its own transaction whenever that may have changed. The engine does the rest: per app it looks up,
// creates, links, updates, reactivates and deactivates accounts and pushes groups, and repeats what failed until the target
// has the desired state.
//
// State beats messages: there is one row per app and principal with the generation that is desired and the one that is
// synchronised. A burst of changes collapses into one sequence, the order cannot be inverted, and after a crash the engine
// goes on where the rows say. A user is never deleted at a target, only deactivated.
//
// The parts: plan decides which requests to send, connect sends one and reads the answer, lane owns order, concurrency,
// pauses and quarantine of one app, reconcile compares what a target lists with what is wanted, rehearse pretends writes, sqlstore keeps
// the state in the embedder's SQLite or PostgreSQL database, metrics counts what happens, for Prometheus. enginetest has a fake
// target and a directory in memory for tests. The engine knows no management API and no database driver.
package engine
