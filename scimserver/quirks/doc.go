// Package quirks makes a correct SCIM server behave like real servers that deviate from the RFCs. It is an http.Handler that wraps another
// one, and a table of deliberate deviations, one row each. Some deviations are the behavior of known products, some are single defects, and
// some are random faults, repeatable by a seed.
//
// It is for testing a provisioning client, manually in the sandbox and in automated tests. It is not for testing a conformance suite: that
// needs a separate fault for each rule, while this package has only deviations that a client should handle. Quirks do not apply to
// operations inside a bulk request.
package quirks

// A new quirk is a row in the table of its subject: discovery.go, patching.go, replacing.go, creating.go, groups.go, listing.go,
// formatting.go or chaos.go, and an example in quirks_test.go. All joins the tables. Two pages list each quirk: docs/reference/quirks.md
// (written by the tests of this package with -update) and docs/reference/clients.md (written by TestProfiles_BreakOnListedQuirks in
// cmd/internal/truth with -update).
