// Package auth knows who calls the management API and what a caller may do: API tokens, the decision about permissions, and
// the rate-limit buckets.
//
// API tokens come as "Authorization: SSWS <token>"; each belongs to a user and acts with what that user may do at the time
// of the call. There is no other credential yet: bearer tokens are refused.
package auth
