// Package syslog serves the system log: reading by time, filter and words, paging, and polling with a cursor that waits for
// what is yet to come. It also logs what no single slice does: memberships, whoever made them, and rate limits.
//
// Other slices write the log through audit. An event has the time at which it was written, not that of its commit: on
// PostgreSQL, whoever polls while a long transaction runs beside short ones does not get its events, which then lie before
// the cursor. On SQLite, where one transaction writes at a time, nothing is missed.
package syslog
