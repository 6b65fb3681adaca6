// Package assignments is the part of the management API that assigns users and
// groups to applications.
//
// Whatever changes an assignment goes through one place, settle.go: a call, a
// membership that comes or goes, a user that changes. It derives the app user
// from the state at that moment, stores it, and emits what the provisioning
// engine has to know, all in the transaction of the change.
//
// The package sends nothing to targets. What the engine reads and reports back
// is mgmtapi/internal/apps/desired.
package assignments
