// Package factors serves the authentication factors of users in addition to the password, from enrollment to removal, with real codes, rate
// limits and expiry. It also serves the types of factors that the organization allows.
//
// Each type of factor is one value of type kind in its own file; the function kinds lists them. The operations implement what all kinds
// share: duplicates, rate limits, statuses, links and log events. The package does not depend on sign-ins: any caller with the permission
// can request a verification.
package factors
