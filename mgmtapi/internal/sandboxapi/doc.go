// Package sandboxapi serves the part of /sandbox/v1 that is about the management API: what only a sandbox offers, so that behaviour can be
// driven and observed without a human. It waits for queued work, has assigned users provisioned, holds asynchronous work, shows the outbox,
// moves the clock, resets the organization, adds SCIM servers and makes them deviate, and makes API tokens.
//
// It is not part of the public management API. What it needs of the sandbox comes through internal/sandboxport,
// because no package under mgmtapi depends on the engine. The engine's part of /sandbox/v1 is package engine/control.
package sandboxapi
