// Package assembly builds the management API from its slices, which slices.go lists. It may depend on all packages below mgmtapi, so that
// package mgmtapi, the public API for embedders, shows none of their types, and so that tests of slices can access the data behind the API.
//
// A new operation is a row in the method Routes of a slice (slice.go of its package) and a test in which it succeeds. The tests of package
// mgmtapi report the tables that lack the operation. "make golden" writes docs/generated/operations.md and docs/api/openapi.json.
package assembly
