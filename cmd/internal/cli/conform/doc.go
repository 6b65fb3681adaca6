// Package conform contains the commands of the conformance suite: run, plan, list, explain, diff, lint, proxy, judge, mock and cleanup.
// They are the program scim-conformance and one command group of scimwright. Package conformance contains the tests; this package parses
// arguments, prints, and chooses exit codes.
package conform
