// Package clients has no code of its own: its tests run client libraries of the management API that we did not write against a sandbox.
// Validators of others judge its OpenAPI document. The programs that drive the libraries are the Go module in go, which is a module of its own so that the libraries do not become
// dependencies of the project, and the script in node. They need the registries, so they run only when asked for:
//
//	SCIMWRIGHT_TEST_CLIENTS=1 go test -v ./internal/sandbox/clients
//
// When the variable is the path of a folder instead, what is installed stays there for the next run. docs/client-libraries.md tells where
// the libraries stumbled.
package clients
