// Package truth tests the conformance suite. Its tests run the suite against the reference server, against the same server with one
// permitted difference at a time, and against the same server with one fault at a time (package mutants). The suite must report no
// findings in the first two cases, and the fault in the third. The tests write docs/generated/kill-matrix.md and docs/reference/clients.md.
package truth
