// Package callers authenticates the callers of the management API by API tokens and access tokens, and limits their request rate. An
// Authorizer decides which operations they may run; that of mgmtapi/internal/access/authz decides by roles.
//
// API tokens are sent as "Authorization: SSWS <token>". Each belongs to a user and has the permissions of the user at the time of the call.
// Access tokens of the org authorization server are sent as "Authorization: Bearer <token>" and belong to an OAuth client.
package callers
