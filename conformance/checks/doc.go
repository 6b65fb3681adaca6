// Package checks holds the checks of the conformance suite. A check is a value with its id, the statements that it proves, the reason why
// they matter, and the fix. Each area has its own files: first the rows, then their functions. Expected results are written out. The area
// is the first word of an id. groups.go has the common operations on groups, group_members.go the special cases of groups and members.
//
// A check also verifies that nothing forbidden is present, and never fails a target for something that the RFCs permit. The tests of
// cmd/internal/truth prove both with mutants and variants. If a precondition fails (an object to read cannot be created), the check is
// skipped: another check has the finding.
//
// A new check is a row in the list of its area here, cites ids of conformance/requirements/catalog.json, and has a mutant of the
// same area in cmd/internal/truth/mutants. TestChecks_Complete in cmd/internal/truth reports what a row lacks.
// TestSuite_KillMatrix in the same package, with SCIMWRIGHT_TEST_ALL=1, shows that the check can fail, and writes
// docs/generated/kill-matrix.md (-update). TestRequirements_ProvedOrJustified in cmd/internal/sandbox writes
// docs/generated/requirements.md.
package checks
