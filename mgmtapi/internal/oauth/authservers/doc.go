// Package authservers serves the custom authorization servers: their settings, policies with rules, scopes, claims and signing keys.
//
// These configure the tokens. Package mgmtapi/internal/oauth/endpoints issues the tokens, and package mgmtapi/internal/oauth/grants serves
// the issued refresh tokens and consents.
package authservers
