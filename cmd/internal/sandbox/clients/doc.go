// Package clients contains no code of its own: its directories contain programs that use third-party client libraries of the management
// API. Tests of the sandbox run them, and validate its OpenAPI document with third-party validators. The programs are the Go module in go
// and the script in node. The Go module is separate so that the libraries do not become dependencies of the project. The programs require
// the registries, so they run only on request:
//
//	SCIMWRIGHT_TEST_CLIENTS=1 go test -v -run 'ExternallyValid|Library|Libraries' ./cmd/internal/sandbox
//
// If the variable is the path of a directory, the installed packages are kept there for the next run. docs/howto/client-libraries.md
// describes the errors of the libraries.
package clients
