// Package tokens issues, verifies and revokes the tokens of the authorization servers. It authenticates OAuth clients, evaluates policies
// and rules in the order of their priorities, evaluates claims, signs with the active key, and checks whether a token is still valid.
//
// token.go builds the tokens; keys.go holds the keys, signs and verifies; claims.go, decide.go, client.go, hook.go and domains.go have the
// claims, the policies, the authentication of clients, the token hook and the issuer.
//
// It serves no operations and writes no log entries about tokens: the slices that use it do.
package tokens
