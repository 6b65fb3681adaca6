// Package authservers serves the custom authorization servers: their settings, policies with rules, scopes, claims and signing keys.
//
// It says what tokens are to be like. They are issued by mgmtapi/internal/oauth/endpoints, and what became of them is served by mgmtapi/internal/oauth/grants.
package authservers
