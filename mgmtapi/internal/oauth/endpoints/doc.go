// Package endpoints serves the OAuth 2.0 and OpenID Connect endpoints: metadata and keys, tokens of custom authorization servers and of the
// org server, introspection, revocation, and the registration of clients.
//
// Browser flows are not supported: tokens are issued for client credentials, passwords and refresh tokens. Package mgmtapi/internal/tokens
// issues the tokens.
package endpoints
