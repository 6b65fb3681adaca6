// Package explain combines the directory's explanation of one principal with the stored state and the recorded exchanges. It does not query
// the target.
package explain
