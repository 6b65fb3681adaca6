// Package conformance runs checks against a SCIM 2.0 service provider over HTTP and says, clause by clause, what holds and
// what does not, with the exchange that shows it.
//
// A check is a value ([Check]); the checks themselves live in conformance/checks, the statements of the RFCs that they
// prove in conformance/requirements, the output formats in conformance/report. [Run] discovers what the target offers, plans
// which checks apply, runs them one after the other and removes everything it created. What a check expects is written out
// by hand in the check, or foretold by the small model of conformance/internal/oracle: this package and its neighbours never import the
// filter or PATCH code of this module, so that one mistake cannot hide on both sides.
//
// It is not a load generator, not a SCIM client library and not a validator for single documents, and it needs no
// testing.T: results are plain data.
package conformance
