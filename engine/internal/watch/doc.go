// Package watch reports unfinished work: the principals that are being processed ([Running]), the reason and end of each wait, the
// failures, and the overdue deactivations. It starts and stops nothing.
package watch
