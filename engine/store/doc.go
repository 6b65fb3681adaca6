// Package store defines what the engine requires of the database that stores its state. An embedder of sqlstore does not need this package.
//
// [Store] is required: it suffices to provision users and groups. Other operations of the engine require capabilities, which are further
// interfaces that the same value implements. provision.New detects them. An operation whose capability is missing returns an error that
// names the capability and wraps errors.ErrUnsupported. Package engine/storetest tests all interfaces that a store implements.
package store
