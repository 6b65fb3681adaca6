// Package sandbox is the composition root: it puts the management API, the provisioning engine, the reference SCIM server and the console
// into one process on one database and one port.
//
// It contains the wiring: the relay, which turns stored events into marks of the engine; the bridge, through which the engine reads the
// desired state from the management API's documents; and the seed. Rules of the domain belong to the wired packages, never here. Because no
// other package imports all of them, the tests of pairs of packages, and of all packages together, are in this directory.
package sandbox
