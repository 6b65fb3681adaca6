// Package tokens makes, checks and ends the tokens of the authorization servers: it authenticates OAuth clients, asks policies and
// rules in the order of their priorities, evaluates claims, signs with the key that is active, and says of a token whether it is
// still worth anything.
//
// It serves no operations and writes no log: the slices that use it do.
package tokens
