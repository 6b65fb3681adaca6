// Package plans creates a plan of the changes for many principals, by dry runs, and applies it. It marks exactly the listed principals, and
// only if the generations, the desired states and the base URL have not changed.
package plans
