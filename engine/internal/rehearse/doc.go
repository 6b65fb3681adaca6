// Package rehearse has a client between a sequence and a target. The client simulates writes and forwards reads to the target.
//
// A Client responds to writes like a target that carries out every request, and includes the simulated resources in later reads and
// lookups. A sequence therefore runs to completion, and its requests can be inspected before they are sent. Only GET requests reach the
// target. A real target may respond differently: it may reject a request or ignore some values, and later requests may differ then. The
// package makes no decisions, stores nothing, and is not a SCIM server.
package rehearse
