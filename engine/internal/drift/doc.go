// Package drift compares the list of a target with the desired state: the owner of each account, and the differences.
//
// It contains the pure functions of imports and drift reports. The package reads no target and no store, and plans no writes: the engine
// marks principals, and their sequences write.
package drift
