// Package apitokens serves the properties of API tokens and their revocation. Create returns the secret of a token once. The management API
// has no operation for it; the embedder or the sandbox calls it.
package apitokens
