// Package engine has the types and interfaces of an engine that provisions users and groups of an identity provider into SCIM 2.0 targets,
// and that can be embedded. [github.com/scimwright/scimwright/engine/provision] is the engine.
//
// Use it in an identity provider, or another program that decides which users and groups an app has. The command "scimwright serve engine"
// is the same engine for programs in other languages.
//
// The embedder implements [Directory], which returns the desired state of a user or group on a target. It calls provision.Engine.Mark
// inside its own transaction whenever that state may have changed. The engine then looks up, creates, links, updates, reactivates and
// deactivates accounts and pushes groups, for each app. It repeats failed changes until the target has the desired state.
//
// The engine stores state, not messages: one row per app and principal has the desired generation and the synchronized generation. A burst
// of changes collapses into one sequence, changes cannot be reordered, and after a crash the engine continues from the rows. The engine
// never deletes a user on a target; it only deactivates the account. Only a probe deletes the user that it has created itself.
//
// The packages for embedders: provision is the engine. sqlstore stores its state in the embedder's SQLite or PostgreSQL database, and store
// defines the interface of such a store. desired and pull are directories for programs that have none. control serves the engine to
// operators over HTTP, webhooks delivers its events, metrics exports counters to Prometheus. enginetest has a fake target and an in-memory
// directory for tests. The engine depends on no management API and on no database driver.
package engine

// The internal packages: plan decides which requests to send, connect sends a request and reads the response. Package lane controls the
// order, concurrency, pauses and quarantine of one app. Packages applane and sequence process one app and one principal. Package reconcile
// compares the list of a target with the desired state, rehearse simulates writes.
