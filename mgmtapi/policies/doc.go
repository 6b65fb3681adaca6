// Package policies serves the policies of the organisation: one of each type, which belongs to the system, applies to everyone and has one
// rule. The settings of the password policy can be changed; whoever judges passwords and attempts reads them (mgmtapi/password,
// mgmtapi/auth), so that a change counts from the next request on.
//
// The access policies of authorization servers are not served here.
package policies
