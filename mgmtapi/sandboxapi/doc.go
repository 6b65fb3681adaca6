// Package sandboxapi serves /sandbox/v1: what only a sandbox offers, so that behaviour can be driven and observed
// without a human. It waits for queued work, lists and retries failed provisioning, shows the exchanges with
// the targets, drives the provisioning engine and shows what it knows (apps, principals, plans, drift, imports, links), adds SCIM
// servers and makes them deviate, and makes API tokens.
//
// It is not part of the public management API. What it needs of the provisioning side comes through Work and Engine, because
// nothing under mgmtapi knows the engine. The types of Engine are what goes over the wire.
package sandboxapi
