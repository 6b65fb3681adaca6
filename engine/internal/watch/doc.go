// Package watch reports on unfinished work: the principals that are being processed ([Running]), what others wait for and until when, what
// failed, and which deactivations are overdue. It starts and stops nothing.
package watch
