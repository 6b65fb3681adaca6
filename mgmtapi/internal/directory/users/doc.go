// Package users serves the users: create, read, list, update, replace, delete, the lifecycle of their status, and their credentials.
//
// Package authn signs users in. A token for an activation or a new password is sent to the user through the outbox, or returned to the
// client with sendEmail=false. With Prefer: respond-async, a change is queued in the transaction that accepts it, and Work performs it; the
// process that serves the API calls Work. Other packages handle the events of this one to update groups and applications.
package users
