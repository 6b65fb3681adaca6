// Package clientgrade grades provisioning clients: a [Scenario] says what a client is asked to do and what a server has to hold
// in the end, and [Grade] compares that with what the server holds and with what the client said on the way. It says for
// every expectation whether the client coped: no duplicates, nothing lost, lookups after a lost answer, linking on a
// conflict, deactivation instead of deletion, patience when the server asks for it.
//
// It runs no server (package cmd/internal/mockserver does) and drives no client: whoever is graded does what the scenario asks
// by its own means.
package clientgrade
