// Package clientgrade grades provisioning clients. A [Scenario] describes the task of a client and the required state of the server at the
// end. [Grade] compares the scenario with the state of the server and with the requests of the client. It reports the result for each
// expectation: no duplicates, no lost data, a lookup after a lost response, use of the existing resource after a conflict, deactivation
// instead of deletion, and a wait when the server requests one.
//
// The package runs no server (package cmd/internal/mockserver does) and controls no client: the tester makes the client perform the
// scenario.
package clientgrade
