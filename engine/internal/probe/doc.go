// Package probe detects the actual behavior of a SCIM target by trying it on objects of its own. It creates a user and a group with a
// marked name, changes and finds them in the ways of a provisioning client, checks the result of each step, and removes them again. It also
// records what the target advertises, which often differs.
//
// The probe changes only the objects that it created. It is not a conformance suite: it detects what an engine must know about a target,
// not whether the target conforms to the RFCs.
package probe
