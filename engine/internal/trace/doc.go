// Package trace describes the real or simulated writes for a principal, as an [engine.Trace] and its parts: the requests, the differences
// of attributes and members, and why nothing is currently sent. It reads neither a store nor a target.
package trace
