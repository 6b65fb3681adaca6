// Package reconcile compares the list of a target with what the directory wants, reports what has drifted and marks what a sequence can
// repair. Package drift decides what differs; nothing is written at the target.
package reconcile
