// Package truth puts the conformance suite on trial. Its tests run the suite against the reference server as it is, against the same
// server with one permitted difference at a time, and against the same server with one fault at a time (package mutants). The suite
// must report nothing, nothing and the fault. The tests write docs/generated/kill-matrix.md and docs/clients.md.
package truth
