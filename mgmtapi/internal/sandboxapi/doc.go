// Package sandboxapi serves the operations of /sandbox/v1 that control the management API. Only a sandbox serves them. With them, tests can
// control and observe the API without a human. The package waits for queued work, provisions assigned users, holds asynchronous work, shows
// the outbox, moves the clock, resets the organization, creates SCIM servers and sets their quirks, and creates API tokens.
//
// These operations are not part of the public management API. The package accesses the sandbox through internal/sandboxport, because no
// package under mgmtapi depends on the engine. Package engine/control serves the operations of /sandbox/v1 that control the engine.
package sandboxapi
