// Package assembly builds the management API from its slices; slices.go lists them, one line each. It knows all packages below mgmtapi, so
// that package mgmtapi, the face for embedders, shows none of their types, and tests of slices get at what stands behind the API.
//
// A new operation is a row in the method Routes of a slice (slice.go of its package) and a test that sees it succeed. The tests of package
// mgmtapi name the tables that lack it, and "make golden" writes docs/generated/operations.md and docs/api/openapi.json.
package assembly
