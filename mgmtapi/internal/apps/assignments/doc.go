// Package assignments serves the operations that assign users and groups to applications.
//
// settle.go performs every change of an assignment, whether caused by a request, a changed membership or a changed user. In the transaction
// of the change it derives the app user from the current state, stores it, and emits the events for the provisioning engine.
//
// The package sends nothing to targets. The engine reads the desired state from mgmtapi/internal/apps/desired and reports results there.
package assignments
