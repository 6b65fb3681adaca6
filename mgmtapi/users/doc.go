// Package users serves the users: create, read, list, update, replace, delete, and the lifecycle of their status.
//
// It does not sign users in, reset passwords or send mail; an activation token is made, and shown, when the caller asks for
// it with sendEmail=false. What a change means for groups and applications is the business of reactions to its events.
package users
