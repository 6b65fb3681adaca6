// Package desired is what a provisioning engine sees of the management API: it
// reads, at the moment of asking, where an application is provisioned and what
// each of its users and pushed groups should look like there, and it takes down
// what came of it.
//
// Reading changes nothing and writing emits no events, so that a result never
// causes the next attempt. The package does not know any engine: a bridge
// outside of the management API translates between the two.
package desired
