// Package users serves the users: create, read, list, update, replace, delete, the lifecycle of their status, and their
// credentials.
//
// It does not sign users in (authn does). A token for an activation or a new password goes to the user, into the outbox, or is shown
// to a caller that asks for it with sendEmail=false. A change that a caller prefers to be done later is queued in the transaction that
// accepts it, and done by Work, which whoever serves the API calls. What a change means for groups and applications is the business of
// reactions to its events.
package users
