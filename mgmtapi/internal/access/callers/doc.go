// Package callers knows who calls the management API: API tokens, access tokens, and the rate-limit buckets. What a caller may do is asked of
// an Authorizer; that of mgmtapi/internal/access/authz decides by roles.
//
// API tokens come as "Authorization: SSWS <token>"; each belongs to a user and acts with what that user may do at the time
// of the call. Access tokens of the org authorization server come as "Authorization: Bearer <token>" and belong to an OAuth client.
package callers
