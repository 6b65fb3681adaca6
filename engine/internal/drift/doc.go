// Package drift compares what a target lists with what is wanted there: whose account is this, and how does it differ.
//
// It has the pure parts of imports and drift reports. The package reads no target and no store, and decides nothing about what is
// to be written: the engine marks principals, and their sequences do the rest.
package drift
