// Package apps serves the operations that add, read, change and delete applications, their keys and their scope grants.
//
// mgmtapi/internal/core/catalog lists the applications that can be added. Other packages serve assignments, the provisioning connection and
// group push; they delete their documents when an application is deleted.
package apps
