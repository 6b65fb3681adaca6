// Package syslog serves the system log: reading by time, filter and words, paging, and polling with a cursor that waits for
// what is yet to come. It also logs what no single slice does: memberships, whoever made them, and rate limits.
//
// Other slices write the log through audit.
package syslog
