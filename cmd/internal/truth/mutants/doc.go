// Package mutants breaks correct SCIM servers, one rule at a time. A mutant wraps a handler and rewrites requests or responses, so that it
// works on any correct server. A check that fails on no mutant proves nothing. A mutant that passes every check shows a missing check.
//
// A variant turns a correct server into another correct server. It changes a choice that the RFCs leave open and that other test suites
// have wrongly reported as a fault. No check may fail on a variant.
//
// A new mutant is a row in the list of its area. Most files have the name of a file in conformance/checks. rewrite.go has the functions
// that change requests and responses, variants.go the variants. TestSuite_KillMatrix in cmd/internal/truth, with SCIMWRIGHT_TEST_ALL=1,
// requires that a check of the same area detects each mutant, and writes docs/generated/kill-matrix.md (-update).
//
// Tests apply several mutants to the same server, so a mutant receives messages that another one has changed: without meta, with an item that
// is not an object, or without a body. The functions objectOf and complexOf read such messages. A mutant must not panic on any message.
//
// The package is for the tests of the suite. It simulates neither unreliable networks nor the servers of vendors (scimserver/quirks does).
package mutants
