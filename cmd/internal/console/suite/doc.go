// Package suite runs the conformance suite for the console. A [Runner] runs one test at a time, shows its progress, and stores the reports
// of the last runs in the database of the host.
//
// The token of a server is only in memory, and only during the run: the suite masks it in the report, and the database does not have it.
// The host passes the transport, so that a run connects to the same addresses as all other requests of the host.
package suite
