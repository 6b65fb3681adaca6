// Package mgmtapi is the management API: users, groups, applications, assignments and what they provision, served from a
// table of typed operations over a document store.
//
// New puts the slices together; slices.go lists them, one line each. The API records what is wanted and emits an event with
// every change. It provisions nothing and speaks no SCIM: whoever embeds it reads the events from the store's outbox.
package mgmtapi
