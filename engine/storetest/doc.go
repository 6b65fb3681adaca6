// Package storetest is the contract of engine.Store as a test suite.
//
// An implementation runs it against an empty store. The suite does not know how a store keeps anything; only the marks need a
// transaction, which the caller provides.
package storetest
