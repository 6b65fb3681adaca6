// Package endpoints serves the OAuth 2.0 and OpenID Connect endpoints: metadata and keys, tokens of custom authorization servers and of
// the org server, introspection, revocation, and the registration of clients.
//
// Where users would be sent through a browser there is nothing: tokens are given for client credentials, passwords and refresh tokens.
// How tokens are made is decided in mgmtapi/internal/tokens.
package endpoints
