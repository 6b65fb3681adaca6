// Package foreign contains only tests: they run the engine against third-party SCIM servers and generate the report in
// docs/interop/engine.md. They require node, npm, python3 and the registries, so they run only on request:
//
//	SCIMWRIGHT_TEST_INTEROP=1 go test -timeout 30m ./cmd/internal/sandbox/foreign
//
// If the variable is the path of a directory, the installed packages are kept there for the next run.
package foreign
