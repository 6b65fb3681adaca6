// Package probe finds out what a SCIM target really does, by trying it on objects of its own: it creates a user and a group
// with a marked name, changes and finds them in the ways a provisioning client would, looks at the result after each step, and
// removes them again. What a target advertises is noted beside what it does; they often differ.
//
// It touches nothing that it did not create. It is no conformance suite: it asks what an engine has to know to work with a
// target, not whether the target keeps to the RFCs.
package probe
