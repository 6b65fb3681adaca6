// Package connect is the SCIM client of the engine: it sends one request and reads one answer.
//
// It builds the URL, authenticates, bounds time and size, follows no redirect and turns whatever a target can do wrong into
// an error that says what was sent and what came back. It never repeats a request and never waits: when to try again is
// decided by lane. Each exchange is handed to a recorder, redacted.
package connect
