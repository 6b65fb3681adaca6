// Package plans creates plans by dry runs of many principals, and applies them. Applying a plan marks exactly its principals, and only if
// the generations, the desired states and the base URL have not changed.
package plans
