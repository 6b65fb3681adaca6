// Package policies serves the policies of the organization: one of each type, which belongs to the system, applies to everyone and has one
// rule of its own. The sign-on policy can have further rules, which mgmtapi/internal/signin/authn follows. The settings of the password policy can be
// changed; mgmtapi/internal/core/password and mgmtapi/internal/access/callers read them, so that a change counts from the next request on.
//
// The access policies of authorization servers are not served here.
package policies
