// Package sandbox is the composition root: it puts the management API, the provisioning engine, the reference
// SCIM server and the console into one process on one database and one port.
//
// It holds the wiring and what only the wiring can know: the relay that turns stored events into marks of the
// engine, the bridge that lets the engine ask the management API's documents for the desired state, and the
// seed. Rules of the domain belong to the packages it wires, never here. Because it is the one package that
// knows everyone, the tests of pairs and of the whole chain live beside it.
package sandbox
