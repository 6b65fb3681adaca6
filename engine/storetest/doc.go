// Package storetest tests the contract of the interfaces of package store.
//
// The tests of an implementation call [Run] with an empty store. Run skips the suites of missing capabilities. The suites do not depend on
// the storage. Methods that take a transaction, such as Mark, get it from the caller of Run.
package storetest
