// Package policies serves the policies of the organization. Each type has one system policy, which applies to every user and has one
// default rule. The sign-on policy can have further rules, which mgmtapi/internal/signin/authn evaluates. The settings of the password
// policy can be changed. mgmtapi/internal/core/password and mgmtapi/internal/access/callers read them, so that a change applies from the
// next request.
//
// The access policies of authorization servers are not served here.
package policies
