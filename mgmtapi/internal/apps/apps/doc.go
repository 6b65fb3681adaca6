// Package apps is the part of the management API that adds, reads, changes and
// removes applications.
//
// What can be added stands in mgmtapi/internal/core/catalog. Assignments, the provisioning
// connection and group push are other parts; they go with the application because
// they react to its deletion.
package apps
