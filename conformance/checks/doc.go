// Package checks holds the checks of the conformance suite. A check is a value with its id, the requirements that it tests, the harm
// of a violation, and the fix. The first word of an id is the area of the check. Each area has its own files: first the list of its checks,
// then their Run functions. Checks contain their expected results as literal values.
//
// A check also verifies that nothing forbidden is present, and never fails a target for something that the RFCs permit. The tests of
// cmd/internal/truth prove both: they run the checks against the reference server with one fault (a mutant) and with one permitted
// difference (a variant). If a preparation fails, for example the creation of the object to read, the check is skipped: another check
// reports that failure.
package checks

// A new check is an element of the list of its area in this package. It cites ids of conformance/requirements/catalog.json, and has a
// mutant of the same area in cmd/internal/truth/mutants. TestChecks_Complete in cmd/internal/truth reports what a check lacks.
// TestSuite_KillMatrix in the same package, with SCIMWRIGHT_TEST_ALL=1, shows that the check can fail, and writes
// docs/generated/kill-matrix.md (-update). TestRequirements_ProvedOrJustified in cmd/internal/sandbox writes
// docs/generated/requirements.md.
//
// groups.go has the common operations on groups, group_members.go the special cases of groups and members.
//
// Files of the area filter: filter_operators.go has one check per operator, filter_grammar.go precedence, paths and case,
// filter_logic.go combinations of and, or and not, filter_syntax.go filters that a server must reject, filter_types.go operators by the
// type of attribute, filter_values.go special values and attributes (Unicode, reserved characters, password, members), filter_schema.go
// attributes of the schemas that the target describes. filter_people.go and filter_basic.go have the users and rows that these files share.
//
// Files of the area patch: patch_add.go, patch_replace.go and patch_remove.go have one operation each, patch_matrix.go each form of
// operation and path, patch_filters.go filters in paths, patch_request.go the response and several operations, patch_rules.go requests
// that a server must reject. patch_cell.go runs the rows of the matrix.
