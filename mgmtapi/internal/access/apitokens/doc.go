// Package apitokens serves the properties of API tokens and their revocation. The management API has no operation that creates a token: the
// embedder or the sandbox calls Create, which returns the secret of the token once.
package apitokens
