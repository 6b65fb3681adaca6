// Package storetest is the contract of the interfaces of package store as test suites.
//
// An implementation runs them against an empty store. Capabilities that it lacks are skipped. The suites do not depend on how a store keeps
// anything; only the marks need a transaction, which the caller provides.
package storetest
