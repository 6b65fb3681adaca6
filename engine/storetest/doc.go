// Package storetest tests the contract of the interfaces of package store.
//
// An implementation runs the suites against an empty store. They skip missing capabilities. The suites do not depend on the storage. Only
// marks need a transaction, which the caller provides.
package storetest
