// Package daemon runs the provisioning engine as a service for identity providers in any language: the desired state over HTTP
// (engine/desired/desiredapi), the control API for operators (engine/control), and operations of its own for tokens and the audit log, all
// below /engine/v1. It stores everything in one database, SQLite or PostgreSQL; several daemons may share a PostgreSQL database.
//
// A request passes these steps: serve (routes.go) sets the exchange, which collects what is known about the request; the guard (access.go)
// authenticates the caller, counts the request (limits.go) and checks the permission of the operation; a write gets an entry in the audit
// log (audit.go) before it runs. The ids of apps in the store begin with the tenant, such as "acme:crm"; requests and responses contain
// them without the tenant.
//
// # Files
//
// daemon.go starts and stops the parts, and opens the address and the database. options.go has the options and their defaults, keys.go
// reads the keys that encrypt secrets, tokens.go stores the tokens, metrics.go adds the label of the tenant. routes.go joins the handlers,
// and has the time and memory limits of requests and the health checks. keycheck.go compares the keys with those of the database,
// admintoken.go stores the admin token, retention.go removes old history, starthalted.go halts all apps at the start, traces.go exports
// spans.
//
// A new operation of the daemon is a row in api.go. A new column is a step that is appended in schema.go. A new key of the configuration
// file is a member of a struct in config.go, which also checks the content, and a field in options.go with a flag in
// cmd/internal/cli/daemon.go. settings.go combines the file with the flags and applies it after a reload. yaml.go needs no change: the
// positions and suggestions of errors come from the structs.
package daemon
