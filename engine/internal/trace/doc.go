// Package trace describes what was or would be written for a principal, as an [engine.Trace] and its parts: the requests, the attributes
// and members that differ before and after, and why nothing is sent at the moment. It reads neither a store nor a target.
package trace
