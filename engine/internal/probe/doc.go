// Package probe detects the actual behavior of a SCIM target with temporary objects. It creates a user and a group with a marked name,
// changes and finds them with the requests of a provisioning client, checks the result of each step, and removes them again. It also
// records the advertised capabilities of the target, which often differ.
//
// The probe changes only the objects that it created. It is not a conformance suite: it detects the behavior that an engine must adapt to,
// not whether the target conforms to the RFCs.
package probe
