// Package sandboxapi serves the part of /sandbox/v1 that controls the management API. Only a sandbox has it, so that tests can drive and
// observe the behavior without a human. It waits for queued work, provisions assigned users, holds asynchronous work, shows the outbox,
// moves the clock, resets the organization, creates SCIM servers and sets their quirks, and creates API tokens.
//
// It is not part of the public management API. It accesses the sandbox through internal/sandboxport, because no package under mgmtapi
// depends on the engine. The engine's part of /sandbox/v1 is package engine/control.
package sandboxapi
