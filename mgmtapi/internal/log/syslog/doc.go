// Package syslog serves the system log: queries by time, filter and words, paging, and polling with a cursor for new events. It also logs
// what is not specific to one slice: changes of memberships and exceeded rate limits.
//
// Other slices write to the log through audit. The time of an event is the time of its write, not of its commit. On PostgreSQL, a client
// that polls while a long transaction and short ones run concurrently can miss the events of the long transaction: when it commits, the
// cursor of the client is already after the times of these events. On SQLite, which runs one write transaction at a time, no event is
// missed.
package syslog
