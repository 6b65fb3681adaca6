// Package clients has no code of its own: it holds the programs that drive client libraries of the management API that we did not write.
// Tests of the sandbox run them, and have validators of others judge its OpenAPI document. The programs are the Go module in go, which is a
// module of its own so that the libraries do not become dependencies of the project, and the script in node. They need the registries, so
// they run only when asked for:
//
//	SCIMWRIGHT_TEST_CLIENTS=1 go test -v -run 'ExternallyValid|Library|Libraries' ./cmd/internal/sandbox
//
// When the variable is the path of a folder instead, what is installed stays there for the next run. docs/client-libraries.md tells where
// the libraries stumbled.
package clients
