// Package daemon runs the provisioning engine as a service for identity providers in any language: the desired state over HTTP
// (engine/desired/desiredapi), the control API for operators (engine/control), and operations of its own for tokens and the audit log, all
// below /engine/v1. It stores everything in one database, SQLite or PostgreSQL; several daemons may share a PostgreSQL database.
//
// A request passes these steps: serve (routes.go) sets the exchange, which collects what is known about the request; the guard (access.go)
// authenticates the caller, counts the request (limits.go) and checks the permission of the operation; a write gets an entry in the audit
// log (audit.go) before it runs. The ids of apps in the store begin with the tenant, such as "acme:crm"; requests and responses contain
// them without the tenant.
//
// A new operation of the daemon is a row in api.go. Its tables are in schema.go, and new steps are only appended.
package daemon
