// Package apitokens serves what can be seen of API tokens, and their revocation. A secret is shown once, by Create, which the
// management API itself does not serve: there, tokens come from elsewhere.
package apitokens
