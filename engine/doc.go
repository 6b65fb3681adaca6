// Package engine has the words and the ports of an engine that provisions users and groups of an identity provider into SCIM 2.0
// targets, and that can be embedded. [github.com/scimwright/scimwright/engine/provision] is the engine.
//
// The embedder implements [Directory], which returns what a user or group should look like at a target, and calls
// provision.Engine.Mark inside its own transaction whenever that may have changed. The engine does the rest: per app it looks up,
// creates, links, updates, reactivates and deactivates accounts and pushes groups, and repeats what failed until the target
// has the desired state.
//
// State beats messages: there is one row per app and principal with the generation that is desired and the one that is
// synchronized. A burst of changes collapses into one sequence, the order cannot be inverted, and after a crash the engine
// continues where the rows say. A user is never deleted at a target, only deactivated.
//
// The parts: provision is the engine, plan decides which requests to send, connect sends one and reads the answer, lane owns order,
// concurrency, pauses and quarantine of one app, reconcile compares what a target lists with what is desired, rehearse pretends
// writes, store defines what a store of the state implements, sqlstore keeps the state in the embedder's SQLite or PostgreSQL
// database, metrics counts what happens, for Prometheus. enginetest has a fake target and a directory in memory for tests. The engine
// depends on no management API and on no database driver.
package engine
