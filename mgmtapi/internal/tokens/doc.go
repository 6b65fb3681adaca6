// Package tokens issues, verifies and revokes the tokens of the authorization servers. It authenticates OAuth clients, evaluates policies
// and rules in the order of their priorities, evaluates claims, signs with the active key, and checks whether a token is still valid.
//
// It serves no operations and writes no log entries about tokens: the slices that use it do.
package tokens
