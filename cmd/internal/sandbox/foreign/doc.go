// Package foreign has no code of its own: its tests run the engine into SCIM servers that we did not write, and write the report of
// docs/interop/engine.md. They need node, npm, python3 and the registries, so they run only when asked for:
//
//	SCIMWRIGHT_TEST_INTEROP=1 go test -timeout 30m ./cmd/internal/sandbox/foreign
//
// When the variable is the path of a folder instead, what is installed stays there for the next run.
package foreign
